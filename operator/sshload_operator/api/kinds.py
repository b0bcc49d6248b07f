"""The kinds of the API group: what they are called in objects and in URL paths."""

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from sshload_operator.api.shapes.errors import SpecError

GROUP: Final = "sshload.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
LEASE_API_VERSION: Final = "coordination.k8s.io/v1"
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


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind: its name in objects (`SSHLoadTest`), in paths (`sshloadtests`), in sentences (`test`) and in short."""

    name: str
    plural: str
    word: str
    short: str


TEST: Final = Kind("SSHLoadTest", "sshloadtests", "test", "slt")
SCHEDULE: Final = Kind("SSHLoadTestSchedule", "sshloadtestschedules", "schedule", "slts")
COMPARISON: Final = Kind("SSHLoadTestComparison", "sshloadtestcomparisons", "comparison", "sltc")
KINDS: Final = (TEST, SCHEDULE, COMPARISON)


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
