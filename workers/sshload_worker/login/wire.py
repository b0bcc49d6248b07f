"""The data types of the SSH wire (RFC 4251 section 5): read from bytes, and written."""


class WireError(ValueError):
    """The data ends too early."""


class WireReader:
    """Reads one value after another."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def rest(self) -> bytes:
        """The data that has not been read yet."""
        return self._data[self._at :]

    def fixed(self, size: int) -> bytes:
        """Read `size` bytes; raises WireError if there are fewer."""
        end = self._at + size
        if end > len(self._data):
            raise WireError(f"{size} bytes are expected, {len(self._data) - self._at} are left")
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def uint32(self) -> int:
        """Read a number of four bytes."""
        return int.from_bytes(self.fixed(4), "big")

    def uint64(self) -> int:
        """Read a number of eight bytes."""
        return int.from_bytes(self.fixed(8), "big")

    def string(self) -> bytes:
        """Read a string with its length."""
        return self.fixed(self.uint32())

    def text(self) -> str:
        """Read a string of ASCII characters. Others are replaced."""
        return self.string().decode("ascii", "replace")


def wire_string(data: bytes) -> bytes:
    """Return a string with its length."""
    return len(data).to_bytes(4, "big") + data
