"""StepRun: what the steps of an iteration use."""

from collections.abc import Callable
from typing import TypeVar

from sshload_contract.client import Timeouts
from sshload_contract.users import USER_MARK, is_read_otherwise
from sshload_contract.vocabulary import Outcome, Timing, measured_step

from sshload_worker.clients.interface import Connection, Course, Sftp
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.parts import Parts
from sshload_worker.scenario.step_clock import StepClock, TimeLimit

T = TypeVar("T")

ForwardRule = Callable[[str, int], str]
"""Returns why a server must not be asked to connect to a host and port ("is not among ..."), empty if it may be."""

ITERATION_MARK = "{iteration}"


class StepRun:
    """One iteration's connection and clock. `iteration` is unique among the iterations of the run.

    The user for whom the steps are done is the clock's, if they are done by a login.

    The steps of an iteration share one SFTP subsystem, which the first step that needs it opens.
    """

    __slots__ = ("_sftp", "clock", "connection", "forward_rule", "iteration", "timeouts")

    def __init__(
        self,
        connection: Connection,
        clock: StepClock,
        timeouts: Timeouts,
        iteration: str,
        forward_rule: ForwardRule,
    ) -> None:
        self.connection = connection
        self.clock = clock
        self.timeouts = timeouts
        self.iteration = iteration
        self.forward_rule = forward_rule
        self._sftp: Sftp | None = None

    def fill_in(self, text: str) -> str:
        """Return a path, command or text of the scenario with the iteration's number and the user's name filled in.

        Raises StepFailure for a name that a shell would read in another way than it is written.
        """
        filled = text.replace(ITERATION_MARK, self.iteration)
        login = self.clock.login
        if USER_MARK not in filled or login is None:
            return filled
        if is_read_otherwise(login.user):
            raise StepFailure(Outcome.GENERATOR_FAULT, f"{USER_MARK} stands for a name with a backslash")
        return filled.replace(USER_MARK, login.user)

    def time_part(self, name: str, step: str, call: Callable[[], T]) -> T:
        """Call `call`, and time it as a part of the step `name` if the client library can time parts."""
        return self.clock.timed(measured_step(name, step), call) if self.connection.times_parts else call()

    def count_success(self, parts: Parts, begin_ns: int, before_ns: tuple[int, ...], course: Course) -> None:
        """Count an operation that succeeded, and its parts if the client library can time them.

        It began at `begin_ns`. `before_ns` are the instants of its parts that come before those in `course`.
        """
        if self.connection.times_parts:
            instants_ns = (*before_ns, course.started_ns, course.output_end_ns, course.closed_ns)
            parts.count_success(self.clock, begin_ns, instants_ns, course.first_byte_ns)
        else:
            self.clock.succeeded(parts.whole, begin_ns, course.closed_ns)

    def count_failure(
        self, parts: Parts, begin_ns: int, before_ns: tuple[int, ...], course: Course, outcome: Outcome
    ) -> None:
        """Count an operation that failed, likewise. Instants that were not reached are 0."""
        if self.connection.times_parts:
            instants_ns = (*before_ns, course.started_ns, course.output_end_ns, course.closed_ns)
            parts.count_failure(self.clock, begin_ns, instants_ns, outcome, course.first_byte_ns)
        else:
            self.clock.record(parts.whole, begin_ns, outcome)

    def sftp(self, name: str) -> Sftp:
        """Return the iteration's SFTP subsystem. If it must be opened first, this is timed as a part of step `name`."""
        if self._sftp is None:
            with self.channel_limit(Timing.SUBSYSTEM):
                self._sftp = self.time_part(name, Timing.SUBSYSTEM, self.connection.open_sftp)
        return self._sftp

    @property
    def holds_subsystem(self) -> bool:
        """Whether the SFTP subsystem is open."""
        return self._sftp is not None

    def close(self) -> None:
        """Close what the steps shared, after all have succeeded; raises StepFailure if this fails."""
        if self._sftp is not None:
            with self.step_limit(Timing.CLOSE):
                self._sftp.close()
            self._sftp = None

    def channel_limit(self, step: str = Timing.CHANNEL_OPEN) -> TimeLimit:
        """Return the limit for opening a channel."""
        return TimeLimit(self.timeouts.channel_s, step)

    def step_limit(self, step: str) -> TimeLimit:
        """Return the limit for a step after its channel is open. `step` names it in the timeout's message."""
        return TimeLimit(self.timeouts.step_s, step)
