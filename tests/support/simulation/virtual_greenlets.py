"""A clock of greenlets whose time passes at once: where all of them only wait, it goes on to the next timer.

So minutes of patience cost no time, and happen in the order of their times on any machine.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any

import gevent
from gevent.event import Event

_TURNS = 20
"""After so many turns of the loop, greenlets that wake each other have all come to wait."""


class VirtualClock:
    """A clock that begins at 1000 s, and whose wall clock is a million ahead."""

    def __init__(self) -> None:
        self.now_s = 1_000.0
        self._timers: list[tuple[float, int, Event]] = []
        self._numbers = count()

    def monotonic(self) -> float:
        """Return the virtual time."""
        return self.now_s

    def time(self) -> float:
        """Return the virtual wall clock."""
        return self.now_s + 1e6

    def sleep(self, seconds: float = 0.0) -> None:
        """Wait until so much time has passed."""
        over = Event()
        self._wake(over, seconds)
        over.wait()

    def event(self) -> "VirtualEvent":
        """Return an event that is waited for by this clock."""
        return VirtualEvent(self)

    def run(self, work: Callable[[], Any]) -> Any:
        """Run to its end, and return what it returns. Raises AssertionError where all wait for ever."""
        working = gevent.spawn(work)
        while True:
            for _ in range(_TURNS):
                gevent.sleep(0)
            if working.ready():
                return working.get()
            assert self._timers, "everything waits, and nothing will happen"
            at_s, _, over = heappop(self._timers)
            self.now_s = max(self.now_s, at_s)
            over.set()

    def _wake(self, waiting: Event, after_s: float) -> None:
        heappush(self._timers, (self.now_s + after_s, next(self._numbers), waiting))


class VirtualEvent(Event):  # type: ignore[misc]
    """An event whose timeout is by a virtual clock."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, or until so much time has passed; return whether it is set."""
        if timeout is not None and not self.is_set():
            woken = Event()

            def wake(_: Event) -> None:
                woken.set()

            self.rawlink(wake)
            self._clock._wake(woken, timeout)
            woken.wait()
            self.unlink(wake)
            return bool(self.is_set())
        return bool(super().wait())
