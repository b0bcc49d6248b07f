"""Keys that callers give: what kinds are taken, and what is wrong with one, without a word of it."""

import math
import re
from dataclasses import dataclass
from typing import Final

import asyncssh
from cryptography.hazmat.primitives.asymmetric.dsa import DSAPrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPrivateNumbers
from sshload_contract.private_key_text import DamagedKeyError, private_key_text

_PUBLIC_KEY: Final = re.compile(r"[a-z0-9@.-]+ [A-Za-z0-9+/]+={0,2}( [^\n]*)?\n?")
_NO_PRIVATE_KEY: Final = "is not a private key in OpenSSH's format or PEM"
_NO_HOST_KEY: Final = 'is no host key: write the type and the key, as in "ssh-ed25519 AAAA..."'
_RSA_BITS: Final = range(2_048, 8_192 + 1)
_RSA_EXPONENTS: Final = range(3, 2**32, 2)
_PROBE: Final = b"sshload-gateway"


@dataclass(frozen=True, slots=True, repr=False)
class KeyPair:
    """A private key in OpenSSH's format, and its public key as a line of authorized_keys without comment."""

    private: bytes
    public: str


def read_private_key(text: str) -> KeyPair:
    """Return the key of a private key's file; raises ValueError with a sentence that tells nothing of it."""
    try:
        key = load_private_key(private_key_text(text.encode()))
    except DamagedKeyError:
        raise
    except (asyncssh.KeyImportError, ValueError, TypeError) as error:
        if str(error).startswith("Passphrase"):
            raise ValueError("has a passphrase: give a key without one, made for this gateway") from None
        raise ValueError(_NO_PRIVATE_KEY) from None
    inner = getattr(key, "pyca_key", None)
    if isinstance(inner, DSAPrivateKey) or (isinstance(inner, RSAPrivateKey) and inner.key_size not in _RSA_BITS):
        raise ValueError("is a DSA key, or an RSA key of less than 2048 or more than 8192 bits")
    if isinstance(inner, RSAPrivateKey) and not (_is_consistent(inner.private_numbers()) and _signs(key)):
        raise ValueError(_NO_PRIVATE_KEY)
    key.set_comment(None)
    return KeyPair(key.export_private_key("openssh"), key.export_public_key("openssh").decode().strip())


def load_private_key(text: str | bytes) -> asyncssh.SSHKey:
    """Return a key that `read_private_key` has read before; raises what asyncssh raises.

    OpenSSL's own check of an RSA key holds all threads of Python, for minutes where the key is large, and so it is left
    out.
    """
    return asyncssh.import_private_key(text, unsafe_skip_rsa_key_validation=True)


def _is_consistent(key: RSAPrivateNumbers) -> bool:
    """Return whether the numbers of an RSA key belong together, whether or not its factors are prime."""
    p, q, d = key.p, key.q, key.d
    modulus, exponent = key.public_numbers.n, key.public_numbers.e
    if exponent not in _RSA_EXPONENTS or p * q != modulus or not (p % 2 and q % 2 and min(p, q) > 1):
        return False
    # The parts of d for the Chinese remainder theorem (RFC 8017 section 3.2).
    halves = (d % (p - 1), d % (q - 1)) == (key.dmp1, key.dmq1)
    return halves and d * exponent % math.lcm(p - 1, q - 1) == 1 and key.iqmp * q % p == 1


def _signs(key: asyncssh.SSHKey) -> bool:
    """Return whether the public half of a key verifies what the key signs: it does not where a factor is not prime."""
    return key.convert_to_public().verify(_PROBE, key.sign(_PROBE, key.sig_algorithms[0]))


def read_host_key(line: str) -> str:
    """Return a host key as a line without comment; raises ValueError if it is none."""
    if _PUBLIC_KEY.fullmatch(line) is None:  # asyncssh would take the public half of a private key
        raise ValueError(_NO_HOST_KEY)
    try:
        key = asyncssh.import_public_key(line)
    except (asyncssh.KeyImportError, ValueError, TypeError):
        raise ValueError(_NO_HOST_KEY) from None
    key.set_comment(None)
    return key.export_public_key("openssh").decode().strip()
