"""What a gateway answers, as `Exchange` reads it from a connection, and what is made of it.

Input: a byte, how many bytes arrive at once, then all that the gateway sends.
Oracle: only StepFailure is raised, with a message of its stated length. What a gateway tells of its parts is no more
than the answer took, but for a login.
"""

from collections.abc import Iterator
from contextlib import suppress

from sshload_contract.vocabulary import Timing
from sshload_worker.clients.gateway.answers import read_command, read_names, read_page
from sshload_worker.clients.gateway.exchange import Answer, Exchange
from sshload_worker.outcomes import MESSAGE_LIMIT_CHARACTERS, StepFailure

_COMMAND = (
    b'{"outcome":"exited","exitCode":0,"signal":null,"stdout":"eA==","stderr":"","encoding":"base64",'
    b'"timings":{"waitSeconds":0,"loginSeconds":0.5,"commandSeconds":0.0001}}'
)
_PAGE = b'{"entries":[{"name":"a"}],"next":"YQ=="}'
_NAMES = b'{"credentials":[{"name":"server"}]}'
_PROBLEM = b'{"kind":"busy","detail":"no session"}'
_MOST_ENTRIES = 10
_TOOK_NS = 1_000_000


class _Gateway:
    """A connection on which the answer arrives piece by piece, and then ends."""

    def __init__(self, piece_bytes: int, said: bytes) -> None:
        self._piece_bytes = piece_bytes
        self._coming = said

    def send(self, data: bytes) -> None:
        """Take the request."""

    def receive(self) -> bytes:
        piece, self._coming = self._coming[: self._piece_bytes], self._coming[self._piece_bytes :]
        return piece


def seeds() -> Iterator[bytes]:
    """Yield answers of each kind, and of each form that HTTP has for them."""
    for body in (_COMMAND, _PAGE, _NAMES, _PROBLEM):
        yield b"\xff" + b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    yield b"\x10" + b"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: %d\r\n\r\n" % len(_PROBLEM) + _PROBLEM
    yield (
        b"\x07" + b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % len(_PAGE) + _PAGE + b"\r\n0\r\n\r\n"
    )
    yield b"\x40" + b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n\r\n" + _NAMES


def check(data: bytes) -> None:
    """Read an answer, and each result that it can contain."""
    try:
        answer = Exchange(_Gateway(data[0] + 1 if data else 1, data[1:]), "gateway:443").ask("GET", "/", "token")
    except StepFailure as failure:
        _assert_bounded(failure)
        return
    answer = Answer(answer.status, answer.retry_after, answer.body, _TOOK_NS)
    with suppress(StepFailure):
        told = dict(read_command(answer).told_ns)
        told.pop(Timing.GATEWAY_LOGIN, None)
        assert 0 <= sum(told.values()) <= _TOOK_NS * 1.001 + 1_000_000
    with suppress(StepFailure):
        assert read_page(answer, _MOST_ENTRIES).entries <= _MOST_ENTRIES
    with suppress(StepFailure):
        assert all(isinstance(name, str) for name in read_names(answer))


def _assert_bounded(failure: StepFailure) -> None:
    assert 0 < len(failure.message) <= MESSAGE_LIMIT_CHARACTERS
