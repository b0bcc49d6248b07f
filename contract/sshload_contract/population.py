"""The population of a managed target: users whose credentials follow from one secret of 32 random bytes.

Whoever has the secret derives the same names, keys, passwords and TOTP secrets (HMAC, RFC 2104), so that nothing that a
run hands over grows with the number of users. A credential tells nothing of the secret, nor of those of other users.
"""

import binascii
import secrets
from base64 import b32encode, b64decode, b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import digest
from typing import Final

from sshload_contract.bounds import ContractError

POPULATION_FILE: Final = "population"
"""The file with the secret, beside a run's keys."""
POPULATION_PASSWORD_FILE: Final = "password"  # noqa: S105 - the name of a file
"""The file with the password of all users, beside a run's keys."""
POPULATION_PATTERN: Final = "user*"
"""The names of all users, as a pattern of ssh_config(5)."""
MOST_USERS: Final = 100_000
_SECRET_BYTES: Final = 32
_PASSWORD_CHARACTERS: Final = 24
_TOTP_SECRET_BYTES: Final = 20
"""As long as the hash of HMAC-SHA-1, which RFC 4226 recommends in its section 4."""


def new_population_secret() -> str:
    """Return the text of the file for a new population."""
    return b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def user_name(number: int) -> str:
    """Return the name of a user, whose numbers begin with 1."""
    return f"user{number:05d}"


def user_home(name: str) -> str:
    """Return the home of a user."""
    return f"/home/{name}"


@dataclass(frozen=True, slots=True)
class Population:
    """So many users, from one secret, which shows in no `repr`."""

    secret: bytes = field(repr=False)
    users: int

    @property
    def names(self) -> Iterator[str]:
        """All names, in the order of their numbers."""
        return map(user_name, range(1, self.users + 1))

    @property
    def password(self) -> str:
        """The password of all of them: a distribution's hash takes long to make, and one is made for all."""
        return b32encode(self._derived("password")).decode()[:_PASSWORD_CHARACTERS]

    def key_seed(self, name: str) -> bytes:
        """Return the private key of a user: the 32 bytes of Ed25519 (RFC 8032, section 5.1.5)."""
        return self._derived(f"key:{name}")

    def totp_secret(self, name: str) -> bytes:
        """Return the secret of a user's one-time passwords (RFC 6238)."""
        return self._derived(f"totp:{name}")[:_TOTP_SECRET_BYTES]

    def _derived(self, label: str) -> bytes:
        return digest(self.secret, label.encode(), sha256)


def read_population(text: str, users: int) -> Population:
    """Return the population of a file's text; raises ContractError, whose text has nothing of the file."""
    try:
        secret = b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        secret = b""
    if len(secret) != _SECRET_BYTES:
        raise ContractError(POPULATION_FILE, f"is not the base64 of {_SECRET_BYTES} bytes")
    return Population(secret, users)
