"""What paramiko uses as its socket: a TCP connection's Descriptor, or a channel through a jump host."""

import socket
from contextlib import suppress
from typing import Any

from gevent.timeout import Timeout
from sshload_contract.client import Client
from sshload_contract.vocabulary import Timing

from sshload_worker.clients.delay import new_descriptor
from sshload_worker.clients.interface import Connection
from sshload_worker.clients.paramiko.transport import Driver
from sshload_worker.clients.tcp import await_banner
from sshload_worker.login.login import Address

_ORIGIN = ("127.0.0.1", 0)
_READ_BYTES = 32_768


class Stream:
    """One TCP connection as paramiko's socket: only paramiko's reader reads it, and its lock protects writes."""

    def __init__(self, client: Client, address: Address, source_address: str = "") -> None:
        family, self._address = address
        self._descriptor = new_descriptor(client, family, source_address)
        self._timeout_s: float | None = None
        self._closed = False

    def connect(self) -> None:
        """Open the connection; raises StepFailure if that fails."""
        self._descriptor.connect(self._address)

    def banner(self) -> str:
        """Return the server's version line without consuming it; raises StepFailure if there is none."""
        return await_banner(self._descriptor)

    def is_lost(self) -> bool:
        """Return whether the server has closed the connection."""
        return self._descriptor.peer_has_closed()

    def settimeout(self, seconds: float | None) -> None:
        """Limit each wait from now on; None means no limit."""
        self._timeout_s = seconds

    def recv(self, count: int) -> bytes:
        """Return at least one byte, or none at the end; raises TimeoutError if nothing arrives in time."""
        while True:
            try:
                return self._descriptor.socket.recv(count)
            except BlockingIOError:
                with Timeout(self._timeout_s, TimeoutError):
                    self._descriptor.wait_readable()

    def send(self, data: bytes) -> int:
        """Send, and return the number of bytes accepted, at least one; raises TimeoutError if none is."""
        while True:
            try:
                return self._descriptor.socket.send(data)
            except BlockingIOError:
                with Timeout(self._timeout_s, TimeoutError):
                    self._descriptor.wait_writable()

    def close(self) -> None:
        """End the connection, which also wakes and ends the reader."""
        self._closed = True
        with suppress(OSError):  # the server has closed it
            self._descriptor.socket.shutdown(socket.SHUT_RDWR)

    def release(self) -> None:
        """Release the connection, which is no longer read or written."""
        self._closed = True
        self._descriptor.shut_down()


class ForwardedStream:
    """A channel to a server through the jump host whose connection is `jump`, with calls through its `driver`."""

    def __init__(self, jump: Connection, driver: Driver, host: str, port: int) -> None:
        self._jump = jump
        self._driver = driver
        self._host_and_port = (host, port)
        self._channel: Any = None
        self._ahead = b""
        self._closed = False

    @property
    def socket(self) -> "ForwardedStream":
        """Return what `await_banner` peeks at: this stream itself."""
        return self

    def connect(self) -> None:
        """Ask the jump host to connect; raises StepFailure if it does not."""
        opened = self._driver.transport.open_channel
        self._channel = self._driver.call(Timing.CHANNEL_OPEN, opened, "direct-tcpip", self._host_and_port, _ORIGIN)

    def banner(self) -> str:
        """Return the server's version line without consuming it; raises StepFailure if there is none."""
        return await_banner(self)

    def is_lost(self) -> bool:
        """Return whether the server, or the jump host, has closed the connection."""
        return self.peer_has_closed() or self._jump.is_lost()

    def peer_has_closed(self) -> bool:
        """Return whether the server has sent its last byte, which may still be unread."""
        return bool(self._channel.eof_received or self._channel.closed)

    def wait_readable(self) -> None:
        """Do nothing: `recv` waits."""

    def settimeout(self, seconds: float | None) -> None:
        """Limit each wait from now on; None means no limit."""
        self._channel.settimeout(seconds)

    def recv(self, count: int, flags: int = 0) -> bytes:
        """Return at least one byte, or none at the end; raises TimeoutError if nothing arrives in time."""
        if not self._ahead or (flags and self._channel.recv_ready()):
            self._ahead += self._channel.recv(_READ_BYTES)
        taken = self._ahead[:count]
        if flags != socket.MSG_PEEK:
            self._ahead = self._ahead[count:]
        return taken

    def send(self, data: bytes) -> int:
        """Send, and return the number of bytes accepted; raises TimeoutError if none is, and OSError after the end."""
        return int(self._channel.send(data))

    def close(self) -> None:
        """End the jump host's connection with everything in it, which also wakes and ends the reader."""
        self._closed = True
        self._jump.close()

    def release(self) -> None:
        """Release the connection, which is no longer read or written."""
        self.close()
