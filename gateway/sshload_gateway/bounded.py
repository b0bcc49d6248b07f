"""Content that comes in pieces from somebody who may send too much."""

from collections.abc import AsyncIterable


async def joined(pieces: AsyncIterable[bytes], most: int, what: str) -> bytes:
    """Return the pieces as one; raises ValueError, which names `what`, once they have more than `most` bytes."""
    content = bytearray()
    async for piece in pieces:
        content += piece
        if len(content) > most:
            raise ValueError(f"{what} is too large")
    return bytes(content)
