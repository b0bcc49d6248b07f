"""Key exchanges in which the server chooses the group (RFC 4419): offered only where a test names them, and bounded.

A prime of any size would take as much CPU as the server likes, in a process that does nothing else meanwhile.
"""

import secrets

from sshload_contract.client import Client

NAMES = "diffie-hellman-group-exchange-*"
"""All of them, as OpenSSH's and asyncssh's lists of algorithms write it."""

LEAST_BITS = 2_048
MOST_BITS = 4_096
PREFERRED_BITS = 3_072
_EXPONENT_BITS = 1_024  # twice what the largest key needs (RFC 4419 section 6.2), whatever the size of the prime


class GroupError(ValueError):
    """The server has chosen a group that is not taken. The message says why."""


def offered(client: Client, preferred: tuple[str, ...]) -> tuple[str, ...]:
    """Return the key exchanges that a client offers, of a library that prefers these."""
    return client.kex_algorithms or tuple(name for name in preferred if not name.startswith(NAMES.rstrip("*")))


def private_exponent(generator: int, prime: int) -> int:
    """Return a new private exponent in the group that a server has chosen; raises GroupError."""
    if not LEAST_BITS <= prime.bit_length() <= MOST_BITS:
        raise GroupError(
            f"the server chose a prime of {prime.bit_length()} bits, and {LEAST_BITS} to {MOST_BITS} are taken"
        )
    if not prime % 2 or not 1 < generator < prime - 1:
        raise GroupError("the server chose a group in which there is no secret")
    # The highest bit is always set, so that each takes as long.
    return secrets.randbits(_EXPONENT_BITS - 1) | 1 << (_EXPONENT_BITS - 1)


def is_secret(value: int, prime: int) -> bool:
    """Return whether a public value or a shared one is none that everybody can guess (RFC 8268 section 4)."""
    return 1 < value < prime - 1
