"""JSON merge patches (RFC 7396): what a variant changes of the base."""

from collections.abc import Mapping
from typing import Any


def merged(target: Any, patch: Any) -> Any:
    """Return `target` with `patch` merged into it; neither is changed.

    Objects are merged field by field, a field of null is taken away, and everything else, lists too, is replaced as a
    whole (RFC 7396, section 2).
    """
    if not isinstance(patch, Mapping):
        return patch
    found: dict[str, Any] = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = merged(found.get(name), value)
    return found
