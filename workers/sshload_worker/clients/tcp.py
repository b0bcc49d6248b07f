"""A connection before SSH begins: Descriptor, a non-blocking TCP socket, and the server's banner.

A Descriptor has persistent gevent watchers, and is closed only when its last user lets go. The banner is read from the
socket itself, because libssh2 hides the reason of a refusal. The version line is only peeked at, so that libssh2 still
finds it. Lines before it, which RFC 4253 section 4.2 allows, are taken out as libssh2 would skip them. How many there
may be is OpenSSH's rule, since the RFC has none.
"""

import _socket
import errno
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from gevent import get_hub, getcurrent, sleep
from gevent.timeout import Timeout
from sshload_contract.vocabulary import Outcome

from sshload_worker.outcomes import StepFailure, connect_outcome, pre_banner_outcome

_READ = 1
_WRITE = 2
_TCP_BEGUN = 2  # SYN_SENT of linux/include/net/tcp_states.h
_TCP_ENDED = (7, 8)  # CLOSE (reset) and CLOSE_WAIT there

_VERSION_START = b"SSH-"
_UNDERSTOOD = (b"SSH-2.0-", b"SSH-1.99-")  # RFC 4253 sections 4.2 and 5.1
_BANNER_LINE_LIMIT_BYTES = 255  # with its end
_BANNER_LINES_LIMIT = 1_024
_PARTIAL_LINE_PAUSE_S = 0.001


def open_socket(family: socket.AddressFamily) -> _socket.socket:
    """Return a non-blocking TCP socket without Nagle's delay; raises OSError where there is none to be had."""
    opened = _socket.socket(family, socket.SOCK_STREAM)
    opened.setblocking(False)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return opened


class Descriptor:
    """One connection's socket; `fileno` is what ssh2-python asks for.

    libssh2 may write to its socket while a session is freed. So the session holds the Descriptor, and the number of the
    socket is given back only after the session is gone: a dying session never writes into another connection.
    """

    __slots__ = ("_loop", "_quick_ack", "_readable", "_switch_to_hub", "_wait", "_writable", "socket")

    def __init__(self, open_socket: _socket.socket, *, quick_ack: bool) -> None:
        hub = get_hub()
        self._wait = hub.wait
        self._switch_to_hub = hub.switch
        self._loop = hub.loop
        self._quick_ack = quick_ack
        self.socket = open_socket
        self._readable = self._loop.io(self.socket.fileno(), _READ)
        self._writable = self._loop.io(self.socket.fileno(), _WRITE)

    def __del__(self) -> None:
        self.socket.close()

    def fileno(self) -> int:
        """Return the number of the open socket."""
        return self.socket.fileno()

    def connect(self, address: tuple[object, ...]) -> None:
        """Connect; raises StepFailure where that fails.

        A server on this machine answers within the system call, though that says EINPROGRESS: others that want to run
        are not to run in the time that is taken for the connection's.
        """
        number = self.socket.connect_ex(address)
        if number == errno.EINPROGRESS:
            if self._state() == _TCP_BEGUN:
                self._wait(self._writable)
            number = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if number:
            raise StepFailure(connect_outcome(number), os.strerror(number))

    def peer_has_closed(self) -> bool:
        """Return whether the other side has sent its last byte, which may still be unread."""
        return self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] in _TCP_ENDED

    def _state(self) -> int:
        return self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]

    def request_quick_ack(self) -> None:
        """Have the kernel acknowledge the next data at once, where quickAck is set."""
        if self._quick_ack:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

    def call_corked(self, attempt: Callable[..., Any], *arguments: object) -> Any:
        """Call `attempt`, which does not wait, with the socket corked: what it sends goes out together, if it fits.

        Each segment by itself costs both sides several microseconds.
        """
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        try:
            return attempt(*arguments)
        finally:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)

    def wait_readable(self) -> None:
        """Wait, while other greenlets run, until there is something to read.

        What has been received is acknowledged at once, where quickAck is set. That is asked for before a wait for an
        answer too: its first segment may have been read already, by the call that has just sent the request, and the
        server may hold back the rest until the first is acknowledged (Nagle's algorithm).

        The loop switches to this greenlet without gevent's Waiter between them, which costs a fifth of a wait: whoever
        waits to read looks again at what there is, and so may be woken for nothing.
        """
        self.request_quick_ack()
        readable = self._readable
        readable.start(getcurrent().switch)
        try:
            self._switch_to_hub()
        finally:
            readable.stop()

    def wait_writable(self) -> None:
        """Wait, while other greenlets run, until there is room to write."""
        self._wait(self._writable)

    def wait_either(self) -> None:
        """Wait, while other greenlets run, until there is something to read or room to write; acknowledge likewise."""
        self.request_quick_ack()
        watcher = self._loop.io(self.socket.fileno(), _READ | _WRITE)
        try:
            self._wait(watcher)
        finally:
            watcher.close()

    def shut_down(self) -> None:
        """End the connection now, and every wait for it; the socket's number is kept until the last user lets go."""
        self._readable.close()
        self._writable.close()
        with suppress(OSError):  # not connected, or ended by the other side
            self.socket.shutdown(socket.SHUT_RDWR)


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
        for _ in range(_BANNER_LINES_LIMIT + 1):
            line = _peek_line(speaker, earlier)
            if line.startswith(_VERSION_START):
                _check_version(line)
                return _text(line)
            outcome = pre_banner_outcome(_text(line))
            if outcome is not None:
                raise StepFailure(outcome, _text(line))
            earlier = earlier or _text(line)
            if len(line) >= _BANNER_LINE_LIMIT_BYTES and not line.endswith(b"\n"):
                raise StepFailure(Outcome.NOT_SSH, earlier)
            speaker.socket.recv(len(line))
            sleep(0)  # a server that sends lines faster than they are read must not keep others from their turn
    except Timeout:
        if earlier:
            raise StepFailure(Outcome.NOT_SSH, f"no SSH version followed: {earlier}") from None
        raise
    raise StepFailure(Outcome.NOT_SSH, f"no SSH version in {_BANNER_LINES_LIMIT:,} lines: {earlier}")


def _check_version(line: bytes) -> None:
    """Raise StepFailure where a version line is not whole, too long, or that of another SSH.

    Client libraries differ in what they make of these, and some wait for more without end.
    """
    if not line.endswith(b"\n") and len(line) < _BANNER_LINE_LIMIT_BYTES:
        raise StepFailure(Outcome.RESET_BEFORE_BANNER, "the server closed the connection in the middle of its banner")
    if not line.endswith(b"\n"):
        raise StepFailure(
            Outcome.NOT_SSH, f"a version line of more than {_BANNER_LINE_LIMIT_BYTES} bytes: {_text(line)}"
        )
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
        if end or len(seen) >= _BANNER_LINE_LIMIT_BYTES or speaker.peer_has_closed():
            return line + end
        sleep(_PARTIAL_LINE_PAUSE_S)


def _peek(speaker: PeekableConnection) -> bytes:
    while True:
        try:
            return speaker.socket.recv(_BANNER_LINE_LIMIT_BYTES, socket.MSG_PEEK)
        except BlockingIOError:
            speaker.wait_readable()
        except ConnectionError as error:
            raise StepFailure(Outcome.RESET_BEFORE_BANNER, f"{error.strerror} before the banner") from None


def _text(line: bytes) -> str:
    return line.decode("ascii", "replace").strip()
