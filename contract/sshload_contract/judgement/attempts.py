"""What was tried, and how much of it failed: iterations, and the sessions that were to be held."""

from dataclasses import dataclass

from sshload_contract.load import Load
from sshload_contract.run_summary import RunSummary
from sshload_contract.vocabulary import Step, Window, measured_step

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


def attempts(load: Load, summary: RunSummary) -> Attempts:
    """Return all attempts: every iteration, and every session that was to be held, which fails if it is not to the end.

    A held session has failed by whatever kept it from that: its login, a jump host's, or its loss.
    """
    iterations, held = summary.load, held_sessions(load, summary)
    return Attempts(iterations.succeeded + iterations.failed + held.ended, iterations.failed + held.failed)


def held_sessions(load: Load, summary: RunSummary) -> Attempts:
    """Return the sessions that were to be held, none for any load but hold."""
    asked = load.held_sessions
    to_the_end = sum(
        step.count for step in summary.steps if step.step == _HELD_TO_THE_END and step.window is Window.MEASURED
    )
    return Attempts(asked, max(0, asked - to_the_end))
