"""What a server sends, read in parts: between two of them all other connections have their turn.

A read may have thousands of packets that say next to nothing. asyncssh takes them all at one go, and copies what is
left of the read for each of them. So a part is the smaller, the more packets the parts before it had.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import asyncssh

from sshload_gateway.ssh.floods import Floods

_PART_BYTES: Final = 8_192
_LEAST_PART_BYTES: Final = 512
_PACKETS_OF_A_TURN: Final = 32
_MOST_UNSENT_BYTES: Final = 16 * 1024 * 1024
"""More than the requests on one connection can have as stdin: nobody reads there."""


def read_in_turns(ssh: asyncssh.SSHClientConnection, floods: Floods) -> None:
    """Let a connection that was just made read in parts. asyncssh has no option for it."""
    transport = ssh._transport  # noqa: SLF001 - see above
    if transport is None:
        return

    def pause_s(packets: int) -> float:
        if transport.get_write_buffer_size() > _MOST_UNSENT_BYTES:
            transport.abort()
        return floods.wait_s(packets)

    transport.set_protocol(ReadInTurns(ssh, transport, lambda: ssh._recv_seq, pause_s))  # noqa: SLF001 - see above


class ReadInTurns(asyncio.Protocol):
    """Hears a transport for another protocol, which gets a part of what has come in each turn of the event loop.

    `packets` counts what `inner` has taken, from 0 again after a key exchange. `pause_s` says how long to read nothing
    after a turn with so many of them.
    """

    def __init__(
        self,
        inner: asyncio.Protocol,
        transport: asyncio.Transport,
        packets: Callable[[], int] = lambda: 0,
        pause_s: Callable[[int], float] = lambda _: 0.0,
    ) -> None:
        self._inner = inner
        self._transport = transport
        self._packets = packets
        self._pause_s = pause_s
        self._loop = asyncio.get_running_loop()
        self._rest = b""
        self._begin = 0
        self._part_bytes = _PART_BYTES
        self._is_paused = False

    def data_received(self, data: bytes) -> None:
        """Hear what has come. No more comes until all parts of it were given."""
        self._rest, self._begin = data, 0
        self._give()

    def _give(self) -> None:
        if self._transport.is_closing():
            return
        end = self._begin + self._part_bytes
        part, self._begin = self._rest[self._begin : end], end
        pause_s = self._pause_s(self._taken(part))
        if end >= len(self._rest) and not pause_s:
            self._read_on()
            return
        if not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()
        following = self._give if end < len(self._rest) else self._read_on
        if pause_s:
            self._loop.call_later(pause_s, following)
        else:
            self._loop.call_soon(following)

    def _read_on(self) -> None:
        self._rest = b""
        if self._is_paused and not self._transport.is_closing():
            self._is_paused = False
            self._transport.resume_reading()

    def _taken(self, part: bytes) -> int:
        """Give a part, and return how many packets it had."""
        before = self._packets()
        self._inner.data_received(part)
        after = self._packets()
        packets = after - before if after >= before else after
        if packets > _PACKETS_OF_A_TURN:
            self._part_bytes = max(_LEAST_PART_BYTES, self._part_bytes // 2)
        elif packets < _PACKETS_OF_A_TURN // 2:
            self._part_bytes = min(_PART_BYTES, self._part_bytes * 2)
        return packets

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
