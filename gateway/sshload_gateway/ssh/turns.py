"""What a server sends, read in parts: between two of them all other connections have their turn.

A read may have thousands of packets that say next to nothing. asyncssh takes them all at one go, and copies what is
left of the read for each of them.
"""

import asyncio
from typing import Final

import asyncssh

_PART_BYTES: Final = 8_192


def read_in_turns(ssh: asyncssh.SSHClientConnection) -> None:
    """Let a connection that was just made read in parts. asyncssh has no option for it."""
    transport = ssh._transport  # noqa: SLF001 - see above
    if transport is not None:
        transport.set_protocol(ReadInTurns(ssh, transport))


class ReadInTurns(asyncio.Protocol):
    """Hears a transport for another protocol, which gets a part of what has come in each turn of the event loop."""

    def __init__(self, inner: asyncio.Protocol, transport: asyncio.Transport) -> None:
        self._inner = inner
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._rest = b""
        self._begin = 0

    def data_received(self, data: bytes) -> None:
        """Hear what has come. No more comes until all parts of it were given."""
        if len(data) <= _PART_BYTES:
            self._inner.data_received(data)
            return
        self._rest, self._begin = data, 0
        self._transport.pause_reading()
        self._give()

    def _give(self) -> None:
        if self._transport.is_closing():
            return
        end = self._begin + _PART_BYTES
        part, self._begin = self._rest[self._begin : end], end
        self._inner.data_received(part)
        if end < len(self._rest):
            self._loop.call_soon(self._give)
            return
        self._rest = b""
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def eof_received(self) -> bool | None:
        """Hear that the server sends no more."""
        return self._inner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Hear that the connection has ended, behind what came before."""
        if self._begin < len(self._rest):
            self._inner.data_received(self._rest[self._begin :])
            self._begin = len(self._rest)
        self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        """Hear that the server takes no more."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Hear that the server takes more."""
        self._inner.resume_writing()
