"""The names of our objects, and what is made of them: names of other objects, names of tests, and values of labels.

An object of ours may have any name that the API server accepts: up to 253 characters, with dots. A label's value may
have 63, and the name of a Service must be a DNS label. A name that fits is used as it is; any other is cut, and a hash
of the whole name takes the place of what is missing. Label values of two names never are the same. The name of another
object may happen to look like a hashed one: names of a run's objects have its id for that.
"""

import hashlib
import re
from typing import Final

from sshload_operator.api.shapes.errors import SpecError

NAME_CHARACTERS: Final = 253
NAME_PATTERN: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
NAME_WANTED: Final = (
    "lower-case letters, digits, hyphens and dots, with a letter or digit at both ends and beside each dot"
)
_LABEL_CHARACTERS: Final = 63
_DNS_LABEL: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_NO_DNS_LABEL: Final = re.compile(r"[^a-z0-9]+")
_HASH_CHARACTERS: Final = 16
_HASHED_LABEL: Final = "_"
"""No name has it, so the value that is made of a long name is never another object's name."""


def is_name(name: str) -> bool:
    """Return whether an object of ours may have this name."""
    return len(name) <= NAME_CHARACTERS and re.fullmatch(NAME_PATTERN, name) is not None


def check_name(name: str) -> None:
    """Raise SpecError for a name that the API server refuses."""
    if not is_name(name):
        raise SpecError("metadata.name", f"is {name!r}, but must be at most {NAME_CHARACTERS} {NAME_WANTED}")


def label_value(name: str) -> str:
    """Return the value of a label that stands for the object of this name."""
    if len(name) <= _LABEL_CHARACTERS:
        return name
    return f"{name[: _LABEL_CHARACTERS - 1 - _HASH_CHARACTERS]}{_HASHED_LABEL}{_hash(name)}"


def extended(name: str, suffix: str) -> str:
    """Return `<name><suffix>`, which is a name again. `suffix` ends with a letter or digit."""
    longest = NAME_CHARACTERS - len(suffix)
    if len(name) <= longest:
        return f"{name}{suffix}"
    return f"{name[: longest - 1 - _HASH_CHARACTERS].rstrip('-.')}-{_hash(name)}{suffix}"


def dns_label(name: str, longest: int) -> str:
    """Return a DNS label that begins with a letter, as a Service must have it, of at most `longest` characters."""
    if len(name) <= longest and _DNS_LABEL.fullmatch(name) is not None:
        return name
    begun = name if name[0].isalpha() else f"n{name}"
    kept = _NO_DNS_LABEL.sub("-", begun[: longest - 1 - _HASH_CHARACTERS]).rstrip("-")
    return f"{kept}-{_hash(name)}"


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:_HASH_CHARACTERS]
