"""One iteration of the scenario: a session, its steps, and exactly one outcome, whatever happens."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sshload_contract.client import Timeouts
from sshload_contract.steps import ScenarioStep
from sshload_contract.vocabulary import Outcome

from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.sessions import Sessions
from sshload_worker.scenario.step_clock import Due, StepClock, classify_error
from sshload_worker.scenario.steps.dispatch import prepare_steps, run_step
from sshload_worker.scenario.steps.step_run import ForwardRule, StepRun

_HARMLESS = frozenset(
    (
        Outcome.OK,
        Outcome.EXIT_CODE,
        Outcome.NO_EXIT_STATUS,
        Outcome.KILLED_BY_SIGNAL,
        Outcome.CHANNEL_REFUSED,
        Outcome.RATE_LIMITED,
        Outcome.GATEWAY_BUSY,
        Outcome.GATEWAY_TIMEOUT,
        Outcome.BAD_GATEWAY,
        Outcome.GATEWAY_ERROR,
        Outcome.PROXY_ERROR,
        Outcome.REQUEST_REFUSED,
        Outcome.COMMAND_TIMEOUT,
        Outcome.OUTPUT_LIMIT,
        Outcome.CONNECTION_LOST,
    )
)
"""After these a session has no channel of a step open, and is as good as before."""


@dataclass(frozen=True, slots=True)
class Iteration:
    """The code of every iteration. TOTAL's latency counts from when it was due, the steps' from their own begin.

    `numbers` counts this worker's iterations. `task` is what a locustfile does in place of steps; it returns whether
    its user goes on.
    """

    worker: int
    sessions: Sessions
    steps: tuple[ScenarioStep, ...]
    timeouts: Timeouts
    recorder: Recorder
    numbers: Iterator[int]
    forward_rule: ForwardRule
    task: Callable[[StepRun, int | None], bool] | None = None

    def __post_init__(self) -> None:
        prepare_steps(self.steps)

    def run(self, due: Due, user: int | None = None) -> bool:
        """Run once and count it; return whether the user goes on.

        A kill of the greenlet ends the iteration as UNFINISHED, and goes on.
        """
        clock = StepClock(self.recorder, due)
        clock.begin()
        outcome, message = Outcome.OK, ""
        run = None
        goes_on = True
        try:
            connection = self.sessions.acquire(clock, user)
            number = f"{self.worker}-{next(self.numbers)}"
            run = StepRun(connection, clock, self.timeouts, number, self.forward_rule)
            if self.task is not None:
                goes_on = self.task(run, user)
            for step in self.steps:
                run_step(step, run)
            run.close()
        except BaseException as error:
            failure = classify_error(error)
            outcome, message = failure.outcome, failure.message
            if not isinstance(error, StepFailure | OSError):
                raise
        finally:
            clock.total(outcome, message)
            if run is not None:
                usable = outcome in _HARMLESS and not run.holds_subsystem
                self.sessions.release(run.connection, user, usable=usable)
        return goes_on
