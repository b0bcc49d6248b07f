"""Encryption of private keys at rest: AES-256-GCM, with keys from the files of a Secret.

Each file of the folder is one sealing key: its name is the key's id, and it holds 32 bytes in base64. New texts are
sealed with the active key; the others only open older ones. Whose a credential is and where its key is used are
authenticated with its text. So a row does not open that was copied to another caller, or that names another server.
"""

import base64
import binascii
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sshload_contract.error_text import reason_of

_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
Bound = tuple[str | int | tuple[str, ...], ...]
"""All that a text is sealed for, in an order that never changes."""


class SealError(Exception):
    """A text cannot be opened, or the sealing keys cannot be read; says which key, and never what is in it."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """A text that only the sealing key of this id opens: the nonce, and the text with its tag."""

    key_id: str
    data: bytes


class Seal:
    """Seals and opens texts."""

    def __init__(self, keys: Mapping[str, bytes], active: str) -> None:
        self._ciphers = {key_id: AESGCM(key) for key_id, key in keys.items()}
        self.active = active

    def close(self, text: bytes, about: Bound) -> Sealed:
        """Seal a text that belongs to `about`."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return Sealed(self.active, nonce + self._ciphers[self.active].encrypt(nonce, text, _bound(about)))

    def open(self, sealed: Sealed, about: Bound) -> bytes:
        """Return the text; raises SealError if it is not what was sealed for `about`, or its key is not here."""
        cipher = self._ciphers.get(sealed.key_id)
        if cipher is None:
            raise SealError(f"there is no sealing key {sealed.key_id!r}: put its file back into the folder")
        try:
            return cipher.decrypt(sealed.data[:_NONCE_BYTES], sealed.data[_NONCE_BYTES:], _bound(about))
        except (InvalidTag, ValueError):
            raise SealError(f"a private key cannot be opened with the sealing key {sealed.key_id!r}") from None


def read_seal(folder: Path, active: str) -> Seal:
    """Read all sealing keys of a folder; raises SealError, with what to do.

    Files whose names begin with a dot are left out: a mounted Secret has such.
    """
    try:
        paths = [path for path in sorted(folder.iterdir()) if path.is_file() and not path.name.startswith(".")]
        keys = {path.name: _read_key(path) for path in paths}
    except OSError as error:
        raise SealError(f"{folder}: {reason_of(error)}") from None
    if active not in keys:
        raise SealError(f"{folder} has no file {active!r}, the active sealing key; it has: {', '.join(keys) or 'none'}")
    return Seal(keys, active)


def _read_key(path: Path) -> bytes:
    try:
        key = base64.b64decode(path.read_bytes().strip(), validate=True)
    except binascii.Error:
        key = b""
    if len(key) != _KEY_BYTES:
        raise SealError(f"{path} does not hold {_KEY_BYTES} bytes in base64: make it with openssl rand -base64 32")
    return key


def _bound(about: Bound) -> bytes:
    return json.dumps(about).encode()
