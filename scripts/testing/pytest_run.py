"""The pytest runs of a suite: in its lanes, after them, and once more what failed; and their reports."""

import os
import select
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO
from xml.etree import ElementTree as ET

from testing.circles import CIRCLE
from testing.layers import ROOT, Suite
from testing.machine import CpuShares, cpu_times

REPORTS = ROOT / ".cache/test"
"""The folder with the reports of the last run: JUnit files, what failed, and the counts."""
_PYTEST = ROOT / ".venv/bin/pytest"
_NO_TESTS_COLLECTED = 5
_NOT_COLLECTED = "error: collection failure"
_END_LIMIT_S = 30
_BESIDE = ("nice", "-n", "10")
"""How a suite runs beside others: a process has a ninth of the weight of theirs, which is enough to get somewhere."""
_under_way: set[int] = set()
_is_over = threading.Event()
_MOST_RUN_AGAIN = 10
"""Of how many tests of a suite that failed each runs once more. More failures have one cause, which is not chance."""
_ALONE = "alone"
"""The mark of tests that do not run in the lanes, but after them, one after the other."""


@dataclass(frozen=True, slots=True)
class Test:
    """One test of a report. `failure` says why it did not pass, empty if it did; a skip is a failure.

    `flaky` says why it failed, where it passed when it ran again. `output` is what is known of a failure. `circle` is
    the smallest one that has the test. `cpu_s` is what it took of its process and its children, 0 if that is unknown.
    """

    name: str
    seconds: float
    failure: str
    output: str = ""
    flaky: str = ""
    node: str = ""
    cpu_s: float = 0.0
    circle: str = ""


@dataclass(frozen=True, slots=True)
class Lane:
    """How one run of a suite ended: its tests, failures that belong to no test, and its use of the machine.

    `cpu` is of all processes of the machine, `own_cpu_s` of those that the run started and waited for. `reruns` has a
    line for each load that ran again: the test, the reason and the message. `need_root` names tests that did not run.
    """

    name: str
    lanes: int
    tests: tuple[Test, ...]
    problems: tuple[str, ...]
    seconds: float
    cpu: CpuShares
    own_cpu_s: float = 0.0
    reruns: tuple[str, ...] = ()
    need_root: tuple[str, ...] = ()

    @property
    def passed(self) -> int:
        """How many tests passed."""
        return sum(not test.failure for test in self.tests)

    @property
    def failures(self) -> tuple[str, ...]:
        """A sentence for everything that did not pass."""
        return (*(f"{test.name}: {test.failure}" for test in self.tests if test.failure), *self.problems)


@dataclass(frozen=True, slots=True)
class Given:
    """What a suite is given: its environment, and until when it may run, on the monotonic clock.

    A suite `beside` others takes what those leave of the CPUs, and its output is shown when it ends. Its report keeps
    what failed tests print, and, where it `keeps_output`, what all tests print.
    """

    environment: Mapping[str, str]
    give_up: float
    beside: bool = False
    keeps_output: bool = False


def run_suite(suite: Suite, given: Given) -> Iterator[Lane]:
    """Run the tests of the lanes, those that run alone, and once more those that failed."""
    lanes = list(_run_all(suite, given))
    yield from _run_again(suite, lanes, given)
    found = [test.name for lane in lanes for test in lane.tests]
    empty = [
        folder
        for folder in suite.folders
        if not any(module_of(folder) in name for name in found) and not _has_tests_left_out(folder)
    ]
    if empty and not any(lane.problems for lane in lanes):
        problems = tuple(f"{_shown(folder)}: no tests" for folder in empty)
        nothing = cpu_times().share_since(cpu_times())
        yield Lane(suite.name, 0, (), problems, 0.0, nothing)


def _run_all(suite: Suite, given: Given) -> Iterator[Lane]:
    folders = [_shown(folder) for folder in suite.folders]
    yield _run(suite.name, suite.lanes, folders, given, f"not {_ALONE}")
    files = [_shown(path) for folder in suite.folders for path in _files_of_tests_alone(folder)]
    if not files:
        return
    alone = _run(f"{suite.name} {_ALONE}", 1, files, given, _ALONE)
    tests = tuple(test for test in alone.tests if test.failure != _NOT_COLLECTED)  # the lanes have reported it already
    if tests or alone.problems or alone.need_root:
        yield replace(alone, tests=tests)


