"""Driver: the calls of one connection on the loop, whose errors become outcomes."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from asyncssh import misc
from asyncssh.constants import OPEN_REQUEST_SESSION_FAILED
from asyncssh.sftp import SFTPError
from sshload_contract.vocabulary import Outcome, Step

from sshload_worker.clients.asyncssh.event_loop import EventLoop
from sshload_worker.clients.asyncssh.protocol import Protocol
from sshload_worker.clients.sftp import status_failure
from sshload_worker.outcomes import StepFailure

LIBRARY_ERRORS: dict[type[BaseException], Outcome] = {
    misc.KeyExchangeFailed: Outcome.KEX_FAILED,
    misc.HostKeyNotVerifiable: Outcome.HOST_KEY_MISMATCH,
    misc.PermissionDenied: Outcome.AUTH_REJECTED,
    misc.IllegalUserName: Outcome.AUTH_REJECTED,
    misc.ConnectionLost: Outcome.DISCONNECTED,
    OSError: Outcome.DISCONNECTED,
}
"""The outcomes of errors that are the same in each step, subclasses included."""

OTHER_LIBRARY_ERRORS = {
    Step.KEX: Outcome.KEX_FAILED,
    Step.AUTH: Outcome.AUTH_REJECTED,
    Step.CHANNEL_OPEN: Outcome.CHANNEL_REFUSED,
    Step.EXEC: Outcome.EXEC_REJECTED,
}
T = TypeVar("T")


def library_outcome(step: Step, error: BaseException, *, lost: bool) -> Outcome:
    """Return the outcome of a step in which asyncssh raised an error; `lost` where the connection has ended since.

    After authentication, asyncssh's errors about channels on a connection that has ended say only that it has.
    """
    for kind in type(error).__mro__:
        if kind in LIBRARY_ERRORS:
            return LIBRARY_ERRORS[kind]
    if lost and step not in (Step.KEX, Step.AUTH):
        return Outcome.DISCONNECTED
    if isinstance(error, misc.ChannelOpenError) and error.code == OPEN_REQUEST_SESSION_FAILED:
        return Outcome.EXEC_REJECTED  # the channel was opened, and what was to run on it refused
    return OTHER_LIBRARY_ERRORS.get(step, Outcome.DISCONNECTED)


def error_text(error: BaseException) -> str:
    """Return the text of an error without its arguments."""
    known = isinstance(error, (misc.Error, OSError))
    return f"{type(error).__name__}: {error}".rstrip(": ") if known else type(error).__name__


class Driver:
    """One connection's protocol, and the loop that it lives in."""

    def __init__(self, loop: EventLoop, protocol: Protocol) -> None:
        self.loop = loop
        self.protocol = protocol

    def run(self, step: Step, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and return its result; raises StepFailure where it fails in `step`."""
        try:
            return self.loop.run(coroutine)
        except Exception as error:  # noqa: BLE001 - whatever a server made asyncssh stumble over
            raise self._failure(step, error) from None

    def call(self, step: Step, function: Callable[..., T], *arguments: object) -> T:
        """Call a function on the loop and return its result; raises StepFailure where it fails in `step`."""
        try:
            return self.loop.call(function, *arguments)
        except Exception as error:  # noqa: BLE001 - likewise
            raise self._failure(step, error) from None

    def check(self, step: Step) -> None:
        """Raise StepFailure where the connection has ended, in `step` or before it."""
        milestones = self.protocol.milestones
        if milestones.ended.is_set():
            raise self.lost() if milestones.error is None else self._failure(step, milestones.error)

    def lost(self) -> StepFailure:
        """Return the failure of a connection that has ended."""
        reason = self.protocol.milestones.disconnect_text
        text = f"the server disconnected: {reason}" if reason else "the server closed the connection"
        return StepFailure(Outcome.DISCONNECTED, text)

    def _failure(self, step: Step, error: Exception) -> StepFailure:
        milestones = self.protocol.milestones
        if milestones.disconnect_text:
            return self.lost()
        lost = milestones.ended.is_set()
        if isinstance(error, SFTPError) and not lost:
            return status_failure(error.code, error.reason)
        outcome = library_outcome(step, error, lost=lost)
        return self.lost() if outcome is Outcome.DISCONNECTED else StepFailure(outcome, error_text(error))
