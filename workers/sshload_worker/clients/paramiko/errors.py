"""From paramiko's errors to outcomes."""

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
"""What an error says by itself, subclasses included. AuthenticationException is what a lost connection raises too."""

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
    """Return what an error says, without what it was given: that may be a password."""
    known = isinstance(error, (AuthenticationException, SFTPError, SSHException, EOFError, OSError))
    return f"{type(error).__name__}: {error}".rstrip(": ") if known else type(error).__name__
