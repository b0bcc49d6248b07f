"""The benchmarks as programs: run to their ends, the rows of their tables, and the pages that they keep."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MEASURED = re.compile(
    r"Measured on 2\d{3}-\d\d-\d\d at [0-9a-f]{8,}(-dirty)? with \d+ x [^,]+, Linux [^,]+(, \w\S*( \S+)+)+\."
)
"""The line at the top of each page of measurements."""
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


def kept(page: Path) -> list[dict[str, Any]]:
    """Return the figures behind a page of measurements.

    Raises AssertionError unless the line below its title says what stands beside the figures, in the form of all pages:
    when, of which commit, on what machine and with which versions they were measured.
    """
    behind = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    where = behind["measured"]
    title, line = page.read_text(encoding="utf-8").splitlines()[:3:2]
    assert title.startswith("# ")
    assert MEASURED.fullmatch(line), line
    begin = f"Measured on {where['date']} at {where['commit']} with {where['cpu']}, Linux {where['kernel']}, "
    own = {"date", "commit", "cpu", "kernel"}
    assert line == begin + ", ".join(f"{what} {value}" for what, value in where.items() if what not in own) + "."
    return list(behind["figures"])


def lacking_figures(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Return the rows with a cell, besides the first, that holds no finite number."""
    return [row for row in rows if not all(_is_figure(cell) for cell in row[1:])]


def _is_figure(cell: str) -> bool:
    return any(sign.isdigit() for sign in cell) and "nan" not in cell and "inf" not in cell.split()
