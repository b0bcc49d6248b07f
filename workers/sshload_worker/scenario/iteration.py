"""One iteration of the scenario: a session, its steps, and exactly one outcome in any case."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sshload_contract.client import Timeouts
from sshload_contract.steps import ScenarioStep
from sshload_contract.vocabulary import Outcome, Trait

from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.sessions import Sessions
from sshload_worker.scenario.step_clock import Due, StepClock, classify_error
from sshload_worker.scenario.steps.dispatch import prepare_steps, run_step
from sshload_worker.scenario.steps.step_run import ForwardRule, StepRun


@dataclass(frozen=True, slots=True)
class Iteration:
    """Runs iterations. The latency of TOTAL counts from when the iteration was due, that of a step from its own start.

    `numbers` counts this worker's iterations. `choices` yields the steps of each, in the order in which they begin, out
    of `steps`; without it, each does all of them. `task` runs the task of a locustfile in place of steps, and returns
    whether its user continues.
    """

    worker: int
    sessions: Sessions
    steps: tuple[ScenarioStep, ...]
    timeouts: Timeouts
    recorder: Recorder
    numbers: Iterator[int]
    forward_rule: ForwardRule
    task: Callable[[StepRun, int | None], bool] | None = None
    choices: Iterator[tuple[ScenarioStep, ...]] | None = None

    def __post_init__(self) -> None:
        prepare_steps(self.steps)

    def run(self, due: Due, user: int | None = None) -> bool:
        """Run one iteration and count it; return whether the user continues.

        If the greenlet is killed, the iteration ends as UNFINISHED, and GreenletExit is raised again.
        """
        clock = StepClock(self.recorder, due)
        clock.begin()
        steps = self.steps if self.choices is None else next(self.choices)
        outcome, message = Outcome.OK, ""
        run = None
        continues = True
        try:
            connection = self.sessions.acquire(clock, user)
            number = f"{self.worker}-{next(self.numbers)}"
            run = StepRun(connection, clock, self.timeouts, number, self.forward_rule)
            if self.task is not None:
                continues = self.task(run, user)
            for step in steps:
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
                usable = Trait.KEEPS_SESSION in outcome.traits and not run.holds_subsystem
                self.sessions.release(run.connection, user, usable=usable)
        return continues
