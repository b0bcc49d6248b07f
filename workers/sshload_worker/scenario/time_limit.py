"""A bound on how long a step may take, which ends it in the step's timeout outcome.

Nearly all limits end long before they are reached, so what counts is what a limit costs that is not. Those of one
length are reached in the order in which they began: one timer for each length watches them all, and looks only when the
oldest of those may be reached that there were when it last looked.
"""

from time import monotonic
from types import TracebackType
from typing import Any, Self

from gevent import get_hub, getcurrent
from gevent.timeout import Timeout
from sshload_contract.vocabulary import Step

from sshload_worker.outcomes import StepFailure, timeout_outcome


class TimeLimitReached(Timeout):
    """Is raised in what takes longer than `limit`: a timeout of gevent's to all but that limit."""

    def __init__(self, limit: "TimeLimit") -> None:
        super().__init__()
        self.limit = limit
        self.failure = limit.failure


class TimeLimit:
    """A context that raises StepFailure where what is inside takes longer. Limits nest, each ending its own inside."""

    __slots__ = ("_greenlet", "_row", "_step", "end_s")

    def __init__(self, seconds: float, step: Step) -> None:
        self._step = step
        self._row = _ROWS.get(seconds) or _new_row(seconds)

    @property
    def failure(self) -> StepFailure:
        """How a step ends that this limit cuts off."""
        return StepFailure(timeout_outcome(self._step), f"{self._step} took longer than {self._row.seconds:g} s")

    def __enter__(self) -> Self:
        self._greenlet = getcurrent()
        row = self._row
        self.end_s = monotonic() + row.seconds
        row.limits[self] = None
        if not row.is_watched:
            row.watch(row.seconds)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._row.limits.pop(self, None)
        if isinstance(value, TimeLimitReached) and value.limit is self:
            raise self.failure from None

    def cut_off(self) -> None:
        """End what is inside; returns when that waits again, or is over."""
        self._greenlet.throw(TimeLimitReached(self))


class _Row:
    """The limits of one length that are in force, in their order."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.limits: dict[TimeLimit, None] = {}
        self.is_watched = False

    def watch(self, for_s: float) -> None:
        """Look at the limits in so many seconds."""
        self.is_watched = True
        timer = get_hub().loop.timer(for_s)
        timer.start(self._look, timer, update=True)

    def _look(self, timer: Any) -> None:
        timer.close()
        now_s = monotonic()
        while self.limits:
            oldest = next(iter(self.limits))
            if oldest.end_s > now_s:
                self.watch(oldest.end_s - now_s)
                return
            del self.limits[oldest]
            oldest.cut_off()
        self.is_watched = False


_ROWS: dict[float, _Row] = {}


def _new_row(seconds: float) -> _Row:
    return _ROWS.setdefault(seconds, _Row(seconds))
