"""A spec as it is written, and copies of one with something changed."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

Spec = dict[str, Any]


def changed(spec: Mapping[str, Any], path: str, value: Any) -> Spec:
    """Return a copy of `spec` with the field at `path` (`load.arrivals.stages.0.rate`) set to `value`."""
    copy = deepcopy(dict(spec))
    *parents, last = (int(part) if part.isdigit() else part for part in path.split("."))
    place: Any = copy
    for part in parents:
        place = place[part] if isinstance(part, int) else place.setdefault(part, {})
    place[last] = value
    return copy


def without(spec: Mapping[str, Any], name: str) -> Spec:
    """Return a copy of `spec` without a top-level field."""
    return {key: deepcopy(value) for key, value in spec.items() if key != name}
