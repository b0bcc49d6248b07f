"""Private keys as paramiko's objects, each read once however often it logs in."""

import io
import socket
from functools import lru_cache

from paramiko.agent import AgentSSH
from paramiko.ecdsakey import ECDSAKey
from paramiko.ed25519key import Ed25519Key
from paramiko.message import Message
from paramiko.pkey import PKey
from paramiko.rsakey import RSAKey
from paramiko.ssh_exception import SSHException
from sshload_contract.vocabulary import Outcome

from sshload_worker.outcomes import StepFailure

_KINDS = (Ed25519Key, ECDSAKey, RSAKey)


@lru_cache(maxsize=16)
def private_key(private: bytes, certificate: bytes) -> PKey:
    """Return a key, with its certificate where that is not empty; raises StepFailure where paramiko cannot read it."""
    for kind in _KINDS:
        try:
            key: PKey = kind.from_private_key(io.StringIO(private.decode()))
            if certificate:
                key.load_certificate(certificate.decode())
        except (SSHException, ValueError):
            continue
        return key
    raise StepFailure(Outcome.GENERATOR_FAULT, "paramiko cannot read the private key, or its certificate")


class Agent(AgentSSH):
    """A connection to an ssh-agent by the path of its socket."""

    def __init__(self, path: str) -> None:
        super().__init__()
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
            self._connect(connection)
        except (OSError, SSHException) as error:
            connection.close()
            raise StepFailure(Outcome.GENERATOR_FAULT, f"no word from the ssh-agent: {error}") from None

    def first_key(self) -> PKey:
        """Return the key to log in with; raises StepFailure where there is none."""
        if not self.get_keys():
            raise StepFailure(Outcome.GENERATOR_FAULT, "the ssh-agent holds no key")
        key: PKey = self.get_keys()[0]
        return key

    def close(self) -> None:
        """Close the connection."""
        self._close()

    def _send_message(self, message: bytes) -> tuple[int, Message]:
        try:
            answer: tuple[int, Message] = super()._send_message(message)
        except (OSError, SSHException) as error:
            raise StepFailure(Outcome.GENERATOR_FAULT, f"no word from the ssh-agent: {error}") from None
        return answer
