"""Keys in an ssh-agent (draft-miller-ssh-agent), asked without keeping other greenlets from running.

libssh2's own client of an agent blocks the whole worker, for ever where the agent dies, and closes a file descriptor
twice where there is no agent.
"""

from types import TracebackType
from typing import Self

from gevent import socket
from sshload_contract.vocabulary import Outcome

from sshload_worker.login.wire import WireError, WireReader, wire_string
from sshload_worker.outcomes import StepFailure

_REQUEST_IDENTITIES = b"\x0b"
_IDENTITIES_ANSWER = 12
_SIGN_REQUEST = b"\x0d"
_SIGN_RESPONSE = 14
_ANSWER_LIMIT_BYTES = 262_144  # as OpenSSH's agents and clients have it
_RSA_FLAGS = {b"rsa-sha2-256": 2, b"rsa-sha2-512": 4}


class Agent:
    """A connection to an agent, to be used in a with statement; raises StepFailure where the agent does not do."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._path = path

    def __enter__(self) -> Self:
        try:
            self._socket.connect(self._path)
        except OSError as error:
            self._socket.close()
            raise _fault(f"cannot be reached: {error.strerror}") from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._socket.close()

    def first_key(self) -> bytes:
        """Return the agent's first public key in wire form."""
        answer = self._ask(_REQUEST_IDENTITIES, _IDENTITIES_ANSWER)
        if not answer.uint32():
            raise _fault("holds no key")
        return answer.string()

    def sign(self, key: bytes, data: bytes, algorithm: bytes) -> bytes:
        """Return the signature of `data`, without the name of the algorithm by which it is made."""
        flags = _RSA_FLAGS.get(algorithm, 0).to_bytes(4, "big")
        answer = self._ask(_SIGN_REQUEST + wire_string(key) + wire_string(data) + flags, _SIGN_RESPONSE)
        signature = WireReader(answer.string())
        signature.string()
        return signature.string()

    def _ask(self, request: bytes, expected: int) -> WireReader:
        try:
            self._socket.sendall(wire_string(request))
            length = int.from_bytes(self._receive(4), "big")
            answer = WireReader(self._receive(min(length, _ANSWER_LIMIT_BYTES)))
            if answer.fixed(1)[0] != expected:
                raise _fault("does not do what it is asked for")
        except OSError as error:
            raise _fault(f"does not answer: {error.strerror}") from None
        except WireError:
            raise _fault("talks nonsense") from None
        return answer

    def _receive(self, size: int) -> bytes:
        received = b""
        while len(received) < size:
            piece = self._socket.recv(size - len(received))
            if not piece:
                raise _fault("has ended")
            received += piece
        return received


def _fault(what: str) -> StepFailure:
    return StepFailure(Outcome.GENERATOR_FAULT, f"the ssh-agent {what}")
