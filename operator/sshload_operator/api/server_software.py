"""Which SSH server it is: advice on OpenSSH's options is none for another one, and its releases differ."""

import re
from collections.abc import Iterable
from typing import Final

_OPENSSH: Final = "SSH-2.0-OpenSSH"
_VERSION: Final = re.compile(r"OpenSSH_(\d{1,3})\.(\d{1,3})", re.ASCII)


def is_openssh(versions: Iterable[str]) -> bool:
    """Return whether all servers with these version lines are OpenSSH's. If none is known, it is assumed."""
    return all(version.startswith(_OPENSSH) for version in versions)


def openssh_version(text: str) -> tuple[int, int] | None:
    """Return the first release of OpenSSH that a text names, such as a version line: (10, 3) of OpenSSH_10.3p1."""
    found = _VERSION.search(text)
    return None if found is None else (int(found[1]), int(found[2]))
