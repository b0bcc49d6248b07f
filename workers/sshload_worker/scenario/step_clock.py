"""How long steps take, and how long they may take: StepClock and TimeLimit.

Nearly all limits end long before they are reached, so the cost that matters is that of a limit that is not reached.
Limits of the same length are reached in the order in which they began. So one timer for each length watches them all.
It fires when the limit that was the oldest at its last check may be reached.
"""

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic, monotonic_ns
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from gevent import GreenletExit, get_hub, getcurrent
from gevent.timeout import Timeout
from sshload_contract.error_text import reason_of
from sshload_contract.users import USER_MARK
from sshload_contract.vocabulary import Outcome, Timing, Window

from sshload_worker.outcomes import StepFailure, timeout_outcome
from sshload_worker.recording.recorder import Recorder, Spans

if TYPE_CHECKING:
    from sshload_worker.login.login import Login

T = TypeVar("T")
TURNS_TO_SERVE = 8
"""In so many turns of its loop a worker has served what had arrived before them.

It takes one turn to read a socket, and one for each greenlet or asyncio task that passes on what was read.
"""

_NS_PER_US = 1_000
_OK = Outcome.OK
_TOTAL = str(Timing.TOTAL)
_DELAY = Spans((str(Timing.START_DELAY),), ((0, 1),))
_WHOLE = Spans((_TOTAL,), ((0, 1),))


class TimeLimitReached(Timeout):
    """Is raised in code that takes longer than `limit`. Everything but that limit sees it as a gevent Timeout."""

    def __init__(self, limit: "TimeLimit") -> None:
        super().__init__()
        self.limit = limit
        self.failure = limit.failure


class TimeLimit:
    """A context that raises StepFailure if its body takes longer. Limits may nest; each ends its own body."""

    __slots__ = ("_greenlet", "_row", "_seconds", "_step", "end_s")

    def __init__(self, seconds: float, step: str) -> None:
        self._seconds, self._step = seconds, step

    @property
    def failure(self) -> StepFailure:
        """How a step ends if it reaches this limit."""
        return StepFailure(timeout_outcome(self._step), f"{self._step} took longer than {self._seconds:g} s")

    def __enter__(self) -> Self:
        self._greenlet = getcurrent()
        self._begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._row.limits.pop(self, None)
        if isinstance(value, TimeLimitReached) and value.limit is self:
            raise self.failure from None

    def go_on(self, seconds: float, step: str) -> None:
        """Replace this limit by another one, which begins now, for the rest of the body."""
        self._row.limits.pop(self, None)
        self._seconds, self._step = seconds, step
        self._begin()

    def _begin(self) -> None:
        row = self._row = _ROWS.get(self._seconds) or _new_row(self._seconds)
        self.end_s = monotonic() + self._seconds
        row.limits[self] = None
        if not row.is_watched:
            row.watch(row.seconds)

    def cut_off(self) -> None:
        """End the body; return when its greenlet waits again, or has ended."""
        self._greenlet.throw(TimeLimitReached(self))


class Deadline(TimeLimit):
    """A limit that no greenlet waits in: when it is reached, the loop calls `reached` with the failure."""

    __slots__ = ("_reached",)

    def __init__(self, seconds: float, step: str, reached: Callable[[StepFailure], None]) -> None:
        super().__init__(seconds, step)
        self._reached = reached
        self._begin()

    def cancel(self) -> None:
        """Stop watching the limit."""
        self._row.limits.pop(self, None)

    def cut_off(self) -> None:
        """Report that the limit is reached."""
        self._reached(self.failure)


