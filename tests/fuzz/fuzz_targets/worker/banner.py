"""What a server says first, as `await_banner` reads it.

Input: two bytes, how many bytes arrive at once and how the connection ends (0: closed, else reset), then all that the
server says.
Oracle: only StepFailure is raised, with a message of its stated length. A version that is returned is that of a line
that is still there to be read, and no more lines were taken out before it than may be.
"""

import socket
from collections.abc import Iterator

from sshload_contract.vocabulary import Outcome
from sshload_worker.clients import tcp
from sshload_worker.outcomes import MESSAGE_LIMIT_CHARACTERS, StepFailure

tcp._PARTIAL_LINE_PAUSE_S = 0.0
_LINE_LIMIT_BYTES = 255
_LINES_LIMIT = 1_024
_OUTCOMES = (Outcome.NOT_SSH, Outcome.RESET_BEFORE_BANNER, Outcome.THROTTLED, Outcome.DROPPED_UNKNOWN)


class _Server:
    """A connection on which the server's words arrive piece by piece, one whenever the client looks or waits."""

    def __init__(self, piece_bytes: int, said: bytes, *, resets: bool) -> None:
        self._piece_bytes = piece_bytes
        self._coming = said
        self._resets = resets
        self.unread = b""
        self.lines_taken = 0

    @property
    def socket(self) -> "_Server":
        return self

    def recv(self, count: int, flags: int = 0, /) -> bytes:
        if not self.unread and self._coming:
            raise BlockingIOError
        if not self.unread and self._resets:
            raise ConnectionResetError(104, "Connection reset by peer")
        found = self.unread[:count]
        if flags & socket.MSG_PEEK:
            self.wait_readable()
        else:
            self.unread = self.unread[count:]
            self.lines_taken += 1
        return found

    def wait_readable(self) -> None:
        self.unread += self._coming[: self._piece_bytes]
        self._coming = self._coming[self._piece_bytes :]

    def peer_has_closed(self) -> bool:
        return not self._coming


def seeds() -> Iterator[bytes]:
    """Yield what servers say: a version at once, after other lines, in pieces, none at all, and refusals."""
    for said in (
        b"SSH-2.0-OpenSSH_10.0\r\n",
        b"welcome\r\nto all\r\nSSH-2.0-x\n",
        b"Exceeded MaxStartups\r\n",
        b"Not allowed at this time\r\n",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\n" * 1_025 + b"SSH-2.0-x\n",
        b"x" * 254 + b"\nSSH-2.0-x",
        b"",
    ):
        yield b"\xff\x00" + said
        yield b"\x10\x01" + said


def check(data: bytes) -> None:
    """Let a server say this."""
    header, said = data[:2].ljust(2, b"\0"), data[2:]
    server = _Server(max(header[0], 1), said, resets=header[1] > 0)
    try:
        version = tcp.await_banner(server)
    except StepFailure as failure:
        _assert_known(failure)
        return
    assert version.startswith("SSH-")
    assert len(version) <= _LINE_LIMIT_BYTES
    assert server.unread.startswith(b"SSH-")
    assert server.lines_taken <= _LINES_LIMIT


def _assert_known(failure: StepFailure) -> None:
    assert failure.outcome in _OUTCOMES
    assert len(failure.message) <= MESSAGE_LIMIT_CHARACTERS
