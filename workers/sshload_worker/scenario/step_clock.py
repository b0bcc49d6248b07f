"""StepClock: times the steps of one iteration and remembers in which of them it failed."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic_ns
from typing import TypeVar

from gevent import GreenletExit
from sshload_contract.vocabulary import Outcome, Step, Window

from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.time_limit import TimeLimitReached

T = TypeVar("T")
_NS_PER_US = 1_000
_OK = Outcome.OK
_TOTAL = str(Step.TOTAL)


@dataclass(frozen=True, slots=True)
class Due:
    """When an iteration is due and when its window ends, as monotonic nanoseconds.

    In a load with several stages, `stage` is the one in which it is due, counted from 1, and ends at `stage_end_ns`.
    """

    at_ns: int
    window: Window
    window_end_ns: int
    stage: int = 0
    stage_end_ns: int = 0


class StepClock:
    """Times steps, nested ones too (a login and its kex), each ending in exactly one outcome."""

    __slots__ = ("_due", "_failed_step", "_recorder", "_window")

    def __init__(self, recorder: Recorder, due: Due) -> None:
        self._recorder = recorder
        self._due = due
        self._window = due.window
        self._failed_step = ""

    @property
    def failed_step(self) -> str:
        """The innermost step that failed, empty where none has."""
        return self._failed_step

    def timed(self, name: str, call: Callable[[], T]) -> T:
        """Run `call` and count how long it took and how it ended."""
        begin_ns = monotonic_ns()
        try:
            result = call()
        except BaseException as error:
            self.record(name, begin_ns, classify_error(error).outcome)
            raise
        self._succeeded(name, begin_ns)
        return result

    def record(self, name: str, begin_ns: int, outcome: Outcome, stage: int = 0) -> None:
        """Count a step that began at `begin_ns` and ends now. The innermost failing step is remembered."""
        if outcome is _OK:
            self._succeeded(name, begin_ns, stage)
            return
        self._recorder.sample(name, self._window, outcome, (monotonic_ns() - begin_ns) // _NS_PER_US, stage)
        self._failed_step = self._failed_step or name

    def transferred(self, name: str, count: int) -> None:
        """Count bytes of payload that the step `name`, which has just succeeded, has moved."""
        self._recorder.transferred(name, self._window, count)
        if not self._is_inside(monotonic_ns()):
            self._recorder.transferred_late(name, self._window, count)

    def sibling(self) -> "StepClock":
        """Return a clock for what is done beside the iteration, but counts in the same window."""
        return StepClock(self._recorder, self._due)

    def mark_failed(self, name: str) -> None:
        """Remember the step `name` as the one that failed, where it is not one of those timed here."""
        self._failed_step = self._failed_step or name

    def failed(self, outcome: Outcome, message: str) -> None:
        """Count a failure in the step that failed."""
        self._recorder.failure(self._failed_step, self._window, outcome, message)

    def total(self, outcome: Outcome, message: str) -> None:
        """Count the whole iteration, from when it was due until now, and where it failed, if it did."""
        due = self._due
        self.record(_TOTAL, due.at_ns, outcome, due.stage)
        if outcome is not Outcome.OK:
            self.failed(outcome, message)
        now_ns = monotonic_ns()
        inside = self._is_inside(now_ns)
        in_stage = inside and now_ns <= due.stage_end_ns
        self._recorder.ended(self._window, outcome, inside=inside, stage=due.stage, inside_stage=in_stage)

    def _succeeded(self, name: str, begin_ns: int, stage: int = 0) -> None:
        now_ns = monotonic_ns()
        self._recorder.sample(name, self._window, _OK, (now_ns - begin_ns) // _NS_PER_US, stage)
        if not self._is_inside(now_ns):
            self._recorder.succeeded_late(name, self._window)

    def _is_inside(self, now_ns: int) -> bool:
        """Return whether the window is still open."""
        return now_ns <= self._due.window_end_ns and now_ns <= self._recorder.closed_ns


def classify_error(error: BaseException) -> StepFailure:
    """Return the outcome of what ended in `error`, and what to say about it.

    It is never `error` itself: who keeps an error in a variable makes a cycle of it, its traceback and its frames. Then
    the collector of garbage frees a session and its channels in any order, on which libssh2 crashes.
    """
    match error:
        case StepFailure():
            return StepFailure(error.outcome, error.message)
        case TimeLimitReached():
            return error.failure
        case GreenletExit():
            return StepFailure(Outcome.UNFINISHED, "still running at the end of the drain")
        case OSError():
            return StepFailure(Outcome.GENERATOR_FAULT, f"no socket to be had: {error.strerror}")
    return StepFailure(Outcome.GENERATOR_FAULT, "the worker met an error of its own: its log has the traceback")
