"""What paramiko takes for its socket: the Descriptor of a TCP connection, with the pauses that paramiko expects.

paramiko waits at most a tenth of a second at a time, idle or not. That is left as it is, because it is part of what a
session of paramiko costs.
"""

import socket
from contextlib import suppress

from gevent.timeout import Timeout

from sshload_worker.clients.banner import await_banner
from sshload_worker.clients.descriptor import Descriptor, open_socket
from sshload_worker.login.login import Address


class Stream:
    """One TCP connection as paramiko sees it: read by its reader alone, written to under its lock."""

    def __init__(self, address: Address, *, quick_ack: bool) -> None:
        family, self._address = address
        self._descriptor = Descriptor(open_socket(family), quick_ack=quick_ack)
        self._timeout_s: float | None = None
        self._closed = False

    def connect(self) -> None:
        """Open the connection; raises StepFailure where that fails."""
        self._descriptor.connect(self._address)

    def banner(self) -> str:
        """Return the server's version line, which can still be read; raises StepFailure where it has none."""
        return await_banner(self._descriptor)

    def is_lost(self) -> bool:
        """Tell whether the server has closed the connection."""
        return self._descriptor.peer_has_closed()

    def settimeout(self, seconds: float | None) -> None:
        """Bound each wait from now on; None for no bound."""
        self._timeout_s = seconds

    def recv(self, count: int) -> bytes:
        """Return at least one byte, none at the end; raises TimeoutError where nothing comes in time."""
        while True:
            try:
                return self._descriptor.socket.recv(count)
            except BlockingIOError:
                with Timeout(self._timeout_s, TimeoutError):
                    self._descriptor.wait_readable()

    def send(self, data: bytes) -> int:
        """Return how many bytes were taken, at least one; raises TimeoutError where none is in time."""
        while True:
            try:
                return self._descriptor.socket.send(data)
            except BlockingIOError:
                with Timeout(self._timeout_s, TimeoutError):
                    self._descriptor.wait_writable()

    def close(self) -> None:
        """End the connection, so that the reader wakes and ends too."""
        self._closed = True
        with suppress(OSError):  # ended by the other side
            self._descriptor.socket.shutdown(socket.SHUT_RDWR)

    def release(self) -> None:
        """Let go of the connection, which nobody reads or writes any more."""
        self._closed = True
        self._descriptor.shut_down()
