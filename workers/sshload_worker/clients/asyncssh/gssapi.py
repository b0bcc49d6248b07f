"""gssapi-with-mic (RFC 4462 section 3) in asyncssh, with the system's own library in place of a binding to compile."""

from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from asyncssh import gss

from sshload_worker.login.gss import MECHANISM, GssError, Initiator
from sshload_worker.login.tickets import in_a_thread, kerberos_failure, ticket_refused

if TYPE_CHECKING:
    from sshload_worker.outcomes import StepFailure


_GssError: Any = vars(gss)["GSSError"]
"""What asyncssh catches, whether or not it has found a binding."""


class GssClient:
    """What asyncssh asks of a GSSAPI client (asyncssh.gss.GSSBase), for one login by the tickets of a cache."""

    mechs = (MECHANISM,)
    provides_integrity = True

    def __init__(self, cache_path: str, host: str) -> None:
        self._cache_path = cache_path
        self._host = host
        self._initiator = Initiator(cache_path, host)
        self.failure: StepFailure | None = None
        """Why Kerberos did not go on, None if it did."""
        self.waits_for_kdc = False
        """Whether the first token is being made, which may take an answer of a KDC. No other call waits."""
        self.first_token_ns = (0, 0)
        """When it began to make the first token, and when that was made."""

    @property
    def complete(self) -> bool:
        """Whether both sides know each other."""
        return self._initiator.complete

    def reset(self) -> None:
        """Begin anew."""
        self._initiator = Initiator(self._cache_path, self._host)

    def step(self, token: bytes | None = None) -> bytes | None:
        """Take the server's token; return the next one for it. Raises GSSError."""
        self.waits_for_kdc = token is None
        begin_ns = monotonic_ns()
        try:
            made = in_a_thread(self._initiator.step, token or b"")
        except GssError as error:
            words = str(error)
            # Of the first token the server has no part. Later ones have its answer, or its own error.
            self.failure = kerberos_failure(words) if token is None else ticket_refused(words)
            raise _GssError(error.major, error.minor, error.token) from None
        finally:
            self.waits_for_kdc = False
        if token is None:
            self.first_token_ns = begin_ns, monotonic_ns()
        return made or None

    def sign(self, data: bytes) -> bytes:
        """Return the code that proves who sends `data`."""
        return self._initiator.sign(data)
