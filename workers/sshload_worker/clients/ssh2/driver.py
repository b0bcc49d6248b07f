"""Driver: brings the non-blocking calls of one libssh2 session to their ends, waiting on its socket in between.

Everything else in this room does its work by attempts: functions that call the library, never wait, and return
LIBSSH2_ERROR_EAGAIN where the library must wait first. Only a driver waits. So a session can be given to one greenlet
(this Driver) or be shared by many (another class with the same methods), and nothing but the driver knows which.

Facts about the library that decide this:

- Two greenlets must not be inside of one session's wait at once: each would take from the socket what the other waits
  for. An attempt of one channel may take in packets of all.
- libssh2 keeps the state of most calls in the channel, the SFTP subsystem or the file, so that calls of several
  channels may alternate. What opens a channel keeps its state in the session: `until_opened` is for those calls, of
  which one must have ended before the next begins.
- A packet that is half sent blocks all others until the call that sent it is made again with the same arguments.
- A socket on which there is always something to read never makes a call wait. So that a fast server cannot keep all
  other greenlets, and time limits with them, from running, a driver lets them run after a few calls without a wait.
- Errors carry no text, and a session that failed, or whose wait was cut off by a time limit or a
  kill, is only good for being dropped.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from gevent import sleep
from ssh2 import exceptions as ssh2_errors
from ssh2.channel import Channel
from ssh2.error_codes import LIBSSH2_ERROR_EAGAIN
from ssh2.exceptions import SSH2Error
from ssh2.session import LIBSSH2_SESSION_BLOCK_INBOUND, LIBSSH2_SESSION_BLOCK_OUTBOUND
from sshload_contract.vocabulary import Outcome, Timing

from sshload_worker.clients.ssh2.direct_calls import last_error_text
from sshload_worker.clients.tcp import Descriptor
from sshload_worker.outcomes import StepFailure

_CALLS_WITHOUT_WAIT = 8
_NO_ANSWER = "Waiting for "  # how libssh2 puts it where the connection breaks in a login, with a refusal's error code
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
AMBIGUOUS_ERRORS = (ssh2_errors.SSH2Error, ssh2_errors.KeyExchangeError)
"""Errors of libssh2 where the connection breaks and of other failures, none of which makes the server close it.

A key exchange without an algorithm in common is another one, KexFailureError.
"""

OTHER_LIBRARY_ERRORS = {
    Timing.KEX: Outcome.KEX_FAILED,
    Timing.AUTH: Outcome.AUTH_REJECTED,
    Timing.CHANNEL_OPEN: Outcome.CHANNEL_REFUSED,
    Timing.EXEC: Outcome.EXEC_REJECTED,
    Timing.SHELL_START: Outcome.EXEC_REJECTED,
}


Step: TypeAlias = Timing | Callable[[], Timing]
"""The step that an attempt is made in, or what tells it once the attempt has failed."""


class Subsystem(Protocol):
    """An object that has to be freed by itself at the end of a session."""

    def free(self) -> None:
        """Free it, once the connection has ended."""


class Driver:
    """One session and its socket, for one greenlet."""

    def __init__(self, session: Any, descriptor: Descriptor) -> None:
        self.session = session
        self.descriptor = descriptor
        self.subsystems: set[Subsystem] = set()
        self._calls_without_wait = 0

    def until_done(self, step: Step, attempt: Callable[..., Any], *arguments: object) -> Any:
        """Repeat `attempt` until it need not wait; return its result. Raises StepFailure where it fails in `step`."""
        self._calls_without_wait += 1
        if self._calls_without_wait > _CALLS_WITHOUT_WAIT:
            self._calls_without_wait = 0
            sleep(0)
        try:
            result = attempt(*arguments)
            while result == LIBSSH2_ERROR_EAGAIN:
                self._calls_without_wait = 0
                self._wait()
                result = attempt(*arguments)
        except SSH2Error as error:
            raise self.failure(step, error) from None
        return result

    until_opened = until_done
    """The same for calls whose state libssh2 keeps in the session: those that open a channel."""

    def attempt(self, step: Step, attempt: Callable[..., Any], *arguments: object) -> Any:
        """Make `attempt` once; return its result, or LIBSSH2_ERROR_EAGAIN. Raises StepFailure where it fails in `step`.

        Where the library must wait, the same is to be attempted again before anything else.
        """
        try:
            return attempt(*arguments)
        except SSH2Error as error:
            raise self.failure(step, error) from None

    def keep(self, channel: Channel) -> None:
        """Note a channel that is in use now without having been opened here: that of a subsystem."""

    def forget(self, opened: object) -> None:
        """Note that a channel, subsystem or file was closed in order."""

    def abandon(self, close: Callable[[Any], Any], opened: object) -> None:
        """Note that a channel is not used any more, though open; `close` is an attempt at closing it.

        libssh2 closes it on the spot, or with the session.
        """

    def failure(self, step: Step, error: SSH2Error) -> StepFailure:
        """Return the failure that an error of the library in `step` means."""
        text = last_error_text(self.session)
        lost = type(error) in AMBIGUOUS_ERRORS and self.descriptor.peer_has_closed()
        if lost or text.startswith(_NO_ANSWER):
            return StepFailure(Outcome.DISCONNECTED, "the server closed the connection")
        failed = step() if callable(step) else step
        return StepFailure(library_outcome(failed, type(error)), f"{type(error).__name__}: {text}")

    def _wait(self) -> None:
        directions = self.session.block_directions()
        if not directions & LIBSSH2_SESSION_BLOCK_OUTBOUND:
            self.descriptor.wait_readable()
        elif directions & LIBSSH2_SESSION_BLOCK_INBOUND:
            self.descriptor.wait_either()
        else:
            self.descriptor.wait_writable()


def library_outcome(step: Timing, error: type[Exception]) -> Outcome:
    """Return the outcome of a step in which ssh2-python raised an error of this type."""
    known = LIBRARY_ERRORS.get(error)
    return known if known is not None else OTHER_LIBRARY_ERRORS.get(step, Outcome.DISCONNECTED)
