"""How many examples tests draw in each circle."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from testing.circles import VARIABLE, Circle

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(("circle", "drawn"), [(Circle.QUICK, "12"), (Circle.USUAL, "12"), (Circle.ALL, "200")])
def test_many_examples_are_drawn_where_everything_is_tested(circle: Circle, drawn: str) -> None:
    path = os.pathsep.join(str(ROOT / folder) for folder in ("scripts", "tests/support"))
    program = [sys.executable, "-c", "import circles; print(circles.draws(12, 200))"]
    environment = {"PYTHONPATH": path, VARIABLE: circle.value}
    done = subprocess.run(program, env=environment, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == drawn
