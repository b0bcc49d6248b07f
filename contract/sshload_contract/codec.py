"""Frozen dataclasses to JSON and back, strictly: an unknown, missing or mistyped field is refused by its path.

So is a figure beyond the bounds that its type is annotated with (bounds.py), and a text that UTF-8 cannot write: half
of a surrogate pair, which JSON can spell, comes back from the API server as another character.
Members of a union carry their tag in a class variable `kind`, which stands in the JSON under the same name.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints

from sshload_contract.errors import ContractError

T = TypeVar("T")
_WHOLE_NUMBER_LIMIT = 2**63
"""Beyond it a whole number does not fit every type that it meets: a float, a metric, the API server's int64."""
_SHOWN_CHARACTERS = 60


def to_json(value: object) -> str:
    """Return the compact JSON text of a contract value; NaN and infinities raise ValueError (RFC 8259 has none)."""
    return json.dumps(to_plain(value), separators=(",", ":"), allow_nan=False)


def from_json(kind: type[T], text: str) -> T:
    """Return the value of type `kind` that `text` spells; raises ContractError where it does not."""
    return from_plain(kind, parse_json(text))


def parse_json(text: str) -> Any:
    """Return what a JSON text says as dicts, lists, strings, numbers, booleans and None; raises ContractError."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise ContractError("", f"is not JSON: {error}") from error
    except RecursionError as error:
        raise ContractError("", "is not JSON that can be read: it is nested too deeply") from error


def to_plain(value: object) -> Any:
    """Return `value` as dicts, lists, strings, numbers, booleans and None."""
    if is_dataclass(value) and not isinstance(value, type):
        plain = {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
        tag = getattr(type(value), "kind", None)
        return {"kind": tag, **plain} if tag is not None else plain
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [to_plain(item) for item in value]
    return value


def from_plain(kind: type[T], plain: object) -> T:
    """Return the value of type `kind` that `plain` stands for; raises ContractError where it does not."""
    value: T = _read(kind, plain, "")
    return value


def _read(kind: Any, plain: Any, path: str) -> Any:
    read_as = _BY_ORIGIN.get(get_origin(kind))
    if read_as is not None:
        return read_as(get_args(kind), plain, path)
    if is_dataclass(kind):
        return _read_dataclass(kind, plain, path)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _read_enum(kind, plain, path)
    return _read_scalar(kind, plain, path)


def _read_bounded(kind_and_bound: tuple[Any, ...], plain: Any, path: str) -> Any:
    kind, bound = kind_and_bound
    value = _read(kind, plain, path)
    problem = bound.problem(value)
    if problem:
        raise ContractError(path, problem)
    return value


def _read_union(members: tuple[Any, ...], plain: Any, path: str) -> Any:
    if plain is None and NoneType in members:
        return None
    present = [member for member in members if member is not NoneType]
    if len(present) == 1:
        return _read(present[0], plain, path)
    tag = plain.get("kind") if isinstance(plain, dict) else None
    for member in present:
        if member.kind == tag:
            return _read_dataclass(member, plain, path)
    known = ", ".join(sorted(member.kind for member in present))
    raise ContractError(path, f"kind is {_shown(tag)}, expected one of {known}")


def _read_tuple(members: tuple[Any, ...], plain: Any, path: str) -> tuple[Any, ...]:
    if not isinstance(plain, list):
        raise ContractError(path, f"expected a list, got {type(plain).__name__}")
    return tuple(_read(members[0], item, f"{path}[{index}]") for index, item in enumerate(plain))


def _read_mapping(members: tuple[Any, ...], plain: Any, path: str) -> dict[str, Any]:
    if not isinstance(plain, dict):
        raise ContractError(path, f"expected an object, got {type(plain).__name__}")
    return {
        _read(members[0], key, _join(path, key)): _read(members[1], item, _join(path, key))
        for key, item in plain.items()
    }


_BY_ORIGIN: Mapping[Any, Callable[[tuple[Any, ...], Any, str], Any]] = {
    Annotated: _read_bounded,
    Union: _read_union,
    UnionType: _read_union,
    tuple: _read_tuple,
    Mapping: _read_mapping,
}


def _read_dataclass(kind: Any, plain: Any, path: str) -> Any:
    if not isinstance(plain, dict):
        raise ContractError(path, f"expected an object, got {type(plain).__name__}")
    types = _field_types(kind)
    given = {key: item for key, item in plain.items() if key != "kind" or "kind" in types}
    for key in given:
        if key not in types:
            raise ContractError(_join(path, key), "unknown field")
    for key in types:
        if key not in given:
            raise ContractError(_join(path, key), "missing field")
    return kind(**{key: _read(types[key], given[key], _join(path, key)) for key in types})


@cache
def _field_types(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {name: hint for name, hint in hints.items() if get_origin(hint) is not ClassVar}


def _read_enum(kind: type[Enum], plain: Any, path: str) -> Enum:
    try:
        if isinstance(plain, str):
            return kind(plain)
    except ValueError:
        pass
    known = ", ".join(str(member.value) for member in kind)
    raise ContractError(path, f"is {_shown(plain)}, expected one of {known}")


def _read_scalar(kind: Any, plain: Any, path: str) -> Any:
    if kind is float and isinstance(plain, int | float) and not isinstance(plain, bool):
        try:
            number = float(plain)
        except OverflowError as error:
            raise ContractError(path, "is not a finite number") from error
        if not isfinite(number):
            raise ContractError(path, "is not a finite number")
        return number
    if type(plain) is not kind:
        raise ContractError(path, f"expected {kind.__name__}, got {type(plain).__name__}")
    if kind is int and not -_WHOLE_NUMBER_LIMIT <= plain < _WHOLE_NUMBER_LIMIT:
        raise ContractError(path, "is no 64-bit number")
    if kind is str and not plain.isascii():
        _check_text(plain, path)
    return plain


def _check_text(text: str, path: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ContractError(path, "has half of a surrogate pair, which is no character") from error


def _shown(plain: Any) -> str:
    """Return a value for a message: a text, shortened, or the type of anything else, which may be nested deeply."""
    return ascii(plain[:_SHOWN_CHARACTERS]) if isinstance(plain, str) else type(plain).__name__


def _join(path: str, key: str) -> str:
    name = key if key.isprintable() and len(key) <= _SHOWN_CHARACTERS else _shown(key)
    return f"{path}.{name}" if path else name
