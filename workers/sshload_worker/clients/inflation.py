"""What a server has compressed, inflated to the largest packet and no further.

A packet of zlib's may become a thousand times as large: the libraries' own inflation would fill the memory, and take as
much CPU, in a process that does nothing else meanwhile.
"""

import zlib

MOST_BYTES = 1_048_576 + 1_024
"""The largest packet that `client.packetSize` allows, and what is about its content."""


class InflationError(Exception):
    """The server has sent what zlib cannot read, or a packet that is too large."""


class Inflation:
    """The inflation of one connection: each packet continues the one before."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj()

    def inflated(self, packet: bytes) -> bytes:
        """Return the content of a packet; raises InflationError."""
        try:
            content = self._zlib.decompress(packet, MOST_BYTES)
        except zlib.error as error:
            raise InflationError(f"compressed data that zlib cannot read: {error}") from None
        if self._zlib.unconsumed_tail:
            raise InflationError(f"a compressed packet of more than {MOST_BYTES:,} bytes")
        return content
