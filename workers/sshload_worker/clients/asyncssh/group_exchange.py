"""asyncssh's group exchange with a group that is bounded.

asyncssh's own has OpenSSL check whether the server's number is a prime, which takes minutes for a large one.
"""

from hashlib import sha1, sha224, sha256, sha384, sha512
from typing import Any

from asyncssh.kex import register_kex_alg
from asyncssh.kex_dh import _KexDHGex
from asyncssh.misc import KeyExchangeFailed
from asyncssh.packet import MPInt

from sshload_worker.clients.group_exchange import MOST_BITS, PREFERRED_BITS, GroupError, is_secret, private_exponent

_NAMES = {
    b"diffie-hellman-group-exchange-sha256": sha256,
    b"diffie-hellman-group-exchange-sha224@ssh.com": sha224,
    b"diffie-hellman-group-exchange-sha384@ssh.com": sha384,
    b"diffie-hellman-group-exchange-sha512@ssh.com": sha512,
    b"diffie-hellman-group-exchange-sha1": sha1,
}


class _BoundedGroupExchange(_KexDHGex):
    """The client's side of a group exchange."""

    _exponent = 0

    def _perform_init(self) -> None:
        try:
            self._exponent = private_exponent(self._g, self._p)
        except GroupError as error:
            raise KeyExchangeFailed(str(error)) from None
        self._e = pow(self._g, self._exponent, self._p)
        self._send_init()

    def _compute_client_shared(self) -> bytes:
        shared = pow(self._f, self._exponent, self._p) if is_secret(self._f, self._p) else 0
        if not is_secret(shared, self._p):
            raise KeyExchangeFailed("the server's value makes no secret")
        return MPInt(shared)


def bound_group_exchanges() -> None:
    """Let asyncssh use these in this process."""
    for name, hashed in _NAMES.items():
        arguments: Any = (PREFERRED_BITS, MOST_BITS)
        register_kex_alg(name, _BoundedGroupExchange, hashed, arguments, default=False)
