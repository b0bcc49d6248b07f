"""Frozen dataclasses to JSON and back, strictly: an unknown, missing or mistyped field is an error with its path.

So is a figure outside the bounds with which its type is annotated (bounds.py), and a text that cannot be encoded in
UTF-8: JSON can contain half of a surrogate pair, which the API server returns as another character. Members of a union
have their tag in a class variable `kind`, which has the same name in the JSON.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from sshload_contract.bounds import WIRE_VERSION, ContractError, PercentileText, Range

T = TypeVar("T")
_WHOLE_NUMBER_LIMIT = 2**63
"""Larger whole numbers do not fit all types to which they are converted: a float, a metric, the API server's int64."""
_SHOWN_CHARACTERS = 60
_PLAIN = frozenset({str, int, float, bool, NoneType})

_Reader = Callable[[Any], Any]


def to_json(value: object) -> str:
    """Return the compact JSON text of a contract value; NaN and infinities raise ValueError (RFC 8259 has none)."""
    return json.dumps(to_plain(value), separators=(",", ":"), allow_nan=False)


def from_json(kind: type[T], text: str) -> T:
    """Return the value of type `kind` in the JSON `text`; raises ContractError if there is none."""
    return from_plain(kind, parse_json(text))


def parse_json(text: str) -> Any:
    """Return a JSON text as dicts, lists, strings, numbers, booleans and None; raises ContractError."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise ContractError("", f"is not JSON: {error}") from error
    except RecursionError as error:
        raise ContractError("", "is not JSON that can be read: it is nested too deeply") from error


def to_plain(value: object) -> Any:
    """Return `value` as dicts, lists, strings, numbers, booleans and None."""
    if type(value) in _PLAIN:  # most values are, and the checks below take most of the time
        return value
    if is_dataclass(value) and not isinstance(value, type):
        plain = {name: to_plain(getattr(value, name)) for name in _field_names(type(value))}
        tag = getattr(type(value), "kind", None)
        return {"kind": tag, **plain} if tag is not None else plain
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [to_plain(item) for item in value]
    return value


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def from_plain(kind: type[T], plain: object) -> T:
    """Return the value of type `kind` that `plain` represents; raises ContractError if it represents none."""
    hashable: Any = kind  # mypy does not know that a type variable is hashable
    try:
        value: T = _reader(hashable)(plain)
    except _Misfit as misfit:
        raise ContractError("".join(reversed(misfit.places)).removeprefix("."), misfit.problem) from misfit.__cause__
    return value


class _Misfit(Exception):  # noqa: N818 - it leaves this module as a ContractError
    """A plain value does not represent a value of its type. `places` are the steps of its path, the innermost first.

    They are collected while the exception passes: to build each path in advance would take most of the time, and few
    paths are needed.
    """

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.places: list[str] = []


@cache
def _reader(kind: Any) -> _Reader:
    """Return the reader of a type. Readers are cached, because a master reads thousands of values per second."""
    reader_of = _BY_ORIGIN.get(get_origin(kind))
    if reader_of is not None:
        return reader_of(get_args(kind))
    if is_dataclass(kind):
        return _dataclass_reader(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _enum_reader(kind)
    return _SCALARS[kind]


def _bounded_reader(kind_and_notes: tuple[Any, ...]) -> _Reader:
    """Return the reader of an annotated type. Annotations about its form in a spec (declared.py) are ignored."""
    kind, *notes = kind_and_notes
    read_value = _reader(kind)
    bounds = [note for note in notes if isinstance(note, Range | PercentileText)]
    if not bounds:
        return read_value

    def read(plain: Any) -> Any:
        value = read_value(plain)
        problem = bounds[0].problem(value)
        if problem:
            raise _Misfit(problem)
        return value

    return read


def _union_reader(members: tuple[Any, ...]) -> _Reader:
    present = [member for member in members if member is not NoneType]
    read_value = _reader(present[0]) if len(present) == 1 else _tagged_reader(present)
    if len(present) == len(members):
        return read_value
    return lambda plain: None if plain is None else read_value(plain)


def _tagged_reader(members: Sequence[Any]) -> _Reader:
    by_tag = {member.kind: _reader(member) for member in members}
    known = ", ".join(sorted(by_tag))

    def read(plain: Any) -> Any:
        tag = plain.get("kind") if isinstance(plain, dict) else None
        read_value = by_tag.get(tag) if isinstance(tag, str) else None
        if read_value is None:
            raise _Misfit(f"kind is {_shown(tag)}, expected one of {known}")
        return read_value(plain)

    return read


def _tuple_reader(members: tuple[Any, ...]) -> _Reader:
    read_item = _reader(members[0])

    def read(plain: Any) -> Any:
        if not isinstance(plain, list):
            raise _Misfit(f"expected a list, got {type(plain).__name__}")
        items: list[Any] = []
        try:
            for item in plain:
                items.append(read_item(item))  # noqa: PERF401 - their number is the index of an item that does not fit
        except _Misfit as misfit:
            misfit.places.append(f"[{len(items)}]")
            raise
        return tuple(items)

    return read


def _mapping_reader(members: tuple[Any, ...]) -> _Reader:
    read_key, read_item = _reader(members[0]), _reader(members[1])

    def read(plain: Any) -> Any:
        if not isinstance(plain, dict):
            raise _Misfit(f"expected an object, got {type(plain).__name__}")
        found, key = {}, ""
        try:
            for key, item in plain.items():
                found[read_key(key)] = read_item(item)
        except _Misfit as misfit:
            misfit.places.append(_step(key))
            raise
        return found

    return read


_BY_ORIGIN: Mapping[Any, Callable[[tuple[Any, ...]], _Reader]] = {
    Annotated: _bounded_reader,
    Union: _union_reader,
    UnionType: _union_reader,
    tuple: _tuple_reader,
    Mapping: _mapping_reader,
}


def _dataclass_reader(kind: Any) -> _Reader:
    readers = {name: _reader(hint) for name, hint in _field_types(kind).items()}
    is_versioned = "version" in readers

    def read(plain: Any) -> Any:
        if not isinstance(plain, dict):
            raise _Misfit(f"expected an object, got {type(plain).__name__}")
        if is_versioned and "version" in plain:  # first: it says why other fields are unknown or missing
            _check_version(plain["version"])
        if plain.keys() != readers.keys():
            _refuse((name for name in plain if name not in readers and name != "kind"), "unknown field")
            _refuse((name for name in readers if name not in plain), "missing field")
        values, name = {}, ""
        try:
            for name, read_value in readers.items():
                values[name] = read_value(plain[name])
        except _Misfit as misfit:
            misfit.places.append(_step(name))
            raise
        return kind(**values)

    return read


def _check_version(plain: Any) -> None:
    """Raise _Misfit for an object that another release wrote."""
    if plain != WIRE_VERSION:
        written = plain if type(plain) is int else _shown(plain)
        problem = f"is {written}, and this release reads {WIRE_VERSION}: use images and programs of one release"
        _refuse(("version",), problem)


def _refuse(names: Iterable[str], problem: str) -> None:
    """Raise _Misfit for the first of these fields, if there is one."""
    for name in names:
        misfit = _Misfit(problem)
        misfit.places.append(_step(name))
        raise misfit


def _field_types(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {name: hints[name] for name in _field_names(kind)}


def _enum_reader(kind: type[Enum]) -> _Reader:
    members = {member.value: member for member in kind}
    known = ", ".join(map(str, members))

    def read(plain: Any) -> Enum:
        member = members.get(plain) if isinstance(plain, str) else None
        if member is None:
            raise _Misfit(f"is {_shown(plain)}, expected one of {known}")
        return member

    return read


def _read_int(plain: Any) -> int:
    if type(plain) is not int:
        raise _Misfit(f"expected int, got {type(plain).__name__}")
    if not -_WHOLE_NUMBER_LIMIT <= plain < _WHOLE_NUMBER_LIMIT:
        raise _Misfit("is no 64-bit number")
    return plain


def _read_float(plain: Any) -> float:
    if not isinstance(plain, int | float) or isinstance(plain, bool):
        raise _Misfit(f"expected float, got {type(plain).__name__}")
    try:
        number = float(plain)
    except OverflowError as error:
        raise _Misfit("is not a finite number") from error
    if not isfinite(number):
        raise _Misfit("is not a finite number")
    return number


def _read_bool(plain: Any) -> bool:
    if type(plain) is not bool:
        raise _Misfit(f"expected bool, got {type(plain).__name__}")
    return plain


def _read_str(plain: Any) -> str:
    if type(plain) is not str:
        raise _Misfit(f"expected str, got {type(plain).__name__}")
    if not plain.isascii():
        _check_text(plain)
    return plain


_SCALARS: Mapping[Any, _Reader] = {int: _read_int, float: _read_float, bool: _read_bool, str: _read_str}


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _Misfit("has half of a surrogate pair, which is not a character") from error


def _shown(plain: Any) -> str:
    """Return a value for a message: a shortened text, or the type of any other value, which may be nested deeply."""
    return ascii(plain[:_SHOWN_CHARACTERS]) if isinstance(plain, str) else type(plain).__name__


def _step(key: str) -> str:
    """Return one step of a path, to a field or an entry of this name."""
    return f".{key if key.isprintable() and len(key) <= _SHOWN_CHARACTERS else _shown(key)}"
