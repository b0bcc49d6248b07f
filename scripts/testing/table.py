"""The closing table of a test run: a row per lane, what was slow, what failed, and one line of counts."""

from collections.abc import Iterable
from dataclasses import dataclass

from testing.preparation import Preparation
from testing.pytest_run import Lane, slowest

_SLOWEST = 10
_HEADER = (
    f"{'suite':<26} {'lanes':>5} {'tests':>6} {'failed':>6} {'seconds':>8} {'idle':>6} {'stolen':>7} {'reruns':>7}"
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one layer ended: its lanes, failures that are of no lane, its duration and its budget."""

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
    """Return how many tests passed and how many failed, as the last line of a test run has it."""
    ended = list(outcomes)
    return f"{sum(one.passed for one in ended)} passed, {sum(len(one.failures) for one in ended)} failed"


def table(outcomes: list[Outcome], preparation: Preparation, seconds: float) -> str:
    """Return the closing table, with the slowest tests, the reruns, the failures and the exceeded budgets below."""
    lanes = [lane for outcome in outcomes for lane in outcome.lanes]
    lines = ["", _HEADER]
    lines += [_row(lane) for lane in lanes]
    lines += [_preparation(preparation), f"in all {seconds:.0f} s", "", f"the {_SLOWEST} slowest tests"]
    lines += [f"{test.seconds:>8.1f} s  {test.name}" for test in slowest(lanes, _SLOWEST)]
    reruns = [f"  {rerun}" for lane in lanes for rerun in lane.reruns]
    lines += ["", "loads that ran again", *reruns] if reruns else []
    failures = [f"  {one.layer}: {failure}" for one in outcomes for failure in one.failures]
    lines += ["", *failures] if failures else []
    lines += [
        f"{one.layer} took {one.seconds:.0f} s; its budget is {one.budget_s} s"
        for one in outcomes
        if one.seconds > one.budget_s
    ]
    return "\n".join([*lines, "", counts(outcomes)])


def _row(lane: Lane) -> str:
    return (
        f"{lane.name:<26} {lane.lanes:>5} {len(lane.tests):>6} {len(lane.failures):>6} {lane.seconds:>8.1f} "
        f"{lane.cpu.idle:>6.0%} {lane.cpu.stolen:>7.0%} {len(lane.reruns):>7}"
    )


def _preparation(preparation: Preparation) -> str:
    each = ", ".join(f"{name} {took:.0f} s" for name, took in preparation.seconds.items())
    took_s, waited_s = sum(preparation.seconds.values()), preparation.waited_s
    return f"preparation took {took_s:.0f} s, and layers waited {waited_s:.0f} s for it: {each or 'nothing to prepare'}"