def _run_again(suite: Suite, lanes: list[Lane], given: Given) -> Iterator[Lane]:
    """Yield the lanes, whose tests are flaky where they failed and pass in a process of their own now."""
    failed = [test for lane in lanes for test in lane.tests if test.failure and test.node]
    again: dict[str, Lane] = {}
    talkative = replace(given, keeps_output=True)
    if len(failed) <= _MOST_RUN_AGAIN and not any(lane.problems for lane in lanes):
        for number, test in enumerate(failed, 1):
            again[test.node] = _run(f"{suite.name} again {number}", 1, [test.node], talkative)
    flaky = {node for node, lane in again.items() if lane.passed == 1 and not lane.failures}
    for lane in lanes:
        yield replace(lane, tests=tuple(_as_flaky(test) if test.node in flaky else test for test in lane.tests))
    yield from (replace(lane, tests=(), problems=()) for lane in again.values())


def _as_flaky(test: Test) -> Test:
    return replace(test, failure="", flaky=test.failure) if test.failure else test


def _files_of_tests_alone(folder: Path) -> list[Path]:
    """Return the files whose tests may have the mark: it is written where the test is.

    Collecting thousands of other tests again would take seconds in which the other cores are idle.
    """
    return [path for path in sorted(folder.rglob("test_*.py")) if f"mark.{_ALONE}" in path.read_text(encoding="utf-8")]


def _has_tests_left_out(folder: Path) -> bool:
    """Return whether a folder has tests that this circle or an ordinary user leaves out: it may have no others."""
    words = set(CIRCLE.marks.split()) - {"and", "not"} | ({"root"} if os.geteuid() else set())
    texts = [path.read_text(encoding="utf-8") for path in folder.rglob("test_*.py")]
    return any(f"mark.{word}" in text for text in texts for word in words)


def _run(name: str, lanes: int, tests: Sequence[str], given: Given, mark: str = "") -> Lane:
    """Run tests, named as pytest does."""
    marks = " and ".join(filter(None, (mark, CIRCLE.marks)))
    options = ["--lanes", str(lanes), *(["-m", marks] if marks else [])]
    report = REPORTS / f"{name.replace('/', '-').replace(' ', '-')}.xml"
    command = [
        str(_PYTEST),
        "-q",
        "--tb=short",
        "--continue-on-collection-errors",
        f"--junitxml={report}",
        "--override-ini=junit_logging=all",
        f"--override-ini=junit_log_passing_tests={given.keeps_output}",
        *options,
        *tests,
    ]
    title = f"\n$ {shlex.join(['pytest', *options, *tests])}"
    began, cpu = time.monotonic(), cpu_times()
    reruns = report.with_suffix(".reruns")  # with a line per load that ran again
    environment = {**given.environment, "SSHLOAD_RERUNS_FILE": str(reruns)}
    if given.beside:
        with TemporaryFile("w+") as output:
            code, own_cpu_s = ended([*_BESIDE, *command], environment, given.give_up - began, output)
            output.seek(0)
            print(f"{title}\n{output.read()}", flush=True)
    else:
        print(title, flush=True)
        code, own_cpu_s = ended(command, environment, given.give_up - began)
    found, problems, need_root = _result(report, code, name)
    if time.monotonic() >= given.give_up:
        problems = (*problems, f"{name}: its layer took longer than it may take, and was killed")
    shares = cpu_times().share_since(cpu)
    seconds = time.monotonic() - began
    return Lane(name, lanes, found, problems, seconds, shares, own_cpu_s, _lines(reruns), need_root)


def ended(
    command: Sequence[str], environment: Mapping[str, str], limit_s: float, output: IO[str] | None = None
) -> tuple[int, float]:
    """Return a command's exit code and CPU time. What takes too long is ended with all that it started, then killed.

    What it leaves behind is killed: a program that a lane started may outlive the lane.

    It is started in a thread: the handler of a signal raises in the main one, perhaps after the start of a process and
    before the note that it is under way.
    """
    with ThreadPoolExecutor(1) as apart:
        return apart.submit(_ended, command, environment, limit_s, output).result()


