"""The benchmarks as programs: run to their ends, and the rows of the tables that they print."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_TESTS = Path(__file__).parents[2]


def benchmark_rows(name: str, *options: str | Path) -> list[list[str]]:
    """Run the benchmark; return the cells of each row of its tables, without their heads.

    Raises AssertionError with all that it printed if it fails.
    """
    command = [sys.executable, _TESTS / f"benchmarks/{name}.py", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"
    rows: list[list[str]] = []
    for line in done.stdout.splitlines():
        if line.startswith("| ---"):
            rows.pop()  # the head stands above this line
        elif line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def lacking_figures(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Return the rows with a cell, besides the first, that holds no finite number."""
    return [row for row in rows if not all(_is_figure(cell) for cell in row[1:])]


def _is_figure(cell: str) -> bool:
    return any(sign.isdigit() for sign in cell) and "nan" not in cell and "inf" not in cell.split()
