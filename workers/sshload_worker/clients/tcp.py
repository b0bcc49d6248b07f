"""A connection before SSH begins: Descriptor, a non-blocking TCP socket, and the server's banner.

A Descriptor has persistent gevent watchers, and is closed only when nothing refers to it any more. The banner is read
from the socket itself, because libssh2 hides the reason of a refusal. The version line is only peeked at, so that
libssh2 still receives it. Lines before it, which RFC 4253 section 4.2 allows, are removed, as libssh2 would skip them.
The RFC does not limit their number, OpenSSH does.
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
from sshload_contract.error_text import reason_of
from sshload_contract.vocabulary import Outcome

from sshload_worker.outcomes import StepFailure, connect_outcome, pre_banner_outcome

_READ = 1
_WRITE = 2
_TCP_BEGUN = 2  # SYN_SENT of linux/include/net/tcp_states.h
_TCP_ENDED = (7, 8)  # CLOSE (reset) and CLOSE_WAIT there

_IP_BIND_ADDRESS_NO_PORT = 24  # linux/include/uapi/linux/in.h: the port is chosen by the whole pair of addresses

_VERSION_START = b"SSH-"
_UNDERSTOOD = (b"SSH-2.0-", b"SSH-1.99-")  # RFC 4253 sections 4.2 and 5.1
_BANNER_LINE_LIMIT_BYTES = 255  # with its end
_BANNER_LINES_LIMIT = 1_024
_PARTIAL_LINE_PAUSE_S = 0.001


def open_socket(family: socket.AddressFamily, source_address: str = "") -> _socket.socket:
    """Return a non-blocking TCP socket without Nagle's algorithm; raises OSError if it cannot be created.

    It connects from `source_address`, unless that is empty; raises StepFailure if this machine does not have it.
    """
    opened = _socket.socket(family, socket.SOCK_STREAM)
    opened.setblocking(False)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if source_address:
        opened.setsockopt(socket.IPPROTO_IP, _IP_BIND_ADDRESS_NO_PORT, 1)  # else each address has one port range
        try:
            opened.bind((source_address, 0))
        except OSError as error:
            opened.close()
            raise StepFailure(
                Outcome.GENERATOR_FAULT, f"no connection from the address {source_address}: {reason_of(error)}"
            ) from None
    return opened


class Descriptor:
    """The socket of one connection. ssh2-python calls `fileno`.

    libssh2 may write to its socket while a session is freed. So the session holds the Descriptor, and the socket is
    closed only after the session is freed. Otherwise another connection could have the same descriptor number by then,
    and the session would write into it.
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
        """Return the socket's descriptor number."""
        return self.socket.fileno()

    def connect(self, address: tuple[object, ...]) -> None:
        """Connect; raises StepFailure on failure.

        The system call returns EINPROGRESS even if a server on this machine has already accepted. Then there is no
        wait, because other greenlets would run during it, and their time would count as the connection's.
        """
        number = self.socket.connect_ex(address)
        if number == errno.EINPROGRESS:
            if self._state() == _TCP_BEGUN:
                self._wait(self._writable)
            number = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if number:
            raise StepFailure(connect_outcome(number), os.strerror(number))

    def peer_has_closed(self) -> bool:
        """Return whether the server has closed its side. Its last data may still be unread."""
        return self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] in _TCP_ENDED

    def _state(self) -> int:
        return self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]

    def request_quick_ack(self) -> None:
        """Make the kernel acknowledge the next data at once, if quickAck is set."""
        if self._quick_ack:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

    def call_corked(self, attempt: Callable[..., Any], *arguments: object) -> Any:
        """Call `attempt`, which must not wait, with the socket corked, so that its packets share segments.

        Each segment costs client and server several microseconds.
        """
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        try:
            return attempt(*arguments)
        finally:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)

    def wait_readable(self) -> None:
        """Wait, while other greenlets run, until the socket is readable.

        If quickAck is set, received data is acknowledged at once. This is also requested before a wait for an answer:
        the call that has just sent the request may have read the answer's first segment already, and the server may
        hold back the rest until that segment is acknowledged (Nagle's algorithm).

        The loop switches to this greenlet without gevent's Waiter, which takes a fifth of a wait. A Waiter guards
        against early wake-ups, and they are harmless here, because the caller reads again and waits again.
        """
        self.request_quick_ack()
        readable = self._readable
        readable.start(getcurrent().switch)
        try:
            self._switch_to_hub()
        finally:
            readable.stop()

    def wait_writable(self) -> None:
        """Wait, while other greenlets run, until the socket is writable."""
        self._wait(self._writable)

    def wait_either(self) -> None:
        """Wait, while other greenlets run, until the socket is readable or writable. Acknowledge likewise."""
        self.request_quick_ack()
        watcher = self._loop.io(self.socket.fileno(), _READ | _WRITE)
        try:
            self._wait(watcher)
        finally:
            watcher.close()

    def call_when_ready(self, call: Callable[[], object] | None, *, to_write: bool = False) -> None:
        """Call `call` from the loop as long as the socket is readable, or writable; None ends this.

        It takes the place of an earlier one. Nobody may wait for the socket meanwhile.
        """
        for watcher, wanted in ((self._readable, not to_write), (self._writable, to_write)):
            if call is not None and wanted:
                watcher.start(call)
            else:
                watcher.stop()

    def shut_down(self) -> None:
        """End the connection and every wait for it. The socket is closed only when nothing refers to it any more."""
        self._readable.close()
        self._writable.close()
        with suppress(OSError):  # not connected, or ended by the server
            self.socket.shutdown(socket.SHUT_RDWR)


class PeekableSocket(Protocol):
    """A socket that can be peeked at, or its replacement behind a jump host."""

    def recv(self, count: int, flags: int = 0, /) -> bytes:
        """Return at most `count` bytes, none at the end. With MSG_PEEK the next call returns them again."""


class PeekableConnection(Protocol):
    """A connection whose banner can be read."""

    @property
    def socket(self) -> PeekableSocket:
        """The socket to peek at. It raises BlockingIOError while there is no data."""

    def wait_readable(self) -> None:
        """Wait until there is data to read."""

    def peer_has_closed(self) -> bool:
        """Return whether the server has closed its side. Its last data may still be unread."""


def await_banner(speaker: PeekableConnection) -> str:
    """Return the server's version line without its line end; raises StepFailure if none comes."""
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
            sleep(0)  # lets other greenlets run, however fast the server sends lines
    except Timeout:
        if earlier:
            raise StepFailure(Outcome.NOT_SSH, f"no SSH version followed: {earlier}") from None
        raise
    raise StepFailure(Outcome.NOT_SSH, f"no SSH version in {_BANNER_LINES_LIMIT:,} lines: {earlier}")


def _check_version(line: bytes) -> None:
    """Raise StepFailure if a version line is incomplete, too long, or of a protocol version other than SSH 2.

    Client libraries handle such lines differently, and some wait for more data for ever.
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
            raise StepFailure(Outcome.RESET_BEFORE_BANNER, f"{reason_of(error)} before the banner") from None


def _text(line: bytes) -> str:
    return line.decode("ascii", "replace").strip()
