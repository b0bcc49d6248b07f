"""Makes any value of a contract type, from the type itself: a new field is tested without a new line here."""

import enum
import types
from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import strategies as st
from sshload_contract.bounds import PercentileText, Range

_FLOATS = st.floats(allow_nan=False, allow_infinity=False)
_TEXT = st.text(max_size=40)
_SCALARS: dict[type, st.SearchStrategy[Any]] = {
    int: st.integers(-(2**63), 2**63 - 1),
    float: _FLOATS,
    str: _TEXT,
    bool: st.booleans(),
    types.NoneType: st.none(),
}


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for all values of a contract type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _within(*arguments)
    if origin in (Union, types.UnionType):
        return st.one_of([values_of(member) for member in arguments])
    if origin is tuple:
        return st.lists(values_of(arguments[0]), max_size=3).map(tuple)
    if origin is Mapping:
        return st.dictionaries(values_of(arguments[0]), values_of(arguments[1]), max_size=3)
    if kind in _SCALARS or issubclass(kind, enum.Enum):
        return _SCALARS[kind] if kind in _SCALARS else st.sampled_from(kind)
    hints = get_type_hints(kind, include_extras=True)
    of_object = [field.name for field in fields(kind) if get_origin(hints[field.name]) is not ClassVar]
    wanted = [name for name in of_object if name != "version"]
    return st.builds(kind, **{name: values_of(hints[name]) for name in wanted})


def _within(kind: Any, *notes: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for all values of a bounded number, and for some percentiles as they are written."""
    bounds = [note for note in notes if isinstance(note, Range | PercentileText)]
    if not bounds:
        return values_of(kind)
    bound = bounds[0]
    if not isinstance(bound, Range):
        return st.sampled_from(["50", "99", "99.9"])
    return st.integers(bound.least, bound.most) if kind is int else st.floats(bound.least, bound.most)


@pytest.fixture(scope="session", name="values_of")
def _values_of() -> Any:
    return values_of
