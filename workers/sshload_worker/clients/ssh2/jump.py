"""Connections through a jump host: a channel to the next server, and a Pump between it and a pair of sockets."""

import _socket
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

import gevent
from gevent import get_hub
from gevent.hub import Waiter
from ssh2.exceptions import SSH2Error
from ssh2.session import LIBSSH2_SESSION_BLOCK_OUTBOUND
from sshload_contract.vocabulary import Timing

from sshload_worker.clients.ssh2.driver import Driver
from sshload_worker.clients.tcp import Descriptor
from sshload_worker.outcomes import StepFailure

_PIECE_BYTES = 65_536
_READ = 1
_WRITE = 2
_ORIGIN = ("127.0.0.1", 0)  # the originator's address that the server is told (RFC 4254 section 7.2)


class Pump:
    """Copies data between a channel and a non-blocking socket. `ended` is true once the channel has no more data."""

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
        """Copy data until the channel or the socket ends or fails, then close the socket."""
        try:
            while not self._is_over():
                if not self.move():
                    self._wait()
        except (SSH2Error, OSError):
            pass  # the reader or writer at the other end of the pair finds it closed
        finally:
            self.ended = True
            for watcher in (self._carrier_readable, self._carrier_writable, self._far_readable, self._far_writable):
                watcher.close()
            with suppress(OSError):
                self._far.shutdown(socket.SHUT_RDWR)
            self._far.close()

    def move(self) -> bool:
        """Copy what can be copied without waiting, and return whether there was anything."""
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
        """Wait, while other greenlets run, until something can be copied."""
        watchers = [self._far_writable if self._to_socket else self._carrier_readable]
        if not self._to_channel:
            watchers.append(self._far_readable)
        elif self._to_socket:
            watchers.append(self._carrier_readable)  # the write may be waiting for the window
        if self._driver.session.block_directions() & LIBSSH2_SESSION_BLOCK_OUTBOUND:
            watchers.append(self._carrier_writable)
        self._driver.descriptor.request_quick_ack()
        waiter: Waiter[None] = Waiter(self._hub)
        for watcher in watchers:
            watcher.start(waiter.switch, None)
        try:
            waiter.get()
        finally:
            for watcher in watchers:
                watcher.stop()


class JumpHost(Protocol):
    """A connection that is logged in to a jump host."""

    @property
    def driver(self) -> Driver:
        """Its session's driver."""

    def close(self) -> None:
        """Close it immediately."""


class TunnelDescriptor(Descriptor):
    """A Descriptor whose connection is a channel of a jump host. Closing it also closes the jump host's connection."""

    __slots__ = ("_far", "_jump_host", "_pump", "_pumping")

    def __init__(self, jump_host: JumpHost) -> None:
        near, self._far = _socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        for end in (near, self._far):
            end.setblocking(False)
        super().__init__(near, quick_ack=False)
        self._jump_host = jump_host
        self._pump: Pump | None = None
        self._pumping: gevent.Greenlet[[], None] | None = None

    def connect(self, address: tuple[object, ...]) -> None:
        """Ask the jump host to connect to `address`, a host and a port; raises StepFailure if it does not."""
        host, port = address
        driver = self._jump_host.driver
        try:
            channel = driver.until_opened(Timing.CONNECT, driver.session.direct_tcpip_ex, host, port, *_ORIGIN)
        except StepFailure as failure:
            raise StepFailure(
                failure.outcome, f"the jump host did not forward to {host}:{port}: {failure.message}"
            ) from None
        self._pump = Pump(driver, channel, self._far)
        self._pumping = gevent.spawn(self._pump.run)

    def call_corked(self, attempt: Callable[..., Any], *arguments: object) -> Any:
        """Call `attempt` uncorked: a pair of sockets has no TCP segments to save."""
        return attempt(*arguments)

    def peer_has_closed(self) -> bool:
        """Return whether the channel to the server has ended or not begun; received data may still be unread."""
        return self._pump is None or self._pump.ended

    def shut_down(self) -> None:
        """Close the connection immediately, and the jump host's connection with it."""
        super().shut_down()
        if self._pump is not None and self._pumping is not None:
            with suppress(SSH2Error, OSError):  # the disconnect message is forwarded if there is room for it
                self._pump.move()
            self._pumping.kill(block=False)
        self._jump_host.close()
