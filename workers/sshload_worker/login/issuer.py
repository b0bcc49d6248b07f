"""The workers' certificate authority (client.certificates): it signs certificates for users ahead of their logins.

`cryptography` makes the certificates (PROTOCOL.certkeys). To sign one takes a tenth of a millisecond of the worker's
thread, so a login finds its certificate signed, and one greenlet renews them, one at a time.
"""

import secrets
from collections import deque
from collections.abc import Callable, Iterable
from itertools import count
from time import time
from typing import Any

import gevent
from cryptography.hazmat.primitives.serialization import (
    SSHCertificateBuilder,
    SSHCertificateType,
    load_ssh_private_key,
    load_ssh_public_key,
)
from sshload_contract.client import Certificates
from sshload_contract.users import USER_MARK

from sshload_worker.login.certificate import UserCertificate
from sshload_worker.login.private_key import PrivateKey

_SERIAL_BITS = 32
_LONGEST_SLEEP_S = 1.0
"""The clock that certificates follow may be set."""


class Issuer:
    """The certificates of the users who log in from a worker.

    A certificate's key id is its user's name. The serials of a worker count from a random multiple of 2**32, so that no
    two workers have one in common. `now` is the time of day.
    """

    def __init__(self, authority: PrivateKey, asked: Certificates, now: Callable[[], float] = time) -> None:
        self._key: Any = load_ssh_private_key(authority.openssh, None)
        self._asked = asked
        self._now = now
        self._serials = count((secrets.randbits(_SERIAL_BITS) << _SERIAL_BITS) + 1)
        self._keys: dict[str, Any] = {}
        self._current: dict[str, UserCertificate] = {}
        self._due: deque[tuple[float, str]] = deque()
        self._renewing: gevent.Greenlet[..., Any] | None = None

    def certificate_of(self, user: str, public_line: bytes) -> UserCertificate:
        """Return the user's certificate, which is signed now if none was before. `public_line` is the user's key."""
        return self._current.get(user) or self._sign_first(user, public_line)

    def sign_ahead(self, users: Iterable[tuple[str, bytes]]) -> None:
        """Sign certificates for users and their keys, and let their renewals be spread evenly from now on."""
        given = list(users)
        for user, public_line in given:
            self._sign_first(user, public_line)
        apart_s = self._asked.renewed_after_s / max(len(given), 1)
        now = self._now()
        self._due = deque((now + number * apart_s, user) for number, (user, _) in enumerate(given, start=1))

    def begin(self) -> None:
        """Sign all certificates anew if they are not renewed, because a load begins; renew them from now on if so."""
        if not self._asked.renew:
            for user in self._current:
                self._sign(user)
        elif self._renewing is None:
            self._renewing = gevent.spawn(self._renew)

    def renew_due(self) -> float:
        """Sign the next certificate if it is due, and return for how many seconds there is nothing to do."""
        left_s = self._due[0][0] - self._now() if self._due else _LONGEST_SLEEP_S
        if left_s > 0:
            return min(left_s, _LONGEST_SLEEP_S)
        _, user = self._due.popleft()
        self._sign(user)
        self._due.append((self._now() + self._asked.renewed_after_s, user))
        return 0.0

    def _renew(self) -> None:
        while True:
            gevent.sleep(self.renew_due())

    def _sign_first(self, user: str, public_line: bytes) -> UserCertificate:
        self._keys[user] = load_ssh_public_key(public_line)
        self._due.append((self._now() + self._asked.renewed_after_s, user))
        return self._sign(user)

    def _sign(self, user: str) -> UserCertificate:
        now = int(self._now())
        after, before = now - int(self._asked.backdate_s), now + int(self._asked.lifetime_s)
        builder = (
            SSHCertificateBuilder()
            .public_key(self._keys[user])
            .type(SSHCertificateType.USER)
            .serial(next(self._serials))
            .key_id(user.encode())
            .valid_principals([name.replace(USER_MARK, user).encode() for name in self._asked.principals])
            .valid_after(after)
            .valid_before(before)
        )
        for extension in self._asked.extensions:
            builder = builder.add_extension(extension.encode(), b"")
        signed = UserCertificate(builder.sign(self._key).public_bytes() + b"\n", after, before)
        self._current[user] = signed
        return signed
