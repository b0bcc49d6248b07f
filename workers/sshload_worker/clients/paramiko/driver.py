"""Driver: calls of paramiko, whose errors become outcomes."""

from collections.abc import Callable
from typing import Any

from paramiko.sftp import SFTPError
from paramiko.ssh_exception import (
    AuthenticationException,
    BadAuthenticationType,
    ChannelException,
    IncompatiblePeer,
    MessageOrderError,
    PartialAuthentication,
    SSHException,
)
from sshload_contract.vocabulary import Outcome, Step

from sshload_worker.clients.paramiko.transport import Transport
from sshload_worker.outcomes import StepFailure

LIBRARY_ERRORS: dict[type[Exception], Outcome] = {
    IncompatiblePeer: Outcome.KEX_FAILED,
    MessageOrderError: Outcome.KEX_FAILED,
    BadAuthenticationType: Outcome.AUTH_REJECTED,
    PartialAuthentication: Outcome.AUTH_REJECTED,
    ChannelException: Outcome.CHANNEL_REFUSED,
    SFTPError: Outcome.SFTP_BAD_MESSAGE,  # statuses are told before paramiko makes errors of them
    EOFError: Outcome.DISCONNECTED,
    OSError: Outcome.DISCONNECTED,
}
"""The outcomes of errors, subclasses included. A lost connection raises AuthenticationException too."""

OTHER_LIBRARY_ERRORS = {
    Step.KEX: Outcome.KEX_FAILED,
    Step.AUTH: Outcome.AUTH_REJECTED,
    Step.CHANNEL_OPEN: Outcome.CHANNEL_REFUSED,
    Step.EXEC: Outcome.EXEC_REJECTED,
}


def library_outcome(step: Step, error: Exception, *, lost: bool) -> Outcome:
    """Return the outcome of a step in which paramiko raised an error; `lost` where the connection has ended since.

    After the key exchange, paramiko's general errors on a connection that has ended say only that it has. During it
    they are the reason for the end.
    """
    for kind in type(error).__mro__:
        if kind in LIBRARY_ERRORS:
            return LIBRARY_ERRORS[kind]
    if lost and step is not Step.KEX:
        return Outcome.DISCONNECTED
    return OTHER_LIBRARY_ERRORS.get(step, Outcome.DISCONNECTED)


def error_text(error: Exception) -> str:
    """Return the text of an error without its arguments: one may be a password."""
    known = isinstance(error, (AuthenticationException, SFTPError, SSHException, EOFError, OSError))
    return f"{type(error).__name__}: {error}".rstrip(": ") if known else type(error).__name__


class Driver:
    """One connection's calls."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def call(self, step: Step, function: Callable[..., Any], *arguments: object, **options: object) -> Any:
        """Call `function` and return its result; raises StepFailure where it fails in `step`."""
        try:
            return function(*arguments, **options)
        except StepFailure:
            raise
        except Exception as error:  # noqa: BLE001 - the reader thread hands on whatever a server made it stumble over
            raise self._failure(step, error) from None

    def lost(self) -> StepFailure:
        """Return the failure of a connection that has ended."""
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
