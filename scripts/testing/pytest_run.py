"""The pytest runs of a suite, in its lanes and after them, and their reports."""

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree as ET

from testing.circles import CIRCLE
from testing.layers import ROOT, Suite
from testing.machine import CpuShares, cpu_times

REPORTS = ROOT / ".cache/test"
_PYTEST = ROOT / ".venv/bin/pytest"
_NO_TESTS_COLLECTED = 5
_NOT_COLLECTED = "error: collection failure"
_END_LIMIT_S = 30
RERUNS_FILE = REPORTS / "reruns"
"""Where tests write a line per load that ran again because this machine kept the generator from the CPU."""

_ALONE = "alone"
"""The mark of tests that do not run in the lanes, but after them, one after the other."""


@dataclass(frozen=True, slots=True)
class Test:
    """One test of a report. `failure` says why it did not pass, empty if it did; a skip is a failure."""

    name: str
    seconds: float
    failure: str


@dataclass(frozen=True, slots=True)
class Lane:
    """How one run of a suite ended: its tests, failures that belong to no test, and its use of the machine.

    `reruns` has a line for each load that ran again: the test, the reason and the message.
    """

    name: str
    lanes: int
    tests: tuple[Test, ...]
    problems: tuple[str, ...]
    seconds: float
    cpu: CpuShares
    reruns: tuple[str, ...] = ()

    @property
    def passed(self) -> int:
        """How many tests passed."""
        return sum(not test.failure for test in self.tests)

    @property
    def failures(self) -> tuple[str, ...]:
        """A sentence for everything that did not pass."""
        return (*(f"{test.name}: {test.failure}" for test in self.tests if test.failure), *self.problems)


def run_suite(suite: Suite, environment: Mapping[str, str], give_up: float) -> Iterator[Lane]:
    """Run the tests of the lanes, then those that run alone. `give_up` is on the monotonic clock."""
    lanes = list(_run_all(suite, environment, give_up))
    found = [test.name for lane in lanes for test in lane.tests]
    empty = [
        folder
        for folder in suite.folders
        if not any(_module(folder) in name for name in found) and not _is_of_a_larger_circle(folder)
    ]
    if empty and not any(lane.problems for lane in lanes):
        problems = tuple(f"{_shown(folder)}: no tests" for folder in empty)
        nothing = cpu_times().share_since(cpu_times())
        lanes.append(Lane(suite.name, 0, (), problems, 0.0, nothing))
    yield from lanes


def _run_all(suite: Suite, environment: Mapping[str, str], give_up: float) -> Iterator[Lane]:
    yield _run(suite, suite.folders, environment, give_up)
    files = tuple(path for folder in suite.folders for path in _files_of_tests_alone(folder))
    if not files:
        return
    alone = _run(suite, files, environment, give_up, _ALONE)
    tests = tuple(test for test in alone.tests if test.failure != _NOT_COLLECTED)  # the lanes have reported it already
    if tests or alone.problems:
        yield replace(alone, tests=tests)


def _files_of_tests_alone(folder: Path) -> list[Path]:
    """Return the files whose tests may have the mark: it is written where the test is.

    Collecting thousands of other tests again would take seconds in which the other cores are idle.
    """
    return [path for path in sorted(folder.rglob("test_*.py")) if f"mark.{_ALONE}" in path.read_text(encoding="utf-8")]


def _is_of_a_larger_circle(folder: Path) -> bool:
    """Return whether there are tests in a folder that this circle leaves out, so that it may have none to run."""
    marks = [f"mark.{word}" for word in CIRCLE.marks.split() if word not in {"and", "not"}]
    texts = (path.read_text(encoding="utf-8") for path in folder.rglob("test_*.py"))
    return any(mark in text for text in texts for mark in marks)


def _options(lanes: int, mark: str) -> list[str]:
    """Return pytest's options."""
    chosen = ["-m", " and ".join(filter(None, (mark or f"not {_ALONE}", CIRCLE.marks)))]
    distributed = ["-n", str(lanes), "--dist", "loadgroup", "--max-worker-restart", "0"]
    return [*distributed, *chosen] if lanes > 1 else chosen


def _run(suite: Suite, paths: Sequence[Path], environment: Mapping[str, str], give_up: float, mark: str = "") -> Lane:
    name = f"{suite.name} {mark}".rstrip()
    lanes = 1 if mark else suite.lanes
    options = _options(lanes, mark)
    report = REPORTS / f"{name.replace('/', '-').replace(' ', '-')}.xml"
    command = [
        str(_PYTEST),
        "-q",
        "--tb=short",
        "--continue-on-collection-errors",
        f"--junitxml={report}",
        *options,
        *map(_shown, paths),
    ]
    print(f"\n$ {shlex.join(['pytest', *options, *map(_shown, paths)])}", flush=True)
    began, cpu, before = time.monotonic(), cpu_times(), len(_reruns())
    code = _exit_code(command, {**environment, "SSHLOAD_RERUNS_FILE": str(RERUNS_FILE)}, give_up - began)
    tests, problems = _result(report, code, name)
    shares = cpu_times().share_since(cpu)
    return Lane(name, lanes, tests, problems, time.monotonic() - began, shares, _reruns()[before:])


def _exit_code(command: list[str], environment: Mapping[str, str], limit_s: float) -> int | None:
    """Return the exit code, None if the command took too long and was killed with all that it started."""
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        return process.wait(max(limit_s, 1))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)  # xdist's workers are of the same group
    try:
        process.wait(_END_LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return None


def _result(report: Path, code: int | None, name: str) -> tuple[tuple[Test, ...], tuple[str, ...]]:
    if code is None:
        return (), (f"{name}: took longer than its layer may take",)
    if code == _NO_TESTS_COLLECTED:
        return (), ()
    if not report.exists():
        return (), (f"{name}: pytest ended with exit code {code} and no report",)
    tests = tuple(read_report(report))
    problems = (f"{name}: pytest ended with exit code {code}",) if code and all(not t.failure for t in tests) else ()
    return tests, problems


def read_report(report: Path) -> Iterator[Test]:
    """Yield the tests of a report by pytest; a test that failed in two ways counts once."""
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - pytest wrote it a moment ago
        name = f"{case.get('classname', '').removeprefix('tests.')}::{case.get('name')}"
        wrong = next((child for child in case if child.tag in {"failure", "error", "skipped"}), None)
        failure = "" if wrong is None else f"{wrong.tag}: {_first_line(wrong.get('message'))}"
        yield Test(name, float(case.get("time", 0)), failure)


def _first_line(message: str | None) -> str:
    return next(iter((message or "").splitlines()), "")


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _module(folder: Path) -> str:
    """Return the prefix of the names of a folder's tests."""
    return ".".join(folder.relative_to(ROOT / "tests").parts)


def _reruns() -> tuple[str, ...]:
    return tuple(RERUNS_FILE.read_text(encoding="utf-8").splitlines()) if RERUNS_FILE.exists() else ()


def slowest(lanes: Iterable[Lane], count: int) -> list[Test]:
    """Return the tests that took longest."""
    return sorted((test for lane in lanes for test in lane.tests), key=lambda test: -test.seconds)[:count]
