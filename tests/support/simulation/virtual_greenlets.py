"""A clock of greenlets whose time passes at once: where all of them only wait, it goes on to the next timer.

So minutes of patience cost no time, and happen in the order of their times on any machine.
"""

from collections.abc import Callable, Iterable
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
        self.wake(over, seconds)
        over.wait()

    def event(self) -> "VirtualEvent":
        """Return an event that is waited for by this clock."""
        return VirtualEvent(self)

    def await_first(self, awaited: Iterable[Any], timeout: float | None = None, count: int = 1) -> None:
        """Wait until one of these greenlets and events is ready, or until so much time has passed, as gevent.wait."""
        assert count == 1
        every = tuple(awaited)
        if any(one.ready() for one in every):
            return
        woken = Event()

        def wake(_: object) -> None:
            woken.set()

        for one in every:
            one.rawlink(wake)
        if timeout is not None:
            self.wake(woken, timeout)
        woken.wait()
        for one in every:
            one.unlink(wake)

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

    def wake(self, waiting: Event, after_s: float) -> None:
        """Set an event once so much time has passed."""
        heappush(self._timers, (self.now_s + after_s, next(self._numbers), waiting))


class VirtualEvent:
    """An event, as gevent's, whose timeout is by a virtual clock."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._plain = Event()

    def set(self) -> None:
        """Wake all who wait for it."""
        self._plain.set()

    def clear(self) -> None:
        """Let those wait who come from now on."""
        self._plain.clear()

    def is_set(self) -> bool:
        """Return whether nobody has to wait for it."""
        return self._plain.is_set()

    def ready(self) -> bool:
        """Return whether nobody has to wait for it."""
        return self._plain.is_set()

    def rawlink(self, callback: Callable[[Any], object]) -> None:
        """Have it call this once it is set."""
        self._plain.rawlink(callback)

    def unlink(self, callback: Callable[[Any], object]) -> None:
        """Have it not call this."""
        self._plain.unlink(callback)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, or until so much time has passed; return whether it is set."""
        self._clock.await_first((self._plain,), timeout)
        return self._plain.is_set()
