"""An event loop whose time passes at once: where all only wait, it goes on to the next timer.

So hours of back-off, and requests that hang, cost no time, and happen in the order of their times on any machine. What
waits for another process or thread must not run in it: it would see time fly.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose `time` begins at 1000 s, and is moved on by what waits."""

    def __init__(self) -> None:
        self._now_s = 1_000.0
        super().__init__(_NeverWaits(self))

    def time(self) -> float:
        """Return the virtual time."""
        return self._now_s

    def move_on(self, seconds: float) -> None:
        """Let time pass."""
        self._now_s += seconds


class _NeverWaits(selectors.DefaultSelector):
    """Tells what is ready now. Where nothing is, it lets the time pass for which it was to wait."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready. Raises AssertionError where all wait for ever."""
        assert timeout is not None, "everything waits, and nothing will happen"
        ready = super().select(0)
        if not ready:
            self._loop.move_on(max(timeout, 0.0))
        return ready


def run_at_once(work: Coroutine[Any, Any, T]) -> T:
    """Run to its end in virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(work)
