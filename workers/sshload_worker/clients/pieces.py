"""Data cut into pieces."""

from collections.abc import Iterator


def pieces_of(data: bytes, size: int | None) -> Iterator[bytes]:
    """Yield `data` in pieces of at most `size` bytes, all at once where that is None."""
    if size is None or len(data) <= size:
        yield data
        return
    for begin in range(0, len(data), size):
        yield data[begin : begin + size]
