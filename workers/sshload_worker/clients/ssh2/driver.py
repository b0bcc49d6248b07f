"""Driver: runs the non-blocking calls of one libssh2 session to completion, and waits on its socket in between.

The other modules of this package make attempts: functions that call the library, never wait, and return
LIBSSH2_ERROR_EAGAIN if the library must wait first. Only a driver waits. So one greenlet can have a session to itself
(this Driver), or many can share it (SharedDriver, with the same methods), and only the driver knows which.

These facts about the library are the reason:

- Two greenlets must not wait in one session at the same time: each would read data that the other one waits for. An
  attempt on one channel may read packets of all channels.
- libssh2 keeps the state of most calls in the channel, the SFTP subsystem or the file, so calls of several channels may
  alternate. Calls that open a channel keep their state in the session. They are made through `until_opened`, and each
  must have ended before the next begins.
- A partly sent packet blocks all others until the same call is repeated with the same arguments.
- A call does not wait while its socket has data to read. So that a fast server cannot keep all other greenlets, and
  time limits with them, from running, a driver lets them run after a few calls without a wait.
- Errors carry no text. A session that failed, or whose wait was interrupted by a time limit or a kill, can only be
  dropped.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from gevent import sleep
from ssh2 import exceptions as ssh2_errors
from ssh2.channel import Channel
from ssh2.error_codes import LIBSSH2_ERROR_EAGAIN
from ssh2.exceptions import SSH2Error
from ssh2.nonblocking import disconnect_text, last_error_text
from ssh2.session import LIBSSH2_SESSION_BLOCK_INBOUND, LIBSSH2_SESSION_BLOCK_OUTBOUND
from sshload_contract.vocabulary import Outcome

from sshload_worker.clients.tcp import Descriptor
from sshload_worker.outcomes import StepFailure, disconnect_outcome, refused_outcome

_CALLS_WITHOUT_WAIT = 8
_NO_ANSWER = "Waiting for "  # libssh2's text if the connection breaks in a login; the error code says it was refused
LIBRARY_ERRORS: dict[type[Exception], Outcome] = {
    ssh2_errors.SocketDisconnectError: Outcome.DISCONNECTED,
    ssh2_errors.SocketSendError: Outcome.DISCONNECTED,
    ssh2_errors.SocketRecvError: Outcome.DISCONNECTED,
    ssh2_errors.ChannelClosedError: Outcome.DISCONNECTED,
    ssh2_errors.DecryptError: Outcome.DISCONNECTED,  # this and the next three: packets that no server sends
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
"""Errors that libssh2 raises if the connection breaks, and also for failures that do not make the server close it.

A key exchange without a common algorithm raises a different one, KexFailureError.
"""


Step: TypeAlias = str | Callable[[], str]
"""The step that an attempt belongs to, or a function that returns it once the attempt has failed."""


class Subsystem(Protocol):
    """An object that must be freed separately at the end of a session."""

    def free(self) -> None:
        """Free it after the connection has ended."""


class Driver:
    """One session and its socket, for one greenlet."""

    def __init__(self, session: Any, descriptor: Descriptor) -> None:
        self.session = session
        self.descriptor = descriptor
        self.subsystems: set[Subsystem] = set()
        self._calls_without_wait = 0

    def until_done(self, step: Step, attempt: Callable[..., Any], *arguments: object) -> Any:
        """Call `attempt` until it no longer returns EAGAIN, and return its result. Raises StepFailure if it fails."""
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
    """The same for calls that open a channel: libssh2 keeps their state in the session."""

    def attempt(self, step: Step, attempt: Callable[..., Any], *arguments: object) -> Any:
        """Call `attempt` once, and return its result, or LIBSSH2_ERROR_EAGAIN. Raises StepFailure if it fails.

        After EAGAIN, the same attempt must be repeated before any other.
        """
        try:
            return attempt(*arguments)
        except SSH2Error as error:
            raise self.failure(step, error) from None

    def keep(self, channel: Channel) -> None:
        """Record a channel that is in use but was not opened by this driver: the channel of a subsystem."""

    def forget(self, opened: object) -> None:
        """Record that a channel, subsystem or file was closed properly."""

    def abandon(self, close: Callable[[Any], Any], opened: object) -> None:
        """Record that an open channel or subsystem is no longer used; `close` is an attempt to close it.

        libssh2 closes it immediately, or with the session.
        """

    def failure(self, step: Step, error: SSH2Error) -> StepFailure:
        """Return the failure for an error of the library in `step`."""
        text = last_error_text(self.session)
        lost = type(error) in AMBIGUOUS_ERRORS and self.descriptor.peer_has_closed()
        if lost or text.startswith(_NO_ANSWER):
            return self._disconnected("the server closed the connection")
        failed = step() if callable(step) else step
        outcome, said = library_outcome(failed, type(error)), f"{type(error).__name__}: {text}"
        return self._disconnected(said) if outcome is Outcome.DISCONNECTED else StepFailure(outcome, said)

    def _disconnected(self, otherwise: str) -> StepFailure:
        """Return the failure of a connection that has ended, in the server's words if it gave some."""
        text = disconnect_text(self.session)
        return StepFailure(disconnect_outcome(text), f"the server disconnected: {text}" if text else otherwise)

    def _wait(self) -> None:
        directions = self.session.block_directions()
        if not directions & LIBSSH2_SESSION_BLOCK_OUTBOUND:
            self.descriptor.wait_readable()
        elif directions & LIBSSH2_SESSION_BLOCK_INBOUND:
            self.descriptor.wait_either()
        else:
            self.descriptor.wait_writable()


def library_outcome(step: str, error: type[Exception]) -> Outcome:
    """Return the outcome of a step in which ssh2-python raised an error of this type."""
    known = LIBRARY_ERRORS.get(error)
    return known if known is not None else refused_outcome(step)
