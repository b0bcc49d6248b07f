"""StepClock: times the steps of one iteration and remembers in which of them it failed."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic_ns
from typing import TypeVar

from gevent import GreenletExit
from sshload_contract.vocabulary import Outcome, Step, Window

from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.time_limit import TimeLimit

T = TypeVar("T")

_NS_PER_US = 1_000
_OK = Outcome.OK
_TOTAL = str(Step.TOTAL)


@dataclass(frozen=True, slots=True)
class Due:
    """When an iteration is due and when its window ends, as monotonic nanoseconds."""

    at_ns: int
    window: Window
    window_end_ns: int


class StepClock:
    """Times steps, nested ones too (a login and its kex), each ending in exactly one outcome."""

    __slots__ = ("_due", "_failed_step", "_recorder", "_window")

    def __init__(self, recorder: Recorder, due: Due) -> None:
        self._recorder = recorder
        self._due = due
        self._window = due.window
        self._failed_step = ""

    def timed(self, name: str, call: Callable[[], T]) -> T:
        """Run `call` and count how long it took and how it ended."""
        begin_ns = monotonic_ns()
        try:
            result = call()
        except BaseException as error:
            self.record(name, begin_ns, _outcome(error))
            raise
        self._recorder.sample(name, self._window, _OK, (monotonic_ns() - begin_ns) // _NS_PER_US)
        return result

    def record(self, name: str, begin_ns: int, outcome: Outcome) -> None:
        """Count a step that began at `begin_ns` and ends now. The innermost failing step is remembered."""
        self._recorder.sample(name, self._window, outcome, (monotonic_ns() - begin_ns) // _NS_PER_US)
        if outcome is not _OK and not self._failed_step:
            self._failed_step = name

    def transferred(self, name: str, count: int) -> None:
        """Count bytes of payload that the step `name` has moved."""
        self._recorder.transferred(name, self._due.window, count)

    def total(self, outcome: Outcome, message: str) -> None:
        """Count the whole iteration, from when it was due until now, and where it failed, if it did."""
        self.record(_TOTAL, self._due.at_ns, outcome)
        if outcome is not Outcome.OK:
            self._recorder.failure(self._failed_step, self._due.window, outcome, message)
        self._recorder.ended(self._due.window, outcome, inside=monotonic_ns() <= self._due.window_end_ns)


def _outcome(error: BaseException) -> Outcome:
    """Return how a step ended that an error left, or the time limit of a step that it is a part of."""
    if isinstance(error, StepFailure | TimeLimit):
        return error.outcome
    return Outcome.UNFINISHED if isinstance(error, GreenletExit) else Outcome.GENERATOR_FAULT
