"""Makes mutants of modules, runs the nearest tests against each, and lists those that survive. Exit code 1 if any does.

A survivor that is in `equivalent.toml` changes nothing that anybody could see; all others want a better test.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from importing_tests import PRODUCT
from nearest_tests import MUTATED, nearest

ROOT = Path(__file__).resolve().parents[2]
_EQUIVALENT = Path(__file__).parent / "equivalent.toml"
_A_DAY_S = 24 * 3600


@dataclass(frozen=True, slots=True)
class Judged:
    """The mutants of one file, and how each ended."""

    path: str
    rows: tuple[dict[str, Any], ...]
    broken: tuple[str, ...]
    seconds: float

    def survivors(self) -> list[dict[str, Any]]:
        """Return those that no test killed, the equivalent ones too."""
        return [row for row in self.rows if row["outcome"] in ("survived", "not reached")]


def main() -> int:
    """Judge the files that are asked for, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="files or folders of the product")
    parser.add_argument("--only", default="", help="mutants of lines that this regular expression is found in")
    parser.add_argument("--turn", type=int, default=0, help="take the next so many files, each day others")
    arguments = parser.parse_intermixed_args()
    asked = [file for given in arguments.files for file in named(given)]
    if not asked:
        asked = sorted(file for given in MUTATED for file in _files(given))
    if arguments.turn:
        first = int(time.time() / _A_DAY_S) * arguments.turn % len(asked)
        asked = (asked + asked)[first : first + arguments.turn]
    equivalent = _equivalent()
    left = 0
    table: list[tuple[str, ...]] = [("module", "mutants", "killed", "equivalent", "survived", "seconds")]
    for path in asked:
        of_file = judged(path, arguments.only)
        survivors = of_file.survivors()
        real = [row for row in survivors if _key(path, row) not in equivalent]
        left += len(real)
        for row in real:
            print(_shown(path, row), flush=True)
        for name in of_file.broken:
            print(f"{name} fails without any change, or does not pass twice: it took no part")
        count = len(of_file.rows)
        counts = (count, count - len(survivors), len(survivors) - len(real), len(real), round(of_file.seconds))
        table.append((path, *map(str, counts)))
        print(_line(table[-1]), flush=True)
    print("", *map(_line, table), sep="\n")
    return 1 if left else 0


def _line(row: Sequence[str]) -> str:
    return f"{row[0]:75}" + "".join(f"{cell:>11}" for cell in row[1:])


def named(given: str) -> list[str]:
    """Return the modules of a file or folder that tests are near, by paths below the root; exits if there is none."""
    path = (ROOT / given).resolve()
    found = [file for file in _files(given) if nearest(file)] if path.is_relative_to(ROOT) else []
    if not found:
        sys.exit(
            f"FILES: {given} has no module of the product that a test imports: name files or folders of "
            f"{', '.join(PRODUCT)}"
        )
    return found


def _files(given: str) -> list[str]:
    path = ROOT / given
    found = [path] if path.is_file() else sorted(path.rglob("*.py"))
    return [str(file.relative_to(ROOT)) for file in found if file.read_text(encoding="utf-8").count("\n") > 1]


def judged(path: str, only: str) -> Judged:
    """Return how the mutants of one file ended."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder, "results")
        module = path.partition("/")[2].removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        job = {"module": module, "path": str(ROOT / path), "results": str(results), "only": only}
        _pytest(job, nearest(path), folder)
        told = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
        rows = {row["number"]: row for row in told if row["kind"] == "mutant"}
        again = [row for row in rows.values() if row["outcome"] in ("from the start", "survived")]
        if again:
            results.unlink()
            modules = next(row["names"] for row in told if row["kind"] == "modules")
            _pytest({**job, "wanted": again, "modules": modules}, nearest(path), folder)
            second = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
            for row in second:
                rows[row["number"]] |= {"outcome": row["outcome"]}
    broken = tuple(row["name"] for row in told if row["kind"] == "broken")
    return Judged(path, tuple(rows.values()), broken, time.monotonic() - began)


def _pytest(job: dict[str, Any], tests: Sequence[str], folder: str) -> None:
    """Run the nearest tests in a pytest that has our session."""
    words = [sys.executable, "-m", "pytest", "-q", "--tb=no", "--assert=plain", "-p", "mutant_session"]
    words += ["-p", "no:cacheprovider", f"--basetemp={folder}/t", *tests]
    asked, log = Path(folder, "job"), Path(folder, "log")
    asked.write_text(json.dumps(job), encoding="utf-8")
    environment = {**os.environ, "SSHLOAD_MUTANTS_JOB": str(asked)}
    with log.open("wb") as output:
        subprocess.run(words, cwd=ROOT, env=environment, stdout=output, stderr=output, check=False)
    if not Path(job["results"]).exists() or not Path(job["results"]).stat().st_size:
        sys.exit(f"no mutant of {job['path']} could be run:\n{log.read_text(errors='replace')[-4000:]}")


def _equivalent() -> set[tuple[str, str, str, str]]:
    listed = tomllib.loads(_EQUIVALENT.read_text(encoding="utf-8"))
    return {_key(file, row) for file, rows in listed.items() for row in rows}


def _key(path: str, row: dict[str, Any]) -> tuple[str, str, str, str]:
    return path, row["within"], row["was"], row["becomes"]


def _shown(path: str, row: dict[str, Any]) -> str:
    reached = f"{len(row['tests'])} tests reach it" if row["tests"] else "no test reaches it"
    was, becomes = (text.replace("\n", "\n  ") for text in (row["was"], row["becomes"]))
    return f"{path}:{row['line']}: in {row['within']}, {reached}\n- {was}\n+ {becomes}"


if __name__ == "__main__":
    sys.exit(main())
