"""From ssh2-python's errors to outcomes."""

from ssh2 import exceptions as ssh2_errors
from sshload_contract.vocabulary import Outcome, Step

LIBRARY_ERRORS: dict[type[Exception], Outcome] = {
    ssh2_errors.SocketDisconnectError: Outcome.DISCONNECTED,
    ssh2_errors.SocketSendError: Outcome.DISCONNECTED,
    ssh2_errors.SocketRecvError: Outcome.DISCONNECTED,
    ssh2_errors.ChannelClosedError: Outcome.DISCONNECTED,
    ssh2_errors.DecryptError: Outcome.DISCONNECTED,  # this and what follows: packets that cannot be the server's
    ssh2_errors.InvalidMACError: Outcome.DISCONNECTED,
    ssh2_errors.OutOfBoundaryError: Outcome.DISCONNECTED,
    ssh2_errors.ZlibError: Outcome.DISCONNECTED,
    ssh2_errors.ChannelFailure: Outcome.CHANNEL_REFUSED,
    ssh2_errors.ChannelRequestDenied: Outcome.EXEC_REJECTED,
    ssh2_errors.AuthenticationError: Outcome.AUTH_REJECTED,
    ssh2_errors.PublickeyUnverifiedError: Outcome.AUTH_REJECTED,
    ssh2_errors.PasswordExpiredError: Outcome.AUTH_REJECTED,
    ssh2_errors.MethodNoneError: Outcome.AUTH_REJECTED,
    ssh2_errors.AllocError: Outcome.GENERATOR_FAULT,
    ssh2_errors.BadUseError: Outcome.GENERATOR_FAULT,
    ssh2_errors.BadSocketError: Outcome.GENERATOR_FAULT,
    ssh2_errors.InvalidRequestError: Outcome.GENERATOR_FAULT,
    ssh2_errors.FileError: Outcome.GENERATOR_FAULT,  # the private key cannot be read
}

SAID_OF_LOSSES_TOO = (ssh2_errors.SSH2Error, ssh2_errors.KeyExchangeError)
"""What libssh2 says where the connection breaks as well as of other failures, none of which makes the server close it.

A key exchange without an algorithm in common is another one, KexFailureError.
"""

OTHER_LIBRARY_ERRORS = {
    Step.KEX: Outcome.KEX_FAILED,
    Step.AUTH: Outcome.AUTH_REJECTED,
    Step.CHANNEL_OPEN: Outcome.CHANNEL_REFUSED,
    Step.EXEC: Outcome.EXEC_REJECTED,
    Step.SHELL_START: Outcome.EXEC_REJECTED,
}


def library_outcome(step: Step, error: type[Exception]) -> Outcome:
    """Return the outcome of a step in which ssh2-python raised an error of this type."""
    known = LIBRARY_ERRORS.get(error)
    return known if known is not None else OTHER_LIBRARY_ERRORS.get(step, Outcome.DISCONNECTED)
