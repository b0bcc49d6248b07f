"""What the worker's own build of libssh2 has for a session that nothing uses: IdleSession and `await_reply`.

libssh2 receives only while it is called. IdleSession calls it from the loop whenever the socket is ready, without a
greenlet, so a server that asks an idle session for a sign of life or for new keys is answered at once. The package
index's build lacks the call (`is_available`).
"""

import ctypes
from collections.abc import Callable

from gevent import get_hub
from ssh2.error_codes import LIBSSH2_ERROR_EAGAIN
from ssh2.exceptions import SSH2Error
from ssh2.session import LIBSSH2_SESSION_BLOCK_OUTBOUND, Session
from ssh2.utils import handle_error_codes
from sshload_contract.vocabulary import Outcome, Timing

from sshload_worker.clients.ssh2.direct_calls import LIBSSH2, pointer
from sshload_worker.clients.ssh2.driver import Driver
from sshload_worker.outcomes import StepFailure

is_available = hasattr(LIBSSH2, "libssh2_session_serve")
"""Whether an idle session can be served."""

_replies = ctypes.c_int()
_counted_replies = ctypes.byref(_replies)
if is_available:
    LIBSSH2.libssh2_session_serve.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]


def _serve(session: Session, *, ask: bool) -> int:
    """Take up to 64 packets, and first send a keep-alive request if `ask` is set; `_replies` counts its replies.

    Returns EAGAIN if the session must wait for its socket, and 1 if there may be more to take. Raises SSH2Error.
    """
    _replies.value = 0
    return int(handle_error_codes(LIBSSH2.libssh2_session_serve(pointer(session), ask, _counted_replies)))


def serve_all(session: Session) -> int:
    """Answer what the server has sent: return EAGAIN if the rest of an answer must be sent later. Raises SSH2Error."""
    while _serve(session, ask=False) != LIBSSH2_ERROR_EAGAIN:
        pass
    return LIBSSH2_ERROR_EAGAIN if _is_blocked(session) else 0


def await_reply(driver: Driver) -> None:
    """Send a keep-alive request, and wait for the reply; raises StepFailure."""
    if not is_available:
        raise StepFailure(Outcome.GENERATOR_FAULT, "the package index's ssh2-python cannot wait for such a reply")
    ask = True

    def attempt(session: Session) -> int:
        nonlocal ask
        result = 1
        while result != LIBSSH2_ERROR_EAGAIN:
            result = _serve(session, ask=ask)
            ask = False
            if _replies.value:
                return 0
        return result

    driver.until_done(Timing.KEEP_ALIVE, attempt, driver.session)


def _is_blocked(session: Session) -> bool:
    return bool(session.block_directions() & LIBSSH2_SESSION_BLOCK_OUTBOUND)


class IdleSession:
    """A session that nothing else uses until `end`.

    `lost` is called from the loop, once, if the connection ends; it must neither wait nor raise.
    """

    __slots__ = ("_driver", "_is_over", "_lost", "_replied")

    def __init__(self, driver: Driver, lost: Callable[[StepFailure], object]) -> None:
        self._driver = driver
        self._lost = lost
        self._replied: Callable[[], object] | None = None
        self._is_over = False
        # What came together with the last reply lies in libssh2 already, and makes no socket readable.
        get_hub().loop.run_callback(self._on_ready)

    def request_keep_alive(self, replied: Callable[[], object]) -> None:
        """Send a keep-alive request; `replied` is called with its reply, as `lost` is."""
        self._replied = replied
        self._go_on(ask=True)
        self._driver.descriptor.request_quick_ack()

    def end(self) -> None:
        """Leave the session to others."""
        self._is_over = True
        self._driver.descriptor.call_when_ready(None)

    def _on_ready(self) -> None:
        if not self._is_over:
            self._go_on(ask=False)

    def _go_on(self, *, ask: bool) -> None:
        session, descriptor = self._driver.session, self._driver.descriptor
        try:
            result = _serve(session, ask=ask)
        except SSH2Error as error:
            self.end()
            self._lost(self._driver.failure(Timing.KEEP_ALIVE, error))
            return
        if _replies.value and self._replied is not None:
            replied, self._replied = self._replied, None
            replied()
        if self._is_over:
            return
        if result != LIBSSH2_ERROR_EAGAIN:
            get_hub().loop.run_callback(self._on_ready)
        else:
            descriptor.call_when_ready(self._on_ready, to_write=_is_blocked(session))
