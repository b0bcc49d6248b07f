"""Driver: the calls of one connection on the process's asyncio loop. Their errors become outcomes.

One greenlet runs the loop, and the others pass it calls. The loop's selector waits through gevent, so the loop waits
like any greenlet. All of them run in one thread: no other greenlet interrupts a call on the loop, and a greenlet that
waits for the loop lets it run.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import cache
from typing import Any, TypeVar, cast

import gevent
from asyncssh import misc
from asyncssh.constants import FX_CONNECTION_LOST, FX_NO_CONNECTION, OPEN_REQUEST_SESSION_FAILED
from asyncssh.misc import DisconnectError
from asyncssh.packet import PacketDecodeError
from asyncssh.sftp import SFTPError
from gevent.event import AsyncResult
from gevent.selectors import GeventSelector
from sshload_contract.vocabulary import Outcome, Timing

from sshload_worker.clients.asyncssh.protocol import Protocol
from sshload_worker.clients.file_protocols import status_failure
from sshload_worker.outcomes import StepFailure, disconnect_outcome, refused_outcome

T = TypeVar("T")

LIBRARY_ERRORS: dict[type[BaseException], Outcome] = {
    misc.KeyExchangeFailed: Outcome.KEX_FAILED,
    misc.HostKeyNotVerifiable: Outcome.HOST_KEY_MISMATCH,
    misc.PermissionDenied: Outcome.AUTH_REJECTED,
    misc.IllegalUserName: Outcome.AUTH_REJECTED,
    misc.ConnectionLost: Outcome.DISCONNECTED,
    PacketDecodeError: Outcome.SFTP_BAD_MESSAGE,  # of SFTP: in a packet of the connection, it ends it
    OSError: Outcome.DISCONNECTED,
}
"""The outcomes of errors, including subclasses, that are the same in each step."""

_CLOSED = "SSH connection closed"
"""What asyncssh itself says of a channel that was being opened when the connection ended."""


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
            except Exception as error:  # noqa: BLE001 - it is raised in the caller
                result.set_exception(error)

        self.asyncio.call_soon_threadsafe(called)
        return cast("T", result.get())

    def post(self, function: Callable[..., object], *arguments: object) -> None:
        """Call `function` on the loop soon. Never waits."""
        self.asyncio.call_soon_threadsafe(function, *arguments)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop, wait for its end, and return its result or raise its error.

        If the waiting greenlet is interrupted, the coroutine is cancelled.
        """
        result: AsyncResult[T] = AsyncResult()
        tasks: list[asyncio.Task[T]] = []

        def begin() -> None:
            tasks.append(self.asyncio.create_task(coroutine))
            tasks[0].add_done_callback(lambda task: _set_result(task, result))

        def cancel() -> None:
            tasks[0].cancel()  # it exists by now, because the loop calls `begin` first

        self.asyncio.call_soon_threadsafe(begin)
        try:
            return cast("T", result.get())
        except BaseException:  # a time limit or a kill too
            self.asyncio.call_soon_threadsafe(cancel)
            raise


def _log_unexpected(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log errors that no caller awaits, except those of requests that asyncssh abandons when a file is interrupted."""
    if not isinstance(context.get("exception"), (SFTPError, DisconnectError, OSError)):
        loop.default_exception_handler(context)


def _set_result(task: "asyncio.Task[Any]", result: "AsyncResult[Any]") -> None:
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
    """Return the loop of this process. The first call starts it."""
    return EventLoop()


def library_outcome(step: str, error: BaseException, *, lost: bool) -> Outcome:
    """Return the outcome of a step in which asyncssh raised an error; `lost` if the connection has ended since.

    After authentication, asyncssh's errors about channels of a connection that has ended say only that it has ended.
    """
    for kind in type(error).__mro__:
        if kind in LIBRARY_ERRORS:
            return LIBRARY_ERRORS[kind]
    if lost and step not in (Timing.KEX, Timing.AUTH):
        return Outcome.DISCONNECTED
    if isinstance(error, misc.ChannelOpenError) and error.code == OPEN_REQUEST_SESSION_FAILED:
        return Outcome.EXEC_REJECTED  # the channel was opened, and the request for a program refused
    return refused_outcome(step)


def _is_answer(error: Exception) -> bool:
    """Return whether an error is what the server answered, which counts even if the connection has ended since."""
    if isinstance(error, SFTPError):
        return error.code not in (FX_NO_CONNECTION, FX_CONNECTION_LOST)
    return isinstance(error, misc.ChannelOpenError) and error.reason != _CLOSED


def error_text(error: BaseException) -> str:
    """Return the text of an error, or only its type if that is unknown."""
    if isinstance(error, misc.HostKeyNotVerifiable):
        return str(error)  # our own words
    known = isinstance(error, (misc.Error, OSError))
    return f"{type(error).__name__}: {error}".rstrip(": ") if known else type(error).__name__


class Driver:
    """One connection's protocol, and the loop that runs it."""

    def __init__(self, loop: EventLoop, protocol: Protocol) -> None:
        self.loop = loop
        self.protocol = protocol

    def run(self, step: str, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and return its result; raises StepFailure if it fails in `step`."""
        try:
            return self.loop.run(coroutine)
        except Exception as error:  # noqa: BLE001 - any error that a server caused
            raise self._failure(step, error) from None

    def call(self, step: str, function: Callable[..., T], *arguments: object) -> T:
        """Call a function on the loop and return its result; raises StepFailure if it fails in `step`."""
        try:
            return self.loop.call(function, *arguments)
        except Exception as error:  # noqa: BLE001 - any error that a server caused
            raise self._failure(step, error) from None

    def check(self, step: str) -> None:
        """Raise StepFailure if the connection has ended, in `step` or before it."""
        milestones = self.protocol.milestones
        if milestones.ended.is_set():
            raise self.lost() if milestones.error is None else self._failure(step, milestones.error)

    def lost(self) -> StepFailure:
        """Return the failure of a connection that has ended."""
        reason = self.protocol.milestones.disconnect_text
        text = f"the server disconnected: {reason}" if reason else "the server closed the connection"
        return StepFailure(disconnect_outcome(reason), text)

    def _failure(self, step: str, error: Exception) -> StepFailure:
        milestones = self.protocol.milestones
        answered = _is_answer(error)
        if milestones.disconnect_text and not answered:
            return self.lost()
        lost = milestones.ended.is_set() and not answered
        if isinstance(error, SFTPError) and not lost:
            return status_failure(error.code, error.reason)
        outcome = library_outcome(step, error, lost=lost)
        return self.lost() if outcome is Outcome.DISCONNECTED else StepFailure(outcome, error_text(error))
