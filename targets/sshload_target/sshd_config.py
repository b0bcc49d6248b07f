"""sshd's configuration: the given text, and our own lines before it, which win because sshd takes the first value."""

from dataclasses import dataclass
from pathlib import Path

from sshload_target.errors import ConfigRefusedError

_COUNTING_LOG_LEVELS = ("INFO", "VERBOSE", "DEBUG", "DEBUG1", "DEBUG2", "DEBUG3")


@dataclass(frozen=True, slots=True)
class OwnLines:
    """What the target sets because it alone knows it. An empty `listen_address` means every address.

    `user_ca` is the public key that signs the certificates which may log in, None where there is none.
    `check_modes` is StrictModes: with it sshd refuses keys below a folder that others may write to, up to the user's
    home in the user database.
    """

    port: int
    listen_address: str
    host_keys: tuple[Path, ...]
    authorized_keys: Path
    user_ca: Path | None
    check_modes: bool


def render(own: OwnLines, given: Path) -> str:
    """Return the text of the file that sshd reads; `given` is included, so that sshd names its lines rightly.

    Raises ConfigRefusedError for a path that sshd would not take as it is.
    """
    lines = [f"Port {own.port}"]
    if own.listen_address:
        lines.append(f"ListenAddress {own.listen_address}")
    lines += [f"HostKey {_quoted(path)}" for path in own.host_keys]
    lines += ["PidFile none", f"AuthorizedKeysFile {_quoted(own.authorized_keys).replace('%', '%%')}"]
    if own.user_ca is not None:
        lines.append(f"TrustedUserCAKeys {_quoted(own.user_ca)}")
    if not own.check_modes:
        lines.append("StrictModes no")
    lines.append(f"Include {_quoted(given, also_special='*?[]{}~')}")
    return "\n".join(lines) + "\n"


def _quoted(path: Path, also_special: str = "") -> str:
    """Return `path` in quotes; raises ConfigRefusedError where sshd would read it as another path, or as none."""
    special = {character for character in str(path) if character in f'"\\\n{also_special}'}
    if special:
        raise ConfigRefusedError(
            f"sshd cannot be given the path {str(path)!r}: it contains {' '.join(sorted(special))}"
        )
    return f'"{path}"'


def objection(effective: str, port: int) -> str:
    """Return why a configuration that sshd accepts cannot be measured, empty where it can.

    `effective` is what `sshd -T` prints.
    """
    settings: dict[str, list[str]] = {}
    for line in effective.splitlines():
        name, _, value = line.partition(" ")
        settings.setdefault(name, []).append(value)
    if settings.get("port") != [str(port)]:
        return f"sshd_config must not set Port: the target serves port {port}"
    log_level = settings.get("loglevel", [""])[0]
    if log_level.upper() not in _COUNTING_LOG_LEVELS:
        return f"LogLevel {log_level} hides the logins that are to be counted: set INFO or VERBOSE"
    return ""
