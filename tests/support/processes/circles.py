"""How much of all examples is tested: few where tests are run by everybody, many where everything is tested."""

from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import pytest
from testing.circles import CIRCLE, Circle


def draws(few: int, many: int) -> int:
    """Return how many examples to draw: `many` of them in `make test-all`, else `few`."""
    return many if CIRCLE is Circle.ALL else few


def some(rows: Mapping[str, Any], few: int) -> list[Any]:
    """Return rows as parameters, by their names: `make test` takes about `few` of them, spread over all."""
    step = max(len(rows) // few, 1)
    return [
        pytest.param(row, id=name, marks=() if place % step == 0 else pytest.mark.full)
        for place, (name, row) in enumerate(rows.items())
    ]


def in_pairs(*axes: tuple[str, Sequence[Any]], indirect: Sequence[str] = ()) -> pytest.MarkDecorator:
    """Return the mark of a test for all combinations of several axes: names of arguments, and their values.

    `make test` plays as many combinations as the longest axis has values, so that each value is played at least once.
    Arguments that are `indirect` are parameters of fixtures.
    """
    lengths = [len(values) for _, values in axes]
    usual = {tuple(turn % length for length in lengths) for turn in range(max(lengths))}
    rows = []
    for places in product(*map(range, lengths)):
        given = [_given(values[place]) for (_, values), place in zip(axes, places, strict=True)]
        arguments = [argument for one in given for argument in one.arguments]
        marks = [mark for one in given for mark in one.marks] + ([] if places in usual else [pytest.mark.full])
        rows.append(pytest.param(*arguments, id="-".join(one.name for one in given), marks=marks))
    return pytest.mark.parametrize(",".join(names for names, _ in axes), rows, indirect=indirect)


class _Given(NamedTuple):
    """A value of an axis."""

    arguments: Sequence[Any]
    name: str
    marks: Collection[Any] = ()


def _given(value: Any) -> _Given:
    if hasattr(value, "marks"):  # what pytest.param returns
        return _Given(value.values, value.id or "-".join(map(str, value.values)), value.marks)
    arguments = value if isinstance(value, tuple) else (value,)
    return _Given(arguments, "-".join(map(str, arguments)))
