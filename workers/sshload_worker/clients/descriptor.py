"""Descriptor: a non-blocking TCP socket with persistent gevent watchers, closed only when its last user lets go.

libssh2 may write to its socket while a session is freed. So the session holds the Descriptor, and the number of the
socket is given back only after the session is gone: never can a dying session write into another connection.
"""

import _socket
import errno
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from gevent import get_hub

from sshload_worker.outcomes import StepFailure, connect_outcome

_READ = 1
_WRITE = 2
_TCP_BEGUN = 2  # SYN_SENT of linux/include/net/tcp_states.h
_TCP_ENDED = (7, 8)  # CLOSE (reset) and CLOSE_WAIT there


def open_socket(family: socket.AddressFamily) -> _socket.socket:
    """Return a non-blocking TCP socket without Nagle's delay; raises OSError where there is none to be had."""
    opened = _socket.socket(family, socket.SOCK_STREAM)
    opened.setblocking(False)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return opened


class Descriptor:
    """One connection's socket; `fileno` is what ssh2-python asks for."""

    __slots__ = ("_loop", "_quick_ack", "_readable", "_wait", "_writable", "socket")

    def __init__(self, open_socket: _socket.socket, *, quick_ack: bool) -> None:
        hub = get_hub()
        self._wait = hub.wait
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
        return self._state() in _TCP_ENDED

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
        """Wait, while other greenlets run, until there is something to read."""
        if self._quick_ack:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        self._wait(self._readable)

    def wait_writable(self) -> None:
        """Wait, while other greenlets run, until there is room to write."""
        self._wait(self._writable)

    def wait_either(self) -> None:
        """Wait, while other greenlets run, until there is something to read or room to write."""
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
