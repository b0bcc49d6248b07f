"""asyncssh's compression, with an inflation that is bounded."""

from asyncssh.compression import Decompressor, _ZLibCompress, register_compression_alg

from sshload_worker.clients.inflation import Inflation, InflationError


class BoundedInflation(Decompressor):
    """The inflation of one connection."""

    def __init__(self) -> None:
        self._inflation = Inflation()

    def decompress(self, data: bytes) -> bytes | None:
        """Return the content of a packet, None if it cannot be read or is too large: that ends the connection."""
        try:
            return self._inflation.inflated(data)
        except InflationError:
            return None


def bound_inflations() -> None:
    """Let asyncssh use it in this process."""
    register_compression_alg(b"zlib@openssh.com", _ZLibCompress, BoundedInflation, True, True)
    register_compression_alg(b"zlib", _ZLibCompress, BoundedInflation, False, False)
