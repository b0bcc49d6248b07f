"""A session that nothing uses: IdleSession, and `await_reply`.

libssh2 receives only while it is called. IdleSession calls it from the loop whenever the socket is ready, without a
greenlet, so a server that asks an idle session for a sign of life or for new keys is answered at once.
"""

from collections.abc import Callable

from gevent import get_hub
from ssh2.error_codes import LIBSSH2_ERROR_EAGAIN
from ssh2.exceptions import SSH2Error
from ssh2.nonblocking import serve
from ssh2.session import LIBSSH2_SESSION_BLOCK_OUTBOUND, Session
from sshload_contract.vocabulary import Timing

from sshload_worker.clients.ssh2.driver import Driver
from sshload_worker.outcomes import StepFailure


def serve_all(session: Session) -> int:
    """Answer what the server has sent: return EAGAIN if the rest of an answer must be sent later. Raises SSH2Error."""
    while serve(session, ask=False)[0] != LIBSSH2_ERROR_EAGAIN:
        pass
    return LIBSSH2_ERROR_EAGAIN if _is_blocked(session) else 0


def await_reply(driver: Driver) -> None:
    """Send a keep-alive request, and wait for the reply; raises StepFailure."""
    ask = True

    def attempt(session: Session) -> int:
        nonlocal ask
        result = 1
        while result != LIBSSH2_ERROR_EAGAIN:
            result, replies = serve(session, ask=ask)
            ask = False
            if replies:
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
            result, replies = serve(session, ask=ask)
        except SSH2Error as error:
            self.end()
            self._lost(self._driver.failure(Timing.KEEP_ALIVE, error))
            return
        if replies and self._replied is not None:
            replied, self._replied = self._replied, None
            replied()
        if self._is_over:
            return
        if result != LIBSSH2_ERROR_EAGAIN:
            get_hub().loop.run_callback(self._on_ready)
        else:
            descriptor.call_when_ready(self._on_ready, to_write=_is_blocked(session))
