"""What is written in one turn of the event loop, as one: a write to a socket costs as much as parsing a request."""

import asyncio
from typing import Any, Final

_AT_MOST_BYTES: Final = 65_536
"""What is more than this is sent at once: whoever writes it is to hear soon that the other side takes no more."""


class GatheringTransport(asyncio.Transport):
    """A transport that sends what is written in one turn of the event loop at its end, or when it is told to."""

    def __init__(self, inner: asyncio.Transport) -> None:
        super().__init__()
        self._inner = inner
        self._loop = asyncio.get_running_loop()
        self._pending: list[bytes] = []
        self._pending_bytes = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send data at the end of this turn, or at once where it has become much."""
        if not self._pending:
            self._loop.call_soon(self.flush)
        self._pending.append(bytes(data))
        self._pending_bytes += len(data)
        if self._pending_bytes >= _AT_MOST_BYTES:
            self.flush()

    def flush(self) -> None:
        """Send what was written, unless the connection ended in this turn: uvloop's transport then raises an error."""
        if self._pending:
            pending, self._pending, self._pending_bytes = self._pending, [], 0
            if not self._inner.is_closing():
                self._inner.write(b"".join(pending))

    def close(self) -> None:
        """Send what was written, and close."""
        self.flush()
        self._inner.close()

    def abort(self) -> None:
        """Close at once: what was written in this turn is lost."""
        self._pending, self._pending_bytes = [], 0
        self._inner.abort()

    def write_eof(self) -> None:
        """Send what was written, and end the stream."""
        self.flush()
        self._inner.write_eof()

    def can_write_eof(self) -> bool:
        """Return whether the stream can be ended."""
        return self._inner.can_write_eof()

    def is_closing(self) -> bool:
        """Return whether it is closing, or closed."""
        return self._inner.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return what the transport knows of its socket."""
        return self._inner.get_extra_info(name, default)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Let another protocol hear what comes."""
        self._inner.set_protocol(protocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        """Return the protocol that hears what comes."""
        return self._inner.get_protocol()

    def is_reading(self) -> bool:
        """Return whether it reads."""
        return self._inner.is_reading()

    def pause_reading(self) -> None:
        """Read no more."""
        self._inner.pause_reading()

    def resume_reading(self) -> None:
        """Read again."""
        self._inner.resume_reading()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Set when the protocol is told to write no more."""
        self._inner.set_write_buffer_limits(high, low)

    def get_write_buffer_limits(self) -> tuple[int, int]:
        """Return when the protocol is told to write no more."""
        return self._inner.get_write_buffer_limits()

    def get_write_buffer_size(self) -> int:
        """Return how many bytes are not sent yet."""
        return self._pending_bytes + self._inner.get_write_buffer_size()
