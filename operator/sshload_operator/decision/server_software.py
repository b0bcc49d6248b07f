"""Which SSH server answered: advice on OpenSSH's options is none for another one."""

from collections.abc import Iterable
from typing import Final

_OPENSSH: Final = "SSH-2.0-OpenSSH"


def is_openssh(versions: Iterable[str]) -> bool:
    """Return whether all servers with these version lines are OpenSSH's. If none is known, it is assumed."""
    return all(version.startswith(_OPENSSH) for version in versions)
