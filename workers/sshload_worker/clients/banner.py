"""The server's banner, read from the socket itself, because libssh2 hides the reason of a refusal.

The version line is only peeked at, so that libssh2 still finds it. Lines before it, which RFC 4253 section 4.2 allows,
are taken out as libssh2 would skip them. How many there may be is OpenSSH's rule, since the RFC has none.
"""

import socket
from typing import Protocol

from gevent import sleep
from gevent.timeout import Timeout
from sshload_contract.vocabulary import Outcome

from sshload_worker.outcomes import StepFailure, pre_banner_outcome

_VERSION_START = b"SSH-"
_UNDERSTOOD = (b"SSH-2.0-", b"SSH-1.99-")  # RFC 4253 sections 4.2 and 5.1
_LINE_LIMIT_BYTES = 255  # with its end
_LINES_LIMIT = 1_024
_PARTIAL_LINE_PAUSE_S = 0.001


class PeekableSocket(Protocol):
    """A socket that can be peeked at, or its replacement behind a jump host."""

    def recv(self, count: int, flags: int = 0, /) -> bytes:
        """Return at most so many bytes, none at the end; MSG_PEEK leaves them to be read again."""


class PeekableConnection(Protocol):
    """A connection whose other side speaks first."""

    @property
    def socket(self) -> PeekableSocket:
        """Return the socket to peek at, which raises BlockingIOError where there is nothing yet."""

    def wait_readable(self) -> None:
        """Wait until there is something to read."""

    def peer_has_closed(self) -> bool:
        """Return whether the other side has sent its last byte, which may still be unread."""


def await_banner(speaker: PeekableConnection) -> str:
    """Return the server's version line, without its end; raises StepFailure where it has none."""
    earlier = ""
    try:
        for _ in range(_LINES_LIMIT + 1):
            line = _peek_line(speaker, earlier)
            if line.startswith(_VERSION_START):
                _check_version(line)
                return _text(line)
            outcome = pre_banner_outcome(_text(line))
            if outcome is not None:
                raise StepFailure(outcome, _text(line))
            earlier = earlier or _text(line)
            if len(line) >= _LINE_LIMIT_BYTES and not line.endswith(b"\n"):
                raise StepFailure(Outcome.NOT_SSH, earlier)
            speaker.socket.recv(len(line))
            sleep(0)  # a server that sends lines faster than they are read must not keep others from their turn
    except Timeout:
        if earlier:
            raise StepFailure(Outcome.NOT_SSH, f"no SSH version followed: {earlier}") from None
        raise
    raise StepFailure(Outcome.NOT_SSH, f"no SSH version in {_LINES_LIMIT:,} lines: {earlier}")


def _check_version(line: bytes) -> None:
    """Raise StepFailure where a version line is not whole, too long, or that of another SSH.

    Client libraries differ in what they make of these, and some wait for more without end.
    """
    if not line.endswith(b"\n") and len(line) < _LINE_LIMIT_BYTES:
        raise StepFailure(Outcome.RESET_BEFORE_BANNER, "the server closed the connection in the middle of its banner")
    if not line.endswith(b"\n"):
        raise StepFailure(Outcome.NOT_SSH, f"a version line of more than {_LINE_LIMIT_BYTES} bytes: {_text(line)}")
    if not line.startswith(_UNDERSTOOD):
        raise StepFailure(Outcome.NOT_SSH, f"the server does not speak SSH 2: {_text(line)}")


def _peek_line(speaker: PeekableConnection, earlier: str) -> bytes:
    while True:
        seen = _peek(speaker)
        if not seen and earlier:
            raise StepFailure(Outcome.NOT_SSH, earlier)
        if not seen:
            raise StepFailure(Outcome.RESET_BEFORE_BANNER, "the server closed the connection before its banner")
        line, end, _ = seen.partition(b"\n")
        if end or len(seen) >= _LINE_LIMIT_BYTES or speaker.peer_has_closed():
            return line + end
        sleep(_PARTIAL_LINE_PAUSE_S)


def _peek(speaker: PeekableConnection) -> bytes:
    while True:
        try:
            return speaker.socket.recv(_LINE_LIMIT_BYTES, socket.MSG_PEEK)
        except BlockingIOError:
            speaker.wait_readable()
        except ConnectionError as error:
            raise StepFailure(Outcome.RESET_BEFORE_BANNER, f"{error.strerror} before the banner") from None


def _text(line: bytes) -> str:
    return line.decode("ascii", "replace").strip()