def _ended(
    command: Sequence[str], environment: Mapping[str, str], limit_s: float, output: IO[str] | None
) -> tuple[int, float]:
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output and subprocess.STDOUT,
        start_new_session=True,
    )
    _under_way.add(process.pid)
    if _is_over.is_set():
        _signal(process.pid, signal.SIGKILL)
    timers = [
        threading.Timer(max(limit_s, 1) + later_s, _signal, (process.pid, number))
        for later_s, number in ((0, signal.SIGTERM), (_END_LIMIT_S, signal.SIGKILL))
    ]
    for timer in timers:
        timer.daemon = True
        timer.start()
    _, status, used = os.wait4(process.pid, 0)
    _under_way.remove(process.pid)
    _signal(process.pid, signal.SIGKILL)
    process.returncode = os.waitstatus_to_exitcode(status)
    for timer in timers:
        timer.cancel()
    return process.returncode, used.ru_utime + used.ru_stime


def end_all_at_signals() -> None:
    """Let who interrupts or terminates the run end what is under way: a session of its own hears of neither."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end_all)


def _end_all(number: int, _: object) -> None:
    _is_over.set()
    groups = tuple(_under_way)
    for group in groups:
        _signal(group, signal.SIGTERM)
    for group in groups:
        _await_end(group)
        _signal(group, signal.SIGKILL)
    sys.exit(128 + number)


def _await_end(pid: int) -> None:
    with suppress(ProcessLookupError):
        descriptor = os.pidfd_open(pid)
        select.select([descriptor], [], [], _END_LIMIT_S)
        os.close(descriptor)


def _signal(group: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)


def _result(report: Path, code: int, name: str) -> tuple[tuple[Test, ...], tuple[str, ...], tuple[str, ...]]:
    if not report.exists():
        return (), (f"{name}: pytest ended with exit code {code} and no report",), ()
    tests, need_root = tuple(read_report(report)), tuple(_need_root(report))
    is_explained = code in {0, _NO_TESTS_COLLECTED} or any(test.failure for test in tests)
    return tests, () if is_explained else (f"{name}: pytest ended with exit code {code}",), need_root


def read_report(report: Path) -> Iterator[Test]:
    """Yield the tests of a report by pytest; a test that failed in two ways counts once."""
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - pytest wrote it a moment ago
        name = f"{case.get('classname', '').removeprefix('tests.')}::{case.get('name')}"
        wrong = next((child for child in case if child.tag in {"failure", "error", "skipped"}), None)
        known = {str(one.get("name")): str(one.get("value")) for one in case.iter("property")}
        yield Test(
            name,
            float(case.get("time", 0)),
            "" if wrong is None else f"{wrong.tag}: {_first_line(wrong.get('message'))}",
            "" if wrong is None else _output(case, wrong),
            node="" if wrong is not None and wrong.tag == "skipped" else known.get("nodeid", ""),
            cpu_s=float(known.get("cpu_s", 0)),
            circle=known.get("circle", ""),
        )


def _output(case: ET.Element, wrong: ET.Element) -> str:
    """Return what a test printed, and then how it failed."""
    printed = [child.text or "" for child in case if child.tag in {"system-out", "system-err"}]
    return "\n".join(part.strip("\n") for part in (*printed, wrong.text or "") if part.strip())


def _need_root(report: Path) -> Iterator[str]:
    for one in ET.parse(report).iterfind("testsuite/properties/property"):  # noqa: S314 - see above
        if one.get("name") == "needs root":
            yield str(one.get("value"))


def _first_line(message: str | None) -> str:
    return next(iter((message or "").splitlines()), "")


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def module_of(folder: Path) -> str:
    """Return what the names of the tests of a folder or file have in common."""
    return ".".join(folder.relative_to(ROOT / "tests").with_suffix("").parts)


def _lines(file: Path) -> tuple[str, ...]:
    return tuple(file.read_text(encoding="utf-8").splitlines()) if file.exists() else ()


def slowest(lanes: Iterable[Lane], count: int) -> list[Test]:
    """Return the tests that took longest."""
    return sorted((test for lane in lanes for test in lane.tests), key=lambda test: -test.seconds)[:count]
