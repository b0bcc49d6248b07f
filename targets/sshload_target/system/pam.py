"""The PAM stack of sshd: the distribution's own in a private /etc, with parts of it switched on or off.

A stack is /etc/pam.d/sshd with the files that it includes (pam.conf(5); `@include` is Debian's). A part that is
switched off is commented out, wherever in the stack it is.
"""

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Final

from sshload_contract.wire.target import PamSwitches

from sshload_target.errors import ConfigRefusedError
from sshload_target.system.private_etc import ETC, refuse_unless_private

STACKS: Final = ETC / "pam.d"
SERVICE: Final = "sshd"
_LIMITS: Final = ETC / "security" / "limits.d" / "sshload.conf"
_INCLUDE: Final = re.compile(r"^\s*(?:@include|-?\w+\s+(?:include|substack))\s+(\S+)")
_ADDED: Final = {
    "motd": "session optional pam_motd.so motd=/run/motd.dynamic",
    "lastlog": "session optional {}",
    "limits": "session required pam_limits.so",
    "env": "session required pam_env.so",
    "mail": "session optional pam_mail.so standard noenv",
    "nologin": "account required pam_nologin.so",
    "loginuid": "session required pam_loginuid.so",
    "keyinit": "session optional pam_keyinit.so force revoke",
    "systemd": "session optional pam_systemd.so",
    "selinux": "session optional pam_selinux.so open",
}
"""What switches a part on where the distribution's stack has it not, in Debian's words."""
_SECURITY_FOLDERS: Final = (
    "/lib/*/security",
    "/usr/lib/*/security",
    "/lib/security",
    "/usr/lib/security",
    "/lib64/security",
    "/usr/lib64/security",
)


def switch(switches: PamSwitches, max_logins: int | None) -> None:
    """Change the stack of a private /etc as it is asked for; raises ConfigRefusedError."""
    refuse_unless_private()
    if not (STACKS / SERVICE).exists():
        raise ConfigRefusedError(f"{STACKS / SERVICE} does not exist: install openssh-server with PAM")
    for part in fields(switches):
        wanted = getattr(switches, part.name)
        if wanted is False:
            _leave_out(part.name)
        elif wanted and not _has(part.name):
            _add(part.name)
    if max_logins is not None:
        if not _has("limits"):
            raise ConfigRefusedError("spec.target.managed.system.maxLogins needs pam_limits, which the stack has not")
        _LIMITS.parent.mkdir(parents=True, exist_ok=True)
        _LIMITS.write_text(f"* - maxlogins {max_logins}\n", encoding="ascii")


def _files() -> Iterator[Path]:
    """Yield the files of the stack, each once, as they include each other."""
    found, waiting = set(), [SERVICE]
    while waiting:
        name = waiting.pop(0)
        file = STACKS / name
        if name in found or not file.is_file():
            continue
        found.add(name)
        yield file
        includes = (_INCLUDE.match(line) for line in file.read_text(encoding="utf-8").splitlines())
        waiting += [include[1] for include in includes if include is not None]


def _of(part: str) -> re.Pattern[str]:
    """Return what finds a part in a line that is no comment; lastlog has a second release."""
    return re.compile(rf"^[^#\n]*\bpam_{part}2?\.so\b", re.MULTILINE)


def _has(part: str) -> bool:
    return any(_of(part).search(file.read_text(encoding="utf-8")) for file in _files())


def _leave_out(part: str) -> None:
    for file in _files():
        text = file.read_text(encoding="utf-8")
        file.write_text(_of(part).sub(lambda found: f"# {found[0]}", text), encoding="utf-8")


def _add(part: str) -> None:
    names = [f"pam_{part}.so", *(["pam_lastlog2.so"] if part == "lastlog" else [])]
    module = next((name for name in names if is_installed(name)), None)
    if module is None:
        raise ConfigRefusedError(
            f"spec.target.managed.system.pam.{part}: {' and '.join(names)} are not installed where the target runs"
        )
    with (STACKS / SERVICE).open("a", encoding="utf-8") as file:
        file.write(f"{_ADDED[part].format(module)}\n")


def is_installed(module: str) -> bool:
    """Return whether a module of PAM is on this machine."""
    return any(found for folder in _SECURITY_FOLDERS for found in Path("/").glob(f"{folder[1:]}/{module}"))
