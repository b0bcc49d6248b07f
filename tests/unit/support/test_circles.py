"""How many examples tests draw in each circle."""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from circles import in_pairs, some
from testing.circles import VARIABLE, Circle

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(("circle", "drawn"), [(Circle.QUICK, "12"), (Circle.USUAL, "12"), (Circle.ALL, "200")])
def test_many_examples_are_drawn_where_everything_is_tested(circle: Circle, drawn: str) -> None:
    path = os.pathsep.join(str(ROOT / folder) for folder in ("scripts", "tests/support"))
    program = [sys.executable, "-c", "import circles; print(circles.draws(12, 200))"]
    environment = {"PYTHONPATH": path, VARIABLE: circle.value}
    done = subprocess.run(program, env=environment, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == drawn


def usual(parameters: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return the values that `make test` takes."""
    return [one.values for one in parameters if "full" not in {mark.name for mark in one.marks}]


def test_of_many_rows_a_few_are_usual_and_none_is_lost() -> None:
    rows = {f"row {number}": number for number in range(100)}
    taken = some(rows, 5)
    assert {one.id: one.values for one in taken} == {name: (number,) for name, number in rows.items()}
    assert usual(taken) == [(0,), (20,), (40,), (60,), (80,)]
    assert len(usual(some({"one": 1}, 5))) == 1


def test_in_pairs_each_value_of_each_axis_is_usual_and_no_combination_is_lost() -> None:
    many = [pytest.param(number, number * 10, id=f"n{number}", marks=pytest.mark.slow) for number in range(5)]
    mark = in_pairs(("one", ["a", "b"]), ("number, tens", many))
    names, rows = mark.args
    assert names == "one,number, tens"
    assert {row.id for row in rows} == {f"{one}-n{number}" for one in "ab" for number in range(5)}
    assert all("slow" in {one.name for one in row.marks} for row in rows)
    assert usual(rows) == [("a", 0, 0), ("a", 2, 20), ("a", 4, 40), ("b", 1, 10), ("b", 3, 30)]
