"""Codes of time (RFC 6238), and which of them this worker has sent. They are ten lines on hmac: no library is needed.

A server takes a code once: whoever logs in again within the time step, as the same user, is refused.
"""

import binascii
import hmac
import re
from base64 import b32decode
from collections.abc import Callable
from dataclasses import dataclass, field
from time import time

from sshload_contract.client import Totp

from sshload_worker.outcomes import GeneratorFaultError

_MOST_REMEMBERED = 10_000
_LEAST_SECRET_BYTES = 10
_BLANKS = re.compile(r"[\s=-]")
_SENT: dict[bytes, int] = {}
"""The newest time step of which this worker has sent a code, by the secret."""


@dataclass(frozen=True, slots=True)
class SecondFactor:
    """One user's codes. With `is_shared`, other workers log in as the same user."""

    secret: bytes = field(repr=False)
    settings: Totp
    is_shared: bool = False
    now: Callable[[], float] = time

    def take(self) -> tuple[str, bool]:
        """Return the code of now, and whether this worker has sent it before."""
        step = int(self.now() // self.settings.period_s)
        was_sent = _SENT.get(self.secret) == step
        if len(_SENT) >= _MOST_REMEMBERED:
            for secret in [secret for secret, sent in _SENT.items() if sent < step]:
                del _SENT[secret]
        _SENT[self.secret] = step
        return code_of(self.secret, self.settings, step), was_sent


def code_of(secret: bytes, settings: Totp, step: int) -> str:
    """Return the code of a time step (RFC 4226 section 5.3, RFC 6238 section 4)."""
    digest = hmac.digest(secret, step.to_bytes(8, "big"), str(settings.algorithm))
    at = digest[-1] & 0xF
    number = int.from_bytes(digest[at : at + 4], "big") & 0x7FFF_FFFF
    return f"{number % 10**settings.digits:0{settings.digits}}"


def read_secret(text: str, role: str) -> bytes:
    """Return a secret from base32, as authenticators show it; raises GeneratorFaultError, which calls it `role`."""
    packed = _BLANKS.sub("", text).upper()
    try:
        secret = b32decode(packed + "=" * (-len(packed) % 8))
    except (binascii.Error, ValueError):
        raise GeneratorFaultError(f"{role} is not base32: letters and the digits 2 to 7 are needed") from None
    if len(secret) < _LEAST_SECRET_BYTES:
        raise GeneratorFaultError(f"{role} has {len(secret)} bytes, and a TOTP secret has at least 10")
    return secret
