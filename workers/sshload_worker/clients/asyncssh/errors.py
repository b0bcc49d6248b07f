"""From asyncssh's errors to outcomes."""

from asyncssh import misc
from asyncssh.constants import OPEN_REQUEST_SESSION_FAILED
from sshload_contract.vocabulary import Outcome, Step

LIBRARY_ERRORS: dict[type[BaseException], Outcome] = {
    misc.KeyExchangeFailed: Outcome.KEX_FAILED,
    misc.HostKeyNotVerifiable: Outcome.HOST_KEY_MISMATCH,
    misc.PermissionDenied: Outcome.AUTH_REJECTED,
    misc.IllegalUserName: Outcome.AUTH_REJECTED,
    misc.ConnectionLost: Outcome.DISCONNECTED,
    OSError: Outcome.DISCONNECTED,
}
"""What an error says by itself, subclasses included."""

OTHER_LIBRARY_ERRORS = {
    Step.KEX: Outcome.KEX_FAILED,
    Step.AUTH: Outcome.AUTH_REJECTED,
    Step.CHANNEL_OPEN: Outcome.CHANNEL_REFUSED,
    Step.EXEC: Outcome.EXEC_REJECTED,
}


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
    """Return what an error says, without what it was given."""
    known = isinstance(error, (misc.Error, OSError))
    return f"{type(error).__name__}: {error}".rstrip(": ") if known else type(error).__name__
