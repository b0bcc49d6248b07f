"""Driver: brings the non-blocking calls of one libssh2 session to their ends, waiting on its socket in between.

A session is driven by one greenlet only, because libssh2 sessions are not made for more. Facts about the library that
decide this file: errors carry no text (last_error has it), and a session that failed is only good for being dropped.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from ssh2.error_codes import LIBSSH2_ERROR_EAGAIN
from ssh2.exceptions import SSH2Error
from ssh2.session import LIBSSH2_SESSION_BLOCK_INBOUND, LIBSSH2_SESSION_BLOCK_OUTBOUND
from sshload_contract.vocabulary import Outcome, Step

from sshload_worker.clients.descriptor import Descriptor
from sshload_worker.clients.ssh2.errors import library_outcome
from sshload_worker.outcomes import StepFailure


class Driver:
    """One session and its socket."""

    # last_error() leaks a kilobyte with each call, so it is asked once for each kind of failure.
    _texts: ClassVar[dict[tuple[Step, type[SSH2Error]], str]] = {}

    def __init__(self, session: Any, descriptor: Descriptor) -> None:
        self.session = session
        self.descriptor = descriptor

    def until_done(self, step: Step, call: Callable[..., Any], *arguments: object) -> Any:
        """Return what `call` returns once it has no need to wait; raises StepFailure where it fails in `step`."""
        try:
            result = call(*arguments)
            while result == LIBSSH2_ERROR_EAGAIN:
                self.wait()
                result = call(*arguments)
        except SSH2Error as error:
            raise self.failure(step, error) from None
        return result

    def wait(self) -> None:
        """Let others run until the socket is as the session needs it."""
        directions = self.session.block_directions()
        if not directions & LIBSSH2_SESSION_BLOCK_OUTBOUND:
            self.descriptor.wait_readable()
        elif directions & LIBSSH2_SESSION_BLOCK_INBOUND:
            self.descriptor.wait_either()
        else:
            self.descriptor.wait_writable()

    def failure(self, step: Step, error: SSH2Error) -> StepFailure:
        """Return what an error of the library in `step` says."""
        if type(error) is SSH2Error and self.descriptor.peer_has_closed():
            return StepFailure(Outcome.DISCONNECTED, "the server closed the connection")
        kind = (step, type(error))
        if kind not in self._texts:
            self._texts[kind] = f"{type(error).__name__}: {_text(self.session.last_error())}"
        return StepFailure(library_outcome(step, type(error)), self._texts[kind])


def _text(text: bytes | str) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text
