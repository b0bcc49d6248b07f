"""What is asked of the program beside the worker that speaks MINA SSHD, and what it answers (workers/mina-sshd).

Each conversation is a Unix socket of its own, and one greenlet's at a time: so that a greenlet that is cut off cuts off
what it waited for, and nothing else.
"""

import struct
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum, unique

from gevent import socket
from sshload_contract.vocabulary import Outcome

from sshload_worker.clients.file_protocols import status_failure
from sshload_worker.outcomes import StepFailure

_LENGTH = struct.Struct(">I")
_NUMBER = struct.Struct(">q")
_MOST_BYTES = 1 << 27
_SFTP = "sftp "
_OUTCOMES = {
    "kex": Outcome.KEX_FAILED,
    "hostkey": Outcome.HOST_KEY_MISMATCH,
    "auth": Outcome.AUTH_REJECTED,
    "channel": Outcome.CHANNEL_REFUSED,
    "exec": Outcome.EXEC_REJECTED,
    "lost": Outcome.DISCONNECTED,
    "closed": Outcome.DISCONNECTED,
}

Field = bytes | str | int


@unique
class Request(IntEnum):
    """What can be asked."""

    KNOWN = 0
    CONNECT = 1
    BANNER = 2
    KEX = 3
    AUTH = 4
    KEEP_ALIVE = 5
    RUN = 10
    SFTP = 20
    OPEN_TO_READ = 21
    READ = 22
    OPEN_TO_WRITE = 23
    WRITE = 24
    CLOSE_FILE = 25
    LIST = 26
    STAT = 27
    MKDIR = 28
    RMDIR = 29
    RENAME = 30
    REMOVE = 31


@unique
class _How(IntEnum):
    OK = 0
    FAILED = 1
    DATA = 2


@dataclass(slots=True)
class Refusal(Exception):  # noqa: N818 - what the other side says, before it is anybody's failure
    """What the program says of a request that failed: a kind, and a text."""

    kind: str
    text: str

    def failure(self) -> StepFailure:
        """Return the failure that this is, wherever it happened."""
        if self.kind.startswith(_SFTP):
            return status_failure(int(self.kind.removeprefix(_SFTP)), self.text)
        return StepFailure(_OUTCOMES.get(self.kind, Outcome.GENERATOR_FAULT), self.text)


class Answer:
    """The fields of an answer, taken in their order."""

    def __init__(self, fields: bytes, *, is_data: bool) -> None:
        self.is_data = is_data
        self._fields = memoryview(fields)

    def number(self) -> int:
        """Return the next field, a number."""
        (found,) = _NUMBER.unpack(self._taken(_NUMBER.size))
        return int(found)

    def data(self) -> bytes:
        """Return the next field, bytes."""
        (length,) = _LENGTH.unpack(self._taken(_LENGTH.size))
        return self._taken(length)

    def text(self) -> str:
        """Return the next field, a text."""
        return self.data().decode("utf-8", "replace")

    def _taken(self, count: int) -> bytes:
        taken, self._fields = self._fields[:count].tobytes(), self._fields[count:]
        return taken


class Conversation:
    """One conversation with the program that listens at `path`."""

    def __init__(self, path: str) -> None:
        """Begin it; raises OSError where there is no file for it, or no program."""
        self.is_closed = False
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(path)
        except BaseException:
            self._socket.close()
            raise

    def ask(self, request: Request, *fields: Field) -> Answer:
        """Ask, and return the answer; raises StepFailure where that says so."""
        self.send(request, *fields)
        return self.answer()

    def send(self, request: Request, *fields: Field) -> None:
        """Ask without a wait for the answer; raises StepFailure where the program has ended the conversation."""
        words = [bytes([request])]
        for field in fields:
            if isinstance(field, int):
                words.append(_NUMBER.pack(field))
            else:
                part = field.encode() if isinstance(field, str) else field
                words += [_LENGTH.pack(len(part)), part]
        asked = b"".join(words)
        try:
            self._socket.sendall(_LENGTH.pack(len(asked)) + asked)
        except OSError:
            raise _ended() from None

    def answer(self) -> Answer:
        """Return the next answer; raises Refusal's failure where that says so, and StepFailure at the end of all."""
        try:
            return self.refusable_answer()
        except Refusal as refusal:
            raise refusal.failure() from None

    def refusable_answer(self) -> Answer:
        """Return the next answer; raises Refusal where that is one, and StepFailure at the end of all."""
        (length,) = _LENGTH.unpack(self._received(_LENGTH.size))
        if not 0 < length <= _MOST_BYTES:
            raise StepFailure(Outcome.GENERATOR_FAULT, f"the mina-sshd driver answers with {length} bytes")
        answered = self._received(length)
        how, answer = answered[0], Answer(answered[1:], is_data=answered[0] == _How.DATA)
        if how == _How.FAILED:
            raise Refusal(answer.text(), answer.text())
        return answer

    def has_ended(self) -> bool:
        """Return whether the program has ended it, without a wait. There must be no answer that is yet to be taken."""
        self._socket.setblocking(False)
        try:
            return not self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            self._socket.setblocking(True)

    def close(self) -> None:
        """End it, with all that it was about. Never waits."""
        self.is_closed = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _received(self, count: int) -> bytes:
        pieces = bytearray()
        while len(pieces) < count:
            try:
                piece = self._socket.recv(count - len(pieces))
            except OSError:
                piece = b""
            if not piece:
                raise _ended()
            pieces += piece
        return bytes(pieces)


def _ended() -> StepFailure:
    return StepFailure(Outcome.DISCONNECTED, "the server closed the connection")
