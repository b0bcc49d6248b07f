"""One field of a test's spec, and the values that it is given one after the other."""

import json
import re
from collections.abc import Iterator, Mapping
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
        """Return the spec with this value; raises SpecError if the path leads to no field."""
        changed: Mapping[str, Any] = _changed(spec, self.path, value, self.field)
        return changed


def sweep_of(field: str, values: str, most: int = MOST_VALUES) -> Sweep:
    """Return the sweep of a field such as `load.arrivals.rate` over `10,20,40` or `10..50:10`.

    Raises ValueError, also for more than `most` values.
    """
    if not re.fullmatch(FIELD_PATTERN, field):
        raise ValueError(f"{field!r} is not the path of a field, such as load.arrivals.rate")
    path = tuple(int(part) if part.isdigit() else part for part in field.split("."))
    found = _RANGE.fullmatch(values)
    taken = tuple(_range(*map(_number, found.groups()), most=most)) if found else tuple(map(_value, values.split(",")))
    if len(taken) > most:
        raise ValueError(f"more than {most} values of {field}: give 2 to {most}")
    if len(taken) <= 1:
        raise ValueError(f"{len(taken)} values of {field}: give 2 to {most}")
    return Sweep(path, taken)


def _changed(within: Any, path: tuple[str | int, ...], value: Any, field: str) -> Any:
    """Return a copy in which the path leads to the value; raises SpecError if it leads nowhere.

    Only what lies on the path is copied, so that no other field changes where YAML aliases make two fields one object.
    Missing objects on the way are made.
    """
    if not path:
        return value
    key, *rest = path
    if isinstance(within, Mapping) and isinstance(key, str):
        return {**within, key: _changed(within.get(key, {}), tuple(rest), value, field)}
    if isinstance(within, list) and isinstance(key, int) and key < len(within):
        return [*within[:key], _changed(within[key], tuple(rest), value, field), *within[key + 1 :]]
    raise SpecError("", f"the spec has no {field}: {key} leads nowhere")


def _value(text: str) -> Any:
    """Return a number, a truth value or a string where a text is one as JSON writes it, else the text.

    Raises ValueError for a list, an object or null: a sweep sets one field. YAML 1.1 would make 37850 of the 10:30:50
    of MaxStartups, 8 of 010, and a truth value of on.
    """
    try:
        value = json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text
    if value is None or isinstance(value, list | dict):
        raise ValueError(f"{text} is no number, truth value or text")
    try:
        str(value).encode()
    except UnicodeEncodeError:
        raise ValueError(f"{text} has half of a surrogate pair") from None
    return value


def value_text(value: Any) -> str:
    """Return a value as a person writes it."""
    return value if isinstance(value, str) else json.dumps(value)


def _number(text: str) -> Decimal:
    """Return a number exactly as it is written, so that sums are not rounded; raises ValueError."""
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a number") from None


def _range(first: Decimal, last: Decimal, step: Decimal, *, most: int) -> Iterator[float | int]:
    """Yield the values, but no more than one beyond `most`."""
    if step <= 0:
        return
    for number in range(most + 1):
        value = first + number * step
        if value > last:
            return
        yield int(value) if value == int(value) else float(value)
