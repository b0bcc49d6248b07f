"""Driver: calls of paramiko, whose errors become outcomes."""

from collections.abc import Callable
from typing import Any

from sshload_contract.vocabulary import Outcome, Step

from sshload_worker.clients.paramiko.errors import error_text, library_outcome
from sshload_worker.clients.paramiko.transport import Transport
from sshload_worker.outcomes import StepFailure


class Driver:
    """One connection's calls."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def call(self, step: Step, function: Callable[..., Any], *arguments: object, **options: object) -> Any:
        """Return what `function` returns; raises StepFailure where it fails in `step`."""
        try:
            return function(*arguments, **options)
        except StepFailure:
            raise
        except Exception as error:  # noqa: BLE001 - the reader thread hands on whatever a server made it stumble over
            raise self._failure(step, error) from None

    def lost(self) -> StepFailure:
        """Return what there is to say of a connection that has ended."""
        reason = self.transport.disconnect_text
        text = f"the server disconnected: {reason}" if reason else "the server closed the connection"
        return StepFailure(Outcome.DISCONNECTED, text)

    def _failure(self, step: Step, error: Exception) -> StepFailure:
        if self.transport.disconnect_text:
            return self.lost()
        outcome = library_outcome(step, error, lost=not self.transport.is_active())
        if outcome is Outcome.DISCONNECTED:
            return self.lost()
        return StepFailure(outcome, error_text(error))
