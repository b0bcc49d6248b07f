"""What the server says first, read from the socket itself, because libssh2 hides the reason of a refusal.

The version line is only peeked at, so that libssh2 still finds it. Lines before it, which RFC 4253 allows, are taken
out as libssh2 would skip them.
"""

import socket

from gevent import sleep
from gevent.timeout import Timeout
from sshload_contract.vocabulary import Outcome

from sshload_worker.clients.descriptor import Descriptor
from sshload_worker.outcomes import StepFailure, pre_banner_outcome

_VERSION_START = b"SSH-"
_LINE_LIMIT_BYTES = 255
_PARTIAL_LINE_PAUSE_S = 0.001


def await_banner(descriptor: Descriptor) -> str:
    """Return the server's version line, without its end; raises StepFailure where it has none."""
    earlier = ""
    try:
        while True:
            line = _peek_line(descriptor, earlier)
            if line.startswith(_VERSION_START):
                return _text(line)
            outcome = pre_banner_outcome(_text(line))
            if outcome is not None:
                raise StepFailure(outcome, _text(line))
            earlier = earlier or _text(line)
            if len(line) >= _LINE_LIMIT_BYTES:
                raise StepFailure(Outcome.NOT_SSH, earlier)
            descriptor.socket.recv(len(line))
    except Timeout:
        if earlier:
            raise StepFailure(Outcome.NOT_SSH, f"no SSH version followed: {earlier}") from None
        raise


def _peek_line(descriptor: Descriptor, earlier: str) -> bytes:
    while True:
        seen = _peek(descriptor)
        if not seen and earlier:
            raise StepFailure(Outcome.NOT_SSH, earlier)
        if not seen:
            raise StepFailure(Outcome.RESET_BEFORE_BANNER, "the server closed the connection before its banner")
        line, end, _ = seen.partition(b"\n")
        if end or len(seen) >= _LINE_LIMIT_BYTES or descriptor.peer_has_closed():
            return line + end
        sleep(_PARTIAL_LINE_PAUSE_S)


def _peek(descriptor: Descriptor) -> bytes:
    while True:
        try:
            return descriptor.socket.recv(_LINE_LIMIT_BYTES, socket.MSG_PEEK)
        except BlockingIOError:
            descriptor.wait_readable()
        except ConnectionError as error:
            raise StepFailure(Outcome.RESET_BEFORE_BANNER, f"{error.strerror} before the banner") from None


def _text(line: bytes) -> str:
    return line.decode("ascii", "replace").strip()
