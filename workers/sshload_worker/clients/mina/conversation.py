"""Requests to the Java program beside the worker that uses MINA SSHD, and its answers (workers/mina-sshd).

Each conversation is a separate Unix socket, used by one greenlet at a time: so a greenlet that is interrupted
interrupts only the request that it waited for.
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
    """The number of each request."""

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
    CHANGE = 28


@unique
class _AnswerKind(IntEnum):
    OK = 0
    FAILED = 1
    DATA = 2


@dataclass(slots=True)
class Refusal(Exception):  # noqa: N818 - what the program reports, before it becomes a failure
    """What the program reports for a failed request: a kind, and a text."""

    kind: str
    text: str

    def failure(self) -> StepFailure:
        """Return the failure for it, in whatever step it happened."""
        if self.kind.startswith(_SFTP):
            return status_failure(int(self.kind.removeprefix(_SFTP)), self.text)
        return StepFailure(_OUTCOMES.get(self.kind, Outcome.GENERATOR_FAULT), self.text)


class Answer:
    """The fields of an answer, read in their order."""

    def __init__(self, fields: bytes, *, is_data: bool) -> None:
        self.is_data = is_data
        self._fields = memoryview(fields)

    def number(self) -> int:
        """Return the next field, a number."""
        (found,) = _NUMBER.unpack(self._take(_NUMBER.size))
        return int(found)

    def data(self) -> bytes:
        """Return the next field, bytes."""
        (length,) = _LENGTH.unpack(self._take(_LENGTH.size))
        return self._take(length)

    def text(self) -> str:
        """Return the next field, a text."""
        return self.data().decode("utf-8", "replace")

    def _take(self, count: int) -> bytes:
        taken, self._fields = self._fields[:count].tobytes(), self._fields[count:]
        return taken


class Conversation:
    """One conversation with the program that listens at `path`."""

    def __init__(self, path: str) -> None:
        """Begin it; raises OSError if there is no file descriptor left for it, or no program."""
        self.is_closed = False
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(path)
        except BaseException:
            self._socket.close()
            raise

    def ask(self, request: Request, *fields: Field) -> Answer:
        """Send a request, and return the answer; raises StepFailure if the request failed."""
        self.send(request, *fields)
        return self.answer()

    def send(self, request: Request, *fields: Field) -> None:
        """Send a request without waiting for the answer; raises StepFailure if the conversation has ended."""
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
        """Return the next answer; raises StepFailure if the request failed, or the conversation has ended."""
        try:
            return self.refusable_answer()
        except Refusal as refusal:
            raise refusal.failure() from None

    def refusable_answer(self) -> Answer:
        """Return the next answer; raises Refusal if the request failed, StepFailure if the conversation has ended."""
        (length,) = _LENGTH.unpack(self._receive(_LENGTH.size))
        if not 0 < length <= _MOST_BYTES:
            raise StepFailure(Outcome.GENERATOR_FAULT, f"the mina-sshd driver sent an answer of {length} bytes")
        answered = self._receive(length)
        how, answer = answered[0], Answer(answered[1:], is_data=answered[0] == _AnswerKind.DATA)
        if how == _AnswerKind.FAILED:
            raise Refusal(answer.text(), answer.text())
        return answer

    def has_ended(self) -> bool:
        """Return whether the program has ended it, without waiting. No answer may be outstanding."""
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
        """End it, with the connection, command or subsystem that it is for. Never waits."""
        self.is_closed = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _receive(self, count: int) -> bytes:
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
