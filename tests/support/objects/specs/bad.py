"""A change of a good spec that must be refused, and what the refusal must say."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specs.small import SMALL
from specs.spec import changed


@dataclass(frozen=True, slots=True)
class Bad:
    """A spec that must be refused, the field that the refusal must name, and words that it must hold."""

    spec: Mapping[str, Any]
    field: str
    says: str = ""


def bad(path: str, value: Any, field: str = "", says: str = "", base: Mapping[str, Any] = SMALL) -> Bad:
    """Return the change of one field of `base`; the refusal must name it, or `field`."""
    return Bad(changed(base, path, value), field or f"spec.{path}", says)
