"""The closing table of a test run: a row per lane, what was slow or flaky, what failed, and one line of counts."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from testing.circles import Circle
from testing.layers import FIXED_WORK_S, QUICK_CPU_S
from testing.machine import CpuShares
from testing.preparation import Preparation
from testing.pytest_run import REPORTS, Lane, Test, slowest

_SLOWEST = 10
_MOST_SHOWN = 40
"""Of how many failures the output is shown, and how many of its last lines; the rest is in the reports."""
_HEADER = (
    f"{'suite':<26} {'lanes':>5} {'tests':>6} {'failed':>6} {'seconds':>8} {'cpu s':>7} {'own s':>7} {'idle':>6} "
    f"{'stolen':>7} {'reruns':>7}"
)
"""`cpu s` is the time that the machine's CPUs were busy, `own s` that of the processes that the suite waited for.

Of suites that run side by side each has all that the machine did meanwhile.
"""


@dataclass(frozen=True, slots=True)
class Whole:
    """The whole run: how long it took, what the machine's CPUs did, and their CPU time for the fixed piece of work."""

    seconds: float
    cpu: CpuShares
    fixed_work_s: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one layer ended: its lanes, failures that belong to no lane, what is known of those, its duration and budget.

    `left_to_root` says why the whole layer did not run, where only root can prepare what it needs. `is_quick` says that
    it belongs to the quick circle, in which each test that takes long is marked.
    """

    layer: str
    lanes: tuple[Lane, ...]
    problems: tuple[str, ...]
    seconds: float
    budget_s: float
    output: str = ""
    left_to_root: tuple[str, ...] = ()
    is_quick: bool = False

    @property
    def tests(self) -> tuple[Test, ...]:
        """Its tests."""
        return tuple(test for lane in self.lanes for test in lane.tests)

    @property
    def passed(self) -> int:
        """How many tests passed."""
        return sum(lane.passed for lane in self.lanes)

    @property
    def failures(self) -> tuple[str, ...]:
        """A sentence for everything that did not pass."""
        return (*(failure for lane in self.lanes for failure in lane.failures), *self.problems)

    @property
    def need_root(self) -> tuple[str, ...]:
        """The names of tests, or that of the whole layer, that did not run, because only root can run them."""
        return (*(name for lane in self.lanes for name in lane.need_root), *self.left_to_root)


def counts(outcomes: Iterable[Outcome]) -> str:
    """Return how many tests passed, failed, passed when they ran again, and need root: the last line of a test run."""
    ended = list(outcomes)
    flaky = sum(bool(test.flaky) for one in ended for test in one.tests)
    need_root = sum(len(one.need_root) for one in ended)
    parts = [
        f"{sum(one.passed for one in ended)} passed",
        f"{sum(len(one.failures) for one in ended)} failed",
        *([f"{flaky} flaky"] if flaky else []),
        *([f"{need_root} not run: they need root"] if need_root else []),
    ]
    return ", ".join(parts)


def table(outcomes: list[Outcome], preparation: Preparation, whole: Whole) -> str:
    """Return the closing table, and below it what is to be said of single tests: last, how each failure came about.

    Budgets are scaled by the CPU time that the machine needs for the fixed piece of work.
    """
    slowness = whole.fixed_work_s / FIXED_WORK_S
    lanes = [lane for outcome in outcomes for lane in outcome.lanes]
    lines = ["", _HEADER]
    lines += [_row(lane) for lane in lanes]
    lines += [_preparation(preparation), _in_all(lanes, whole), "", f"the {_SLOWEST} slowest tests"]
    lines += [f"{test.seconds:>8.1f} s  {test.name}" for test in slowest(lanes, _SLOWEST)]
    lines += _titled("loads that ran again", (rerun for lane in lanes for rerun in lane.reruns))
    lines += _titled(f"above {QUICK_CPU_S} s of CPU, and not marked slow", _not_marked(outcomes, slowness))
    lines += _titled("not run: they need root", (name for one in outcomes for name in one.need_root))
    lines += _titled("flaky: failed, and passed when they ran again, alone", _flaky(outcomes))
    over = [
        f"{one.layer} took {one.seconds:.0f} s; its budget is {one.budget_s * slowness:.0f} s on CPUs of this speed"
        for one in outcomes
        if one.seconds > one.budget_s * slowness
    ]
    lines += ["", *over] if over else []
    return "\n".join([*lines, *how_it_failed(outcomes), "", f"reports as JUnit's XML: {REPORTS}", counts(outcomes)])


def _titled(title: str, lines: Iterable[str]) -> list[str]:
    """Return lines below a title, nothing where there are none."""
    found = [f"  {line}" for line in lines]
    return ["", title, *found] if found else []


def _not_marked(outcomes: Iterable[Outcome], slowness: float) -> Iterator[str]:
    for test in (test for one in outcomes if one.is_quick for test in one.tests):
        if test.circle == Circle.QUICK.value and test.cpu_s > QUICK_CPU_S * slowness:
            yield f"{test.cpu_s:.2f} s  {test.name}"


def _flaky(outcomes: Iterable[Outcome]) -> Iterator[str]:
    return (f"{test.name}: {test.flaky}" for one in outcomes for test in one.tests if test.flaky)


def how_it_failed(outcomes: Iterable[Outcome]) -> list[str]:
    """Return each failure, and the last lines of what is known of it."""
    known = [
        (f"{one.layer}: {failure}", output)
        for one in outcomes
        for failure, output in (
            *((f"{test.name}: {test.failure}", test.output) for test in one.tests if test.failure),
            *((problem, "") for lane in one.lanes for problem in lane.problems),
            *((problem, one.output) for problem in one.problems),
        )
    ]
    lines = []
    for number, (failure, output) in enumerate(known):
        shown = output.splitlines()[-_MOST_SHOWN:] if number < _MOST_SHOWN else []
        lines += ["", f"failed: {failure}", *(f"  {line}" for line in shown)]
    return lines


def _row(lane: Lane) -> str:
    return (
        f"{lane.name:<26} {lane.lanes:>5} {len(lane.tests):>6} {len(lane.failures):>6} {lane.seconds:>8.1f} "
        f"{lane.cpu.busy_s(lane.seconds):>7.1f} {lane.own_cpu_s:>7.1f} {lane.cpu.idle:>6.0%} {lane.cpu.stolen:>7.0%} "
        f"{len(lane.reruns):>7}"
    )


def _in_all(lanes: list[Lane], whole: Whole) -> str:
    busy_s, own_s = whole.cpu.busy_s(whole.seconds), sum(lane.own_cpu_s for lane in lanes)
    return (
        f"in all {whole.seconds:.0f} s, {whole.cpu.idle:.0%} idle, {busy_s:.0f} s of CPU, {own_s:.0f} s of it by the "
        f"suites' own processes, {busy_s / whole.fixed_work_s:.0f} times the fixed piece of work, which took "
        f"{whole.fixed_work_s:.3f} s of CPU"
    )


def _preparation(preparation: Preparation) -> str:
    each = ", ".join(f"{name} {took:.0f} s" for name, took in preparation.seconds.items())
    took_s, waited_s = sum(preparation.seconds.values()), preparation.waited_s
    return f"preparation took {took_s:.0f} s, and layers waited {waited_s:.0f} s for it: {each or 'nothing to prepare'}"
