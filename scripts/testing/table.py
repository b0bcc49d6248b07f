"""The closing table of a test run: a row per lane, what was slow, what failed, and one line of counts."""

from collections.abc import Iterable
from dataclasses import dataclass

from testing.layers import FIXED_WORK_S
from testing.preparation import Preparation
from testing.pytest_run import Lane, slowest

_SLOWEST = 10
_HEADER = (
    f"{'suite':<26} {'lanes':>5} {'tests':>6} {'failed':>6} {'seconds':>8} {'cpu s':>7} {'idle':>6} {'stolen':>7} "
    f"{'reruns':>7}"
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one layer ended: its lanes, failures that belong to no lane, its duration and its budget."""

    layer: str
    lanes: tuple[Lane, ...]
    problems: tuple[str, ...]
    seconds: float
    budget_s: int

    @property
    def passed(self) -> int:
        """How many tests passed."""
        return sum(lane.passed for lane in self.lanes)

    @property
    def failures(self) -> tuple[str, ...]:
        """A sentence for everything that did not pass."""
        return (*(failure for lane in self.lanes for failure in lane.failures), *self.problems)


def counts(outcomes: Iterable[Outcome]) -> str:
    """Return how many tests passed and how many failed, for the last line of a test run."""
    ended = list(outcomes)
    return f"{sum(one.passed for one in ended)} passed, {sum(len(one.failures) for one in ended)} failed"


def table(outcomes: list[Outcome], preparation: Preparation, seconds: float, fixed_work_s: float) -> str:
    """Return the closing table, with the slowest tests, the reruns, the failures and the exceeded budgets below.

    Budgets are scaled by `fixed_work_s`, the CPU time that the machine needs for the fixed piece of work.
    """
    slowness = fixed_work_s / FIXED_WORK_S
    lanes = [lane for outcome in outcomes for lane in outcome.lanes]
    lines = ["", _HEADER]
    lines += [_row(lane) for lane in lanes]
    lines += [_preparation(preparation), _in_all(lanes, seconds, fixed_work_s), "", f"the {_SLOWEST} slowest tests"]
    lines += [f"{test.seconds:>8.1f} s  {test.name}" for test in slowest(lanes, _SLOWEST)]
    reruns = [f"  {rerun}" for lane in lanes for rerun in lane.reruns]
    lines += ["", "loads that ran again", *reruns] if reruns else []
    failures = [f"  {one.layer}: {failure}" for one in outcomes for failure in one.failures]
    lines += ["", *failures] if failures else []
    lines += [
        f"{one.layer} took {one.seconds:.0f} s; its budget is {one.budget_s * slowness:.0f} s on CPUs of this speed"
        for one in outcomes
        if one.seconds > one.budget_s * slowness
    ]
    return "\n".join([*lines, "", counts(outcomes)])


def _row(lane: Lane) -> str:
    return (
        f"{lane.name:<26} {lane.lanes:>5} {len(lane.tests):>6} {len(lane.failures):>6} {lane.seconds:>8.1f} "
        f"{lane.cpu.busy_s(lane.seconds):>7.0f} {lane.cpu.idle:>6.0%} {lane.cpu.stolen:>7.0%} {len(lane.reruns):>7}"
    )


def _in_all(lanes: list[Lane], seconds: float, fixed_work_s: float) -> str:
    busy_s = sum(lane.cpu.busy_s(lane.seconds) for lane in lanes)
    return (
        f"in all {seconds:.0f} s, {busy_s:.0f} s of CPU in the suites, "
        f"{busy_s / fixed_work_s:.0f} times the fixed piece of work, which took {fixed_work_s:.3f} s of CPU"
    )


def _preparation(preparation: Preparation) -> str:
    each = ", ".join(f"{name} {took:.0f} s" for name, took in preparation.seconds.items())
    took_s, waited_s = sum(preparation.seconds.values()), preparation.waited_s
    return f"preparation took {took_s:.0f} s, and layers waited {waited_s:.0f} s for it: {each or 'nothing to prepare'}"
