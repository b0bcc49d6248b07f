"""Pump: carries bytes between a channel of a libssh2 session and a socket, both ways, until either ends."""

import _socket
import socket
from contextlib import suppress
from typing import Any

from gevent import get_hub
from gevent.hub import Waiter
from ssh2.exceptions import SSH2Error
from ssh2.session import LIBSSH2_SESSION_BLOCK_OUTBOUND

from sshload_worker.clients.ssh2.driver import Driver

_PIECE_BYTES = 65_536
_READ = 1
_WRITE = 2


class Pump:
    """One channel and one non-blocking socket. `ended` tells whether the channel has no more to say."""

    def __init__(self, driver: Driver, channel: Any, far: _socket.socket) -> None:
        self.ended = False
        self._driver = driver
        self._channel = channel
        self._far = far
        self._to_socket = b""
        self._to_channel = b""
        self._socket_ended = False
        self._hub = get_hub()
        io = self._hub.loop.io
        carrier = driver.descriptor.fileno()
        self._carrier_readable, self._carrier_writable = io(carrier, _READ), io(carrier, _WRITE)
        self._far_readable, self._far_writable = io(far.fileno(), _READ), io(far.fileno(), _WRITE)

    def run(self) -> None:
        """Carry until either side ends or fails, which ends the other."""
        try:
            while not self._is_over():
                if not self.move():
                    self._wait()
        except (SSH2Error, OSError):
            pass  # whoever reads or writes at the other end of the pair finds it closed
        finally:
            self.ended = True
            for watcher in (self._carrier_readable, self._carrier_writable, self._far_readable, self._far_writable):
                watcher.close()
            with suppress(OSError):
                self._far.shutdown(socket.SHUT_RDWR)
            self._far.close()

    def move(self) -> bool:
        """Carry what can be carried without waiting, and tell whether that was anything."""
        moved_in = self._move_in()
        return self._move_out() or moved_in

    def _is_over(self) -> bool:
        return (self.ended and not self._to_socket) or (self._socket_ended and not self._to_channel)

    def _move_in(self) -> bool:
        moved = False
        if not self._to_socket and not self.ended:
            count, data = self._channel.read(_PIECE_BYTES)
            if count > 0:
                self._to_socket = data
            else:
                self.ended = self._channel.eof()
                moved = self.ended
        if self._to_socket:
            with suppress(BlockingIOError):
                self._to_socket = self._to_socket[self._far.send(self._to_socket) :]
                moved = True
        return moved

    def _move_out(self) -> bool:
        moved = False
        if not self._to_channel and not self._socket_ended:
            with suppress(BlockingIOError):
                self._to_channel = self._far.recv(_PIECE_BYTES)
                self._socket_ended = not self._to_channel
                moved = True
        if self._to_channel:
            _, count = self._channel.write(self._to_channel)
            self._to_channel = self._to_channel[count:]
            moved = moved or count > 0
        return moved

    def _wait(self) -> None:
        """Let others run until there is something that can be carried."""
        watchers = [self._far_writable if self._to_socket else self._carrier_readable]
        if not self._to_channel:
            watchers.append(self._far_readable)
        elif self._to_socket:
            watchers.append(self._carrier_readable)  # for the window that the write waits for
        if self._driver.session.block_directions() & LIBSSH2_SESSION_BLOCK_OUTBOUND:
            watchers.append(self._carrier_writable)
        self._driver.descriptor.hasten_acknowledgement()
        waiter: Waiter[None] = Waiter(self._hub)
        for watcher in watchers:
            watcher.start(waiter.switch, None)
        try:
            waiter.get()
        finally:
            for watcher in watchers:
                watcher.stop()
