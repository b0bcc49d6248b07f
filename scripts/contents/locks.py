"""The locks of requirements/*.txt: versions, and the hashes of the archives that pip accepts for them."""

import re
from collections.abc import Mapping
from pathlib import Path

from packaging.utils import canonicalize_name

Lock = Mapping[tuple[str, str], tuple[str, ...]]
"""SHA-256 of all archives of a release, in hexadecimal, by the canonical name and the version."""

_LOCKED = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)(?P<rest>(?:.*\\\n)*.*)$", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def read_lock(*files: Path) -> Lock:
    """Return the locks of all files together."""
    texts = [file.read_text(encoding="utf-8") for file in files]
    return {
        (canonicalize_name(found["name"]), found["version"]): tuple(_HASH.findall(found["rest"]))
        for text in texts
        for found in _LOCKED.finditer(text)
    }
