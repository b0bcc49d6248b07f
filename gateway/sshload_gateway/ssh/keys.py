"""Keys that callers give: what kinds are taken, and what is wrong with one, without a word of it."""

import re
from dataclasses import dataclass
from typing import Final

import asyncssh
from cryptography.hazmat.primitives.asymmetric.dsa import DSAPrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

_PUBLIC_KEY: Final = re.compile(r"[a-z0-9@.-]+ [A-Za-z0-9+/]+={0,2}( [^\n]*)?\n?")
_NO_HOST_KEY: Final = 'is no host key: write the type and the key, as in "ssh-ed25519 AAAA..."'
_RSA_BITS: Final = range(2_048, 8_192 + 1)


@dataclass(frozen=True, slots=True, repr=False)
class KeyPair:
    """A private key in OpenSSH's format, and its public key as a line of authorized_keys without comment."""

    private: bytes
    public: str


def read_private_key(text: str) -> KeyPair:
    """Return the key of a private key's file; raises ValueError with a sentence that tells nothing of it."""
    try:
        key = asyncssh.import_private_key(text)
    except (asyncssh.KeyImportError, ValueError, TypeError) as error:
        if str(error).startswith("Passphrase"):
            raise ValueError("has a passphrase: give a key without one, made for this gateway") from None
        raise ValueError("is no private key in OpenSSH's format or PEM") from None
    inner = getattr(key, "pyca_key", None)
    if isinstance(inner, DSAPrivateKey) or (isinstance(inner, RSAPrivateKey) and inner.key_size not in _RSA_BITS):
        raise ValueError("is a DSA key, or an RSA key of less than 2048 or more than 8192 bits")
    key.set_comment(None)
    return KeyPair(key.export_private_key("openssh"), key.export_public_key("openssh").decode().strip())


def read_host_key(line: str) -> str:
    """Return a host key as a line without comment; raises ValueError where it is none."""
    if _PUBLIC_KEY.fullmatch(line) is None:  # asyncssh would take the public half of a private key
        raise ValueError(_NO_HOST_KEY)
    try:
        key = asyncssh.import_public_key(line)
    except (asyncssh.KeyImportError, ValueError, TypeError):
        raise ValueError(_NO_HOST_KEY) from None
    key.set_comment(None)
    return key.export_public_key("openssh").decode().strip()
