"""The sshd program and its configuration: where sshd is, what it is given, whether it accepts that, and its start."""

import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from sshload_contract.wire.target import SSHD_REFUSES

from sshload_target.errors import ConfigRefusedError

_SEARCH_PATH = "/usr/sbin:/usr/local/sbin:/sbin"
_PRIVILEGE_SEPARATION_DIR = Path("/run/sshd")
_CHECK_TIMEOUT_S = 30
_KEY_LEFT_OUT = "Unable to load host key"
_COUNTING_LOG_LEVELS = ("INFO", "VERBOSE", "DEBUG", "DEBUG1", "DEBUG2", "DEBUG3")


def find_sshd() -> Path:
    """Return the sshd of this machine; sshd insists on being called by an absolute path."""
    found = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:{_SEARCH_PATH}")
    if found is None:
        raise ConfigRefusedError("there is no sshd on this machine: install openssh-server")
    return Path(found).absolute()


def read_version(sshd: Path) -> str:
    """Return the version that `sshd -V` prints, such as OpenSSH_10.0p2 Debian-7."""
    answer = _run(sshd, "-V")
    found = re.search(r"OpenSSH_[^,\r\n]+", answer.stderr + answer.stdout)
    return found[0].strip() if found else "unknown"


def read_effective_config(sshd: Path, config: Path) -> str:
    """Return the effective configuration (`sshd -T`); raises ConfigRefusedError with sshd's message if it has none."""
    if os.geteuid() == 0:
        _PRIVILEGE_SEPARATION_DIR.mkdir(mode=0o755, parents=True, exist_ok=True)
    answer = _run(sshd, "-T", "-f", str(config))
    if answer.returncode != 0 or _KEY_LEFT_OUT in answer.stderr:  # sshd would go on with the other host key
        raise ConfigRefusedError(f"{SSHD_REFUSES}: {' '.join(answer.stderr.split())}")
    return answer.stdout


def _run(sshd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 -- the program is the installer's choice, the arguments are ours
        [str(sshd), *arguments], capture_output=True, text=True, check=False, timeout=_CHECK_TIMEOUT_S
    )


def start(sshd: Path, config: Path) -> tuple[int, int]:
    """Start sshd in the foreground and return its process id and the descriptor from which its log can be read.

    sshd starts with no signal blocked and none ignored, whatever is so in this process.
    """
    log_fd, sshd_stderr = os.pipe()
    try:
        pid = os.posix_spawn(
            sshd,
            [str(sshd), "-D", "-e", "-f", str(config)],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, sshd_stderr, 2),
            ],
            setsigmask=[],
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
        )
    finally:
        os.close(sshd_stderr)
    return pid, log_fd


@dataclass(frozen=True, slots=True)
class OwnSettings:
    """The settings that only the target knows. An empty `listen_address` means every address.

    `user_ca` is the public key that signs the certificates which may log in, and `revoked_keys` the list of those that
    may not; they are None if there is none.
    `authorized_keys` is None where each user has those of their own home, which is sshd's default.
    `check_modes` is StrictModes: with it sshd refuses keys below a folder that others may write to, up to the user's
    home in the user database.
    """

    port: int
    listen_address: str
    host_keys: tuple[Path, ...]
    authorized_keys: Path | None
    user_ca: Path | None
    check_modes: bool
    host_certificates: tuple[Path, ...] = ()
    revoked_keys: Path | None = None


def render_sshd_config(own: OwnSettings, given: Path) -> str:
    """Return the text of the file that sshd reads; `given` is included, so that sshd names its lines rightly.

    Raises ConfigRefusedError for a path that sshd would not take as it is.
    """
    lines = [f"Port {own.port}"]
    if own.listen_address:
        lines.append(f"ListenAddress {own.listen_address}")
    lines += [f"HostKey {_quoted(path)}" for path in own.host_keys]
    lines += [f"HostCertificate {_quoted(path)}" for path in own.host_certificates]
    lines.append("PidFile none")
    if own.authorized_keys is not None:
        lines.append(f"AuthorizedKeysFile {_quoted(own.authorized_keys).replace('%', '%%')}")
    if own.user_ca is not None:
        lines.append(f"TrustedUserCAKeys {_quoted(own.user_ca)}")
    if own.revoked_keys is not None:
        lines.append(f"RevokedKeys {_quoted(own.revoked_keys)}")
    if not own.check_modes:
        lines.append("StrictModes no")
    lines.append(f"Include {_quoted(given, also_special='*?[]{}~')}")
    return "\n".join(lines) + "\n"


def _quoted(path: Path, also_special: str = "") -> str:
    """Return `path` in quotes; raises ConfigRefusedError if sshd would read it as another path, or as none."""
    special = {character for character in str(path) if character in f'"\\\n{also_special}'}
    if special:
        raise ConfigRefusedError(
            f"sshd cannot be given the path {str(path)!r}: it contains {' '.join(sorted(special))}"
        )
    return f'"{path}"'


def check_measurable(effective: str, port: int) -> str:
    """Return the reason why a configuration that sshd accepts cannot be measured, "" if it can.

    `effective` is what `sshd -T` prints.
    """
    settings: dict[str, list[str]] = {}
    for line in effective.split("\n"):
        name, _, value = line.partition(" ")
        settings.setdefault(name, []).append(value)
    if settings.get("port") != [str(port)]:
        return f"sshd_config must not set Port: the target serves port {port}"
    log_level = settings.get("loglevel", [""])[0]
    if log_level.upper() not in _COUNTING_LOG_LEVELS:
        return f"LogLevel {log_level} hides the logins that are to be counted: set INFO or VERBOSE"
    return ""
