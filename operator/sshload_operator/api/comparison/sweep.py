"""One field of a test's spec, and the values that it is given one after the other."""

import json
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from sshload_operator.api.shapes.errors import SpecError

FIELD_PATTERN: Final = r"[A-Za-z][A-Za-z0-9]*(\.([A-Za-z][A-Za-z0-9]*|[0-9]{1,3}))*"
MOST_VALUES: Final = 50
_RANGE = re.compile(r"(?P<first>-?[\d.]+)\.\.(?P<last>-?[\d.]+):(?P<step>[\d.]+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Sweep:
    """One field of a spec, by the keys and indexes that lead to it, and its values in their order."""

    path: tuple[str | int, ...]
    values: tuple[Any, ...]

    @property
    def field(self) -> str:
        """The field as a person writes it."""
        return ".".join(map(str, self.path))

    def spec_at(self, spec: Mapping[str, Any], value: Any) -> Mapping[str, Any]:
        """Return the spec with this value; raises SpecError where the path leads to no field."""
        changed = dict(deepcopy(spec))
        _set(changed, self.path, value, self.field)
        return changed


def sweep_of(field: str, values: str) -> Sweep:
    """Return the sweep of a field such as `load.arrivals.rate` over `10,20,40` or `10..50:10`; raises ValueError."""
    if not re.fullmatch(FIELD_PATTERN, field):
        raise ValueError(f"{field!r} is not the path of a field, such as load.arrivals.rate")
    path = tuple(int(part) if part.isdigit() else part for part in field.split("."))
    found = _RANGE.fullmatch(values)
    taken = tuple(_range(*map(_number, found.groups()))) if found else tuple(map(_value, values.split(",")))
    if not 1 < len(taken) <= MOST_VALUES:
        raise ValueError(f"{len(taken)} values of {field}: give 2 to {MOST_VALUES}")
    return Sweep(path, taken)


def _set(within: Any, path: tuple[str | int, ...], value: Any, field: str) -> None:
    """Set what a path leads to; raises SpecError where it leads nowhere. Missing objects on the way are made."""
    *way, last = path
    for key in way:
        if isinstance(within, dict) and isinstance(key, str):
            within = within.setdefault(key, {})
        elif isinstance(within, list) and isinstance(key, int) and key < len(within):
            within = within[key]
        else:
            raise SpecError("", f"the spec has no {field}: {key} leads nowhere")
    in_list = isinstance(within, list) and isinstance(last, int) and last < len(within)
    if not in_list and not (isinstance(within, dict) and isinstance(last, str)):
        raise SpecError("", f"the spec has no {field}: {last} leads nowhere")
    within[last] = value


def _value(text: str) -> Any:
    """Return a number or a truth value where a text is one as JSON writes it, else the text: the spec's parser judges.

    YAML 1.1 would make 37850 of the 10:30:50 of MaxStartups, 8 of 010, and a truth value of on.
    """
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text


def _number(text: str) -> Decimal:
    """Return a number as it is written, of which no sum is rounded; raises ValueError."""
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a number") from None


def _range(first: Decimal, last: Decimal, step: Decimal) -> Iterator[float | int]:
    if step <= 0:
        return
    for number in range(MOST_VALUES + 1):
        value = first + number * step
        if value > last:
            return
        yield int(value) if value == int(value) else float(value)
