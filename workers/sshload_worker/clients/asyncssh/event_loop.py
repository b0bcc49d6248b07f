"""The asyncio loop of the process: one greenlet runs it, and the others hand it what it is to do.

Its selector waits by gevent, so that the loop waits as any greenlet does. All of it is one thread: what the loop does
is never interrupted by another greenlet, and a greenlet that waits for the loop lets it run.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import cache
from typing import Any, TypeVar, cast

import gevent
from asyncssh.misc import DisconnectError
from asyncssh.sftp import SFTPError
from gevent.event import AsyncResult
from gevent.selectors import GeventSelector

T = TypeVar("T")


class EventLoop:
    """One asyncio loop, and the greenlet that runs it for as long as the process lives."""

    def __init__(self) -> None:
        self.asyncio = asyncio.SelectorEventLoop(GeventSelector())
        self.asyncio.set_exception_handler(_log_unexpected)
        self._runner = gevent.spawn(self.asyncio.run_forever)

    def call(self, function: Callable[..., T], *arguments: object) -> T:
        """Call `function` on the loop, wait, and return its result or raise its error."""
        result: AsyncResult[T] = AsyncResult()

        def called() -> None:
            try:
                result.set(function(*arguments))
            except Exception as error:  # noqa: BLE001 - it is raised where it was asked for
                result.set_exception(error)

        self.asyncio.call_soon_threadsafe(called)
        return cast("T", result.get())

    def post(self, function: Callable[..., object], *arguments: object) -> None:
        """Call `function` on the loop soon. Never waits."""
        self.asyncio.call_soon_threadsafe(function, *arguments)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop, wait for its end, and return its result or raise its error.

        Where the waiting greenlet is interrupted, the coroutine is cancelled.
        """
        result: AsyncResult[T] = AsyncResult()
        tasks: list[asyncio.Task[T]] = []

        def begin() -> None:
            tasks.append(self.asyncio.create_task(coroutine))
            tasks[0].add_done_callback(lambda task: _hand_over(task, result))

        def cancel() -> None:
            tasks[0].cancel()  # which is there by now, because the loop begins first

        self.asyncio.call_soon_threadsafe(begin)
        try:
            return cast("T", result.get())
        except BaseException:  # a time limit or a kill too
            self.asyncio.call_soon_threadsafe(cancel)
            raise


def _log_unexpected(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log errors that no caller awaits, but not those of requests for a cut-off file, which asyncssh abandons."""
    if not isinstance(context.get("exception"), (SFTPError, DisconnectError, OSError)):
        loop.default_exception_handler(context)


def _hand_over(task: "asyncio.Task[Any]", result: "AsyncResult[Any]") -> None:
    if task.cancelled():
        result.set_exception(asyncio.CancelledError())
        return
    error = task.exception()
    if error is None:
        result.set(task.result())
    else:
        result.set_exception(error)


@cache
def event_loop() -> EventLoop:
    """Return the loop of this process, started with the first call."""
    return EventLoop()
