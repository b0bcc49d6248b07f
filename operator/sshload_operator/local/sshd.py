"""The sshd of this machine, as a local run's managed target: whether it is there, what it knows, who may log in."""

import os
import pwd
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sshload_operator.api.server_software import openssh_version

SSHD_PATH = Path("/usr/sbin/sshd")
_SHADOW_PATH = Path("/etc/shadow")
_SSHD_TIMEOUT_S = 10.0
# Directives that say what an sshd too old to know them does anyway: (name, value, first version that knows it).
_NEEDLESS_BEFORE = (("persourcepenalties", "no", (9, 8)),)


class LocalRunError(Exception):
    """The machine cannot take the run; the text says what to change."""


@dataclass(frozen=True, slots=True)
class LocalSshd:
    """The installed sshd: what it calls itself, and its version as numbers."""

    name: str
    version: tuple[int, int]


def installed_sshd() -> LocalSshd:
    """Return this machine's sshd; raises LocalRunError if there is none or it does not tell its version."""
    if not os.access(SSHD_PATH, os.X_OK):
        raise LocalRunError(
            f"{SSHD_PATH} is not installed: `apt-get install openssh-server`, or name an external target"
        )
    asked = subprocess.run(  # noqa: S603 - a fixed path without arguments from outside
        [SSHD_PATH, "-V"], capture_output=True, text=True, check=False, timeout=_SSHD_TIMEOUT_S
    )
    said = asked.stderr + asked.stdout  # before 9.2 it answers with its usage, which names it too
    version = openssh_version(said)
    if version is None:
        raise LocalRunError(f"{SSHD_PATH} does not tell its version: sshload needs OpenSSH's sshd")
    name = said[said.index("OpenSSH_") :].split(",")[0]
    return LocalSshd(name, version)


def without_unknown_directives(config: str, version: tuple[int, int]) -> tuple[str, tuple[str, ...]]:
    """Return `config` without directives that this version rejects and obeys anyway, and the lines left out.

    Whatever else it does not know stays, so that sshd refuses it: nothing that was asked for is dropped.
    """
    lines = config.removesuffix("\n").split("\n")  # splitlines would make lines of what is within a value
    left_out = tuple(line for line in lines if _is_needless(line, version))
    kept = "".join(f"{line}\n" for line in lines if line not in left_out)
    return kept, left_out


def current_user() -> pwd.struct_passwd:
    """Return the user of this process; raises LocalRunError if they have no home."""
    user = pwd.getpwuid(os.geteuid())
    if not Path(user.pw_dir).is_dir():
        raise LocalRunError(f"the home of {user.pw_name}, {user.pw_dir}, does not exist: run as a user who has one")
    return user


def user_who_logs_in() -> pwd.struct_passwd:
    """Return the current user, whom sshd is to log in; raises LocalRunError if sshd would refuse them."""
    user = current_user()
    if os.geteuid() == 0 and _is_locked(user.pw_name):
        raise LocalRunError("root's account is locked, so that sshd refuses it: run as an ordinary user, without sudo")
    return user


def _is_needless(line: str, version: tuple[int, int]) -> bool:
    words = line.lower().split()
    return any(words == [name, value] and version < first for name, value, first in _NEEDLESS_BEFORE)


def _is_locked(user: str) -> bool:
    lines = _SHADOW_PATH.read_text(encoding="utf-8").splitlines() if _SHADOW_PATH.exists() else []
    return any(line.startswith(f"{user}:!") for line in lines)


@contextmanager
def linked_fixtures(paths: Sequence[str], made_in: Path, home: Path) -> Iterator[None]:
    """Link the first part of each path from `home` into `made_in`, and take the links away at the end.

    Raises LocalRunError if something of that name is there already: nothing of the user's is touched.
    """
    names = sorted({PurePosixPath(path).parts[0] for path in paths})
    made: list[Path] = []
    try:
        for name in names:
            link = home / name
            try:
                link.symlink_to(made_in / name)
            except FileExistsError:
                raise LocalRunError(
                    f"{link} exists, so that the fixture {name} cannot stand there: move it, or rename the fixture"
                ) from None
            made.append(link)
        yield
    finally:
        for link in made:
            link.unlink(missing_ok=True)
