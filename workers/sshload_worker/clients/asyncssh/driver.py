"""Driver: what the loop does for one connection, whose errors become outcomes."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from asyncssh.sftp import SFTPError
from sshload_contract.vocabulary import Outcome, Step

from sshload_worker.clients.asyncssh.errors import error_text, library_outcome
from sshload_worker.clients.asyncssh.event_loop import EventLoop
from sshload_worker.clients.asyncssh.protocol import Protocol
from sshload_worker.clients.sftp_status import status_failure
from sshload_worker.outcomes import StepFailure

T = TypeVar("T")


class Driver:
    """One connection's protocol, and the loop that it lives in."""

    def __init__(self, loop: EventLoop, protocol: Protocol) -> None:
        self.loop = loop
        self.protocol = protocol

    def run(self, step: Step, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return what a coroutine returns; raises StepFailure where it fails in `step`."""
        try:
            return self.loop.run(coroutine)
        except Exception as error:  # noqa: BLE001 - whatever a server made asyncssh stumble over
            raise self._failure(step, error) from None

    def call(self, step: Step, function: Callable[..., T], *arguments: object) -> T:
        """Return what a function returns that the loop calls; raises StepFailure where it fails in `step`."""
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
        """Return what there is to say of a connection that has ended."""
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