class _Row:
    """The limits of one length that are in force, oldest first.

    A limit is believed only some turns of the loop after it was reached: what had arrived before is served first.
    Otherwise, after a pause of the process, the limits would cut off steps whose answers have been here in time.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.limits: dict[TimeLimit, None] = {}
        self.is_watched = False
        self._checked_s = deque([0.0] * TURNS_TO_SERVE, TURNS_TO_SERVE)

    def watch(self, for_s: float) -> None:
        """Check the limits in `for_s` seconds, and not in this turn of the loop."""
        self.is_watched = True
        timer = get_hub().loop.timer(for_s)
        timer.start(self._check, timer, update=True)

    def _check(self, timer: Any) -> None:
        timer.close()
        served_s, now_s = self._checked_s[0], monotonic()
        self._checked_s.append(now_s)
        while self.limits:
            oldest = next(iter(self.limits))
            if oldest.end_s > served_s:
                self.watch(max(oldest.end_s - now_s, 0))
                return
            del self.limits[oldest]
            oldest.cut_off()
        self.is_watched = False


_ROWS: dict[float, _Row] = {}


def _new_row(seconds: float) -> _Row:
    return _ROWS.setdefault(seconds, _Row(seconds))


@dataclass(slots=True)
class Due:
    """When an iteration is due, as monotonic nanoseconds, and in which window: its latencies and outcomes count there.

    It is never changed, but not frozen, because a frozen one takes several times as long to make, and each iteration
    has one. In a load with several stages, `stage` is the one in which the iteration is due, counted from 1. `turn`
    finds the user of a population who logs in for it.
    """

    at_ns: int
    window: Window
    stage: int = 0
    turn: int = field(default=0, compare=False)


class StepClock:
    """Times steps, including nested ones (a login and its kex). Each ends in exactly one outcome.

    `turn` is whose turn a login is, and `login` that of the user for whom all is done, None before there is one.
    """

    __slots__ = ("_due", "_failed_ns", "_failed_step", "_recorder", "_succeeded_ns", "_window", "login", "turn")

    def __init__(self, recorder: Recorder, due: Due) -> None:
        self._recorder = recorder
        self._due = due
        self._window = due.window
        self._failed_step = ""
        self._failed_ns = due.at_ns
        self._succeeded_ns = 0
        self.turn = due.turn
        self.login: Login | None = None

    @property
    def failed_step(self) -> str:
        """The innermost step that failed, empty if none has."""
        return self._failed_step

    def begin(self) -> None:
        """Count that the iteration begins now, and how long after it was due."""
        due, recorder, now_ns = self._due, self._recorder, monotonic_ns()
        recorder.started(self._window, now_ns - due.at_ns, due.stage)
        self.operation(_DELAY, (due.at_ns, now_ns))

    def timed(self, name: str, call: Callable[[], T]) -> T:
        """Run `call` and count how long it took and how it ended."""
        begin_ns = monotonic_ns()
        try:
            result = call()
        except BaseException as error:
            self.record(name, begin_ns, classify_error(error).outcome)
            raise
        self.succeeded(name, begin_ns, monotonic_ns())
        return result

    def operation(self, spans: Spans, instants_ns: tuple[int, ...]) -> None:
        """Count the timings of an operation that succeeded. The last of its instants is its end."""
        self._recorder.operation(spans, self._window, instants_ns)
        self._succeeded_ns = instants_ns[-1]

    def succeeded(self, name: str, begin_ns: int, end_ns: int) -> None:
        """Count a step that succeeded, from `begin_ns` to `end_ns`."""
        self._succeeded_ns = end_ns
        self._recorder.sample(name, self._window, _OK, (end_ns - begin_ns) // _NS_PER_US)
        self._recorder.succeeded(name, end_ns)

    def reported(self, name: str, took_ns: int) -> None:
        """Count a duration that another machine reported, of something that ended with the step just counted."""
        self._recorder.sample(name, self._window, _OK, took_ns // _NS_PER_US)
        self._recorder.succeeded(name, self._succeeded_ns)

    def record(self, name: str, begin_ns: int, outcome: Outcome) -> None:
        """Count a step that began at `begin_ns` and ends now. The innermost failing step is remembered."""
        if outcome is _OK:
            self.succeeded(name, begin_ns, monotonic_ns())
            return
        self._recorder.sample(name, self._window, outcome, (monotonic_ns() - begin_ns) // _NS_PER_US)
        if not self._failed_step:
            self._failed_step, self._failed_ns = name, begin_ns

    def moved(self, name: str, count: int, since_ns: int = 0) -> None:
        """Count bytes that the step `name` moved until now: at once, or evenly since `since_ns`."""
        now_ns = monotonic_ns()
        self._recorder.moved(name, since_ns or now_ns, now_ns, count)

    def sibling(self, turn: int) -> "StepClock":
        """Return a clock for the login of another turn beside the iteration, which counts in the same window."""
        beside = StepClock(self._recorder, self._due)
        beside.turn = turn
        return beside

    def logged_in(self, took_ns: int) -> None:
        """Count that a user of a population has logged in."""
        if self.login is not None and self.login.place is not None:
            self._recorder.user_logged_in(self.login.place, self._window, took_ns // _NS_PER_US)

    def mark_failed(self, name: str) -> None:
        """Remember the step `name` as the one that failed, unless another one is remembered already."""
        self._failed_step = self._failed_step or name

    def failed(self, outcome: Outcome, message: str) -> None:
        """Count a failure, in the step that is remembered as failed, and of the user for whom it was done."""
        if self.login is not None and self.login.place is not None:
            self._recorder.user_failed(self.login.place, self._window, outcome)
            message = without_name(message, self.login.user)
        self._recorder.failure(self._failed_step, self._window, outcome, message, self._failed_ns)

    def total(self, outcome: Outcome, message: str) -> None:
        """Count the whole iteration, from when it was due until now, and the step that failed, if one did."""
        due, recorder, now_ns = self._due, self._recorder, monotonic_ns()
        if outcome is _OK:
            recorder.operation(_WHOLE, self._window, (due.at_ns, now_ns), due.stage)
        else:
            recorder.sample(_TOTAL, self._window, outcome, (now_ns - due.at_ns) // _NS_PER_US, due.stage)
            self.mark_failed(_TOTAL)
            self.failed(outcome, message)
        recorder.ended(self._window, outcome, now_ns, due.stage)


def without_name(message: str, user: str) -> str:
    """Return a message without the name of a user, which may be a person's, as a whole word."""
    return re.sub(rf"(?<![A-Za-z0-9_]){re.escape(user)}(?![A-Za-z0-9_])", USER_MARK, message)


def classify_error(error: BaseException) -> StepFailure:
    """Return the outcome of a step that raised `error`, and a message.

    The result is never `error` itself: an error in a variable forms a reference cycle with its traceback and frames.
    Then the garbage collector frees a session and its channels in any order, and libssh2 crashes.
    """
    match error:
        case StepFailure():
            return StepFailure(error.outcome, error.message)
        case TimeLimitReached():
            return error.failure
        case GreenletExit():
            return StepFailure(Outcome.UNFINISHED, "still running at the end of the drain")
        case OSError():
            return StepFailure(Outcome.GENERATOR_FAULT, f"a system call of the worker failed: {reason_of(error)}")
    return StepFailure(Outcome.GENERATOR_FAULT, "internal error of the worker: its log has the traceback")
