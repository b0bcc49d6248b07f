"""StepRun: what a step of a scenario works with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from sshload_contract.run_config import Timeouts
from sshload_contract.vocabulary import Step, measured_step

from sshload_worker.clients.interface import Connection
from sshload_worker.scenario.step_clock import StepClock
from sshload_worker.scenario.time_limit import TimeLimit

T = TypeVar("T")

ITERATION_MARK = "{iteration}"


@dataclass(frozen=True, slots=True)
class StepRun:
    """One iteration's connection and clock. `iteration` is a number that no other iteration of the run has."""

    connection: Connection
    clock: StepClock
    timeouts: Timeouts
    iteration: str

    def filled(self, text: str) -> str:
        """Return a path, command or text of the scenario with the iteration's number in it."""
        return text.replace(ITERATION_MARK, self.iteration)

    def part(self, name: str, step: Step, call: Callable[[], T]) -> T:
        """Time a part of the step `name`, where the client library can tell parts apart."""
        return self.clock.timed(measured_step(name, step), call) if self.connection.times_parts else call()

    def channel_limit(self) -> TimeLimit:
        """Bound what opens a channel."""
        return TimeLimit(self.timeouts.channel_s, Step.CHANNEL_OPEN)

    def step_limit(self) -> TimeLimit:
        """Bound all of a step after its channel is open."""
        return TimeLimit(self.timeouts.step_s, Step.EXEC)
