"""Readers of single values: each takes a value and its path, and returns what it means or raises SpecError.

They read as the API server validates: a whole number may be written 5.0, and text is counted in characters.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any, TypeAlias, TypeVar

from sshload_operator.api.errors import SpecError
from sshload_operator.api.quantities import duration_s, percent_share, size_bytes

T = TypeVar("T")
Reader: TypeAlias = Callable[[Any, str], T]
_FREE_FORM_LEVELS = 50
_WHOLE_NUMBER_LIMIT = 2**63


def text(*, longest: int, shortest: int = 0, pattern: str = "", wanted: str = "") -> Reader[str]:
    """Read a string that `pattern` matches as a whole; `wanted` says in words what it asks for."""
    expression = re.compile(pattern) if pattern else None

    def read(value: Any, path: str) -> str:
        if not isinstance(value, str):
            raise SpecError(path, f"must be a string, not {kind(value)}; put it in quotes")
        if not shortest <= len(value) <= longest:
            raise SpecError(path, f"must have from {shortest} to {longest} characters, not {len(value)}")
        if expression is not None and expression.fullmatch(value) is None:
            raise SpecError(path, f"is {shown(value)}, but must be {wanted or f'like {pattern}'}")
        return value

    return read


def choice(*words: str) -> Reader[str]:
    """Read one of the words."""

    def read(value: Any, path: str) -> str:
        if not isinstance(value, str) or value not in words:
            raise SpecError(path, f"is {shown(value)}, but must be one of {', '.join(words)}")
        return value

    return read


def flag(value: Any, path: str) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise SpecError(path, f"must be true or false, not {kind(value)}")
    return value


def whole(least: int, most: int) -> Reader[int]:
    """Read a whole number from `least` to `most`."""

    def read(value: Any, path: str) -> int:
        found = _number(value, path)
        if found != int(found):
            raise SpecError(path, f"is {value}, but must be a whole number")
        _check_range(found, path, least, most)
        return int(found)

    return read


def integer(least: int, most: int) -> Reader[int]:
    """Read a whole number that is written as one: where the CRD computes with it, its CEL takes no 5.0."""

    def read(value: Any, path: str) -> int:
        if isinstance(value, float):
            raise SpecError(path, "must be a whole number, without a decimal point")
        return whole(least, most)(value, path)

    return read


def number(least: float, most: float) -> Reader[float]:
    """Read a number from `least` to `most`."""

    def read(value: Any, path: str) -> float:
        found = float(_number(value, path))
        _check_range(found, path, least, most)
        return found

    return read


def positive(most: float) -> Reader[float]:
    """Read a number above 0 and up to `most`."""

    def read(value: Any, path: str) -> float:
        found = number(0, most)(value, path)
        if found == 0:
            raise SpecError(path, "must be above 0")
        return found

    return read


def duration(least: str, most: str, *, whole_seconds: bool = False) -> Reader[float]:
    """Read a duration from `least` to `most`, both as durations are written, and return its seconds."""
    least_s, most_s = duration_s(least), duration_s(most)

    def read(value: Any, path: str) -> float:
        written = text(longest=20)(value, path)
        try:
            seconds = duration_s(written, whole_seconds=whole_seconds)
        except ValueError as error:
            raise SpecError(path, f"{shown(written)} {error}") from error
        if not least_s <= seconds <= most_s:
            raise SpecError(path, f"is {written}, but must be a duration from {least} to {most}")
        return seconds

    return read


def percentage(least: str, most: str) -> Reader[float]:
    """Read a percentage from `least` to `most`, both as percentages are written, and return its share of one."""
    least_share, most_share = percent_share(least), percent_share(most)

    def read(value: Any, path: str) -> float:
        written = text(longest=10)(value, path)
        try:
            share = percent_share(written)
        except ValueError as error:
            raise SpecError(path, f"{shown(written)} {error}") from error
        if not least_share <= share <= most_share:
            raise SpecError(path, f"is {written}, but must be a percentage from {least} to {most}")
        return share

    return read


def size(least: str, most: str) -> Reader[int]:
    """Read a size from `least` to `most`, both as sizes are written, and return its bytes."""
    least_bytes, most_bytes = size_bytes(least), size_bytes(most)

    def read(value: Any, path: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise SpecError(path, f"is {shown(value)}, but must be a size such as 26Ki")
        if isinstance(value, int):
            _check_64_bits(value, path)
        try:
            found = size_bytes(str(value))
        except ValueError as error:
            raise SpecError(path, f"{shown(str(value))} {error}") from error
        if not least_bytes <= found <= most_bytes:
            raise SpecError(path, f"is {value}, but must be a size from {least} to {most}")
        return found

    return read


def items(read_item: Reader[T], *, most: int, least: int = 0) -> Reader[tuple[T, ...]]:
    """Read a list, each item by `read_item`."""

    def read(value: Any, path: str) -> tuple[T, ...]:
        if not isinstance(value, list):
            raise SpecError(path, f"must be a list, not {kind(value)}")
        if not least <= len(value) <= most:
            raise SpecError(path, f"must have from {least} to {most} items, not {len(value)}")
        return tuple(read_item(item, f"{path}[{index}]") for index, item in enumerate(value))

    return read


def entries(read_value: Reader[T], *, most: int) -> Reader[dict[str, T]]:
    """Read a map with free keys, each value by `read_value`; a value of null is as if it was not there."""

    def read(value: Any, path: str) -> dict[str, T]:
        present = {key: item for key, item in mapping(value, path).items() if item is not None}
        if len(present) > most:
            raise SpecError(path, f"must have at most {most} entries, not {len(present)}")
        return {key: read_value(item, f"{path}.{key}") for key, item in present.items()}

    return read


def mapping(value: Any, path: str) -> Mapping[str, Any]:
    """Read an object as it is."""
    if not isinstance(value, Mapping):
        raise SpecError(path, f"must be an object, not {kind(value)}")
    for key in value:
        if not isinstance(key, str):
            raise SpecError(path, f"has the key {key!r}, which is no string")
    return value


def free_form(value: Any, path: str) -> Mapping[str, Any]:
    """Read an object that is checked as part of another, such as a patch; only its nesting is bounded here."""
    whole_object = mapping(value, path)
    level: list[Any] = [whole_object]
    for _ in range(_FREE_FORM_LEVELS):
        level = [inner for item in level for inner in _inner(item)]
        if not level:
            return whole_object
    raise SpecError(path, f"is nested more than {_FREE_FORM_LEVELS} levels deep")


def _inner(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def kind(value: Any) -> str:
    """Return what a value is, in JSON's words."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"


def shown(value: Any) -> str:
    """Return a value for a message: strings in quotes and shortened, the rest by its kind."""
    if not isinstance(value, str):
        return kind(value)
    return f'"{value}"' if len(value) <= _SHOWN_CHARACTERS else f'"{value[:_SHOWN_CHARACTERS]}…"'


_SHOWN_CHARACTERS = 60


def _number(value: Any, path: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SpecError(path, f"must be a number, not {kind(value)}")
    _check_64_bits(value, path)
    if not isfinite(value):
        raise SpecError(path, "must be a finite number")
    return value


def _check_64_bits(value: float, path: str) -> None:
    """Refuse a whole number that the API server could not read, nor Python make a float of."""
    if isinstance(value, int) and not -_WHOLE_NUMBER_LIMIT <= value < _WHOLE_NUMBER_LIMIT:
        raise SpecError(path, "must be a number of 64 bits")


def _check_range(value: float, path: str, least: float, most: float) -> None:
    if not least <= value <= most:
        raise SpecError(path, f"is {value:g}, but must be from {least:g} to {most:g}")
