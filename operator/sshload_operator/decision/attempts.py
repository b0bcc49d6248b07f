"""What was tried, and how much of it failed: iterations, and the sessions that were to be held."""

from dataclasses import dataclass

from sshload_contract.run_config import HoldLoad
from sshload_contract.run_summary import RunSummary
from sshload_contract.vocabulary import Step, Window, measured_step

from sshload_operator.planning.plan import Plan

_HELD_TO_THE_END = measured_step("held", Step.HOLD)


@dataclass(frozen=True, slots=True)
class Attempts:
    """Attempts of the measured window that ended, and those of them that failed."""

    ended: int
    failed: int

    @property
    def error_rate(self) -> float | None:
        """The share of failures, None where nothing ended."""
        return self.failed / self.ended if self.ended else None


def attempts(plan: Plan, summary: RunSummary) -> Attempts:
    """Return all attempts: every iteration, and every session that was to be held, which fails if it is not to the end.

    A held session has failed by whatever kept it from that: its login, a jump host's, or its loss.
    """
    load, held = summary.load, held_sessions(plan, summary)
    return Attempts(load.succeeded + load.failed + held.ended, load.failed + held.failed)


def held_sessions(plan: Plan, summary: RunSummary) -> Attempts:
    """Return the sessions that were to be held, none for any load but hold."""
    if not isinstance(plan.spec.load, HoldLoad):
        return Attempts(0, 0)
    asked = plan.spec.load.sessions
    to_the_end = sum(
        step.count for step in summary.steps if step.step == _HELD_TO_THE_END and step.window is Window.MEASURED
    )
    return Attempts(asked, max(0, asked - to_the_end))
