"""A connection inside of a channel of a jump host's: first read for its banner, then handed to asyncssh."""

import socket
from typing import Any

from gevent.event import Event

from sshload_worker.clients.asyncssh.protocol import Protocol


class Tunnel:
    """asyncssh's session on one side, and the source of a banner on the other (clients.banner.PeekableConnection)."""

    def __init__(self) -> None:
        self._channel: Any = None
        self._protocol: Protocol | None = None
        self._ahead = b""
        self._ended = False
        self._news = Event()

    @property
    def socket(self) -> "Tunnel":
        """Return the side to peek at: this tunnel itself."""
        return self

    def recv(self, count: int, flags: int = 0) -> bytes:
        """Return at most so many bytes, none at the end; raises BlockingIOError where there is nothing yet."""
        if not self._ahead and not self._ended:
            raise BlockingIOError
        taken = self._ahead[:count]
        if flags != socket.MSG_PEEK:
            self._ahead = self._ahead[count:]
        return taken

    def wait_readable(self) -> None:
        """Wait until there is something to read."""
        self._news.clear()
        self._news.wait()

    def peer_has_closed(self) -> bool:
        """Return whether the server has sent its last byte."""
        return self._ended

    def hand_over(self, protocol: Protocol) -> None:
        """Hand all data to `protocol`, that which has already come included; to be called by the loop."""
        self._protocol = protocol
        protocol.connection_made(self._channel)
        if self._ahead:
            protocol.data_received(self._ahead)
        if self._ended:
            protocol.eof_received()

    def connection_made(self, chan: Any) -> None:
        """Note the channel."""
        self._channel = chan

    def data_received(self, data: bytes, datatype: int | None) -> None:
        """Pass data on."""
        del datatype  # such channels have one kind
        if self._protocol is None:
            self._ahead += data
            self._news.set()
        else:
            self._protocol.data_received(data)

    def eof_received(self) -> bool:
        """Note that no more comes."""
        self._end()
        if self._protocol is not None:
            self._protocol.eof_received()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the channel's end."""
        self._end()
        if self._protocol is not None:
            self._protocol.connection_lost(exc)

    def pause_writing(self) -> None:
        """Do nothing: asyncssh's connections write however much waits."""

    def resume_writing(self) -> None:
        """Do nothing, likewise."""

    def _end(self) -> None:
        self._ended = True
        self._news.set()
