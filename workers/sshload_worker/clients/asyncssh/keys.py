"""Private keys as asyncssh's objects, each read once however often it logs in."""

from functools import lru_cache
from typing import Any

import asyncssh
from asyncssh.public_key import SSHLocalKeyPair
from sshload_contract.vocabulary import Outcome

from sshload_worker.outcomes import StepFailure

_CERTIFICATE = b"-cert-v01@openssh.com"


class KeyPair(SSHLocalKeyPair):
    """asyncssh's pair, whose RSA certificates are named by the signature's kind, as servers of today want it.

    asyncssh itself begins with the name of old, and comes to this one only where it has another key besides.
    """

    def set_sig_algorithm(self, sig_algorithm: bytes) -> None:
        """Set the kind of signature."""
        super().set_sig_algorithm(sig_algorithm)
        if self.algorithm == b"ssh-rsa" + _CERTIFICATE and self.sig_algorithm != b"ssh-rsa":
            self.algorithm = self.sig_algorithm + _CERTIFICATE


@lru_cache(maxsize=16)
def _parsed(private: bytes, certificate: bytes) -> tuple[Any, Any]:
    try:
        key = asyncssh.import_private_key(private)
        return key, asyncssh.import_certificate(certificate) if certificate else None
    except (asyncssh.KeyImportError, ValueError):
        raise StepFailure(Outcome.GENERATOR_FAULT, "asyncssh cannot read the private key, or its certificate") from None


def key_pair(private: bytes, certificate: bytes) -> KeyPair:
    """Return a key, with its certificate where that is not empty; raises StepFailure where asyncssh cannot read it."""
    key, parsed_certificate = _parsed(private, certificate)
    return KeyPair(key, None, parsed_certificate, None)  # each its own: a connection chooses its signature's kind
