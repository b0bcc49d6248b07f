"""Payload: the bytes that written files are made of. The same in every run, and such that no compression shrinks them.

One block of pseudo-random bytes, made once, is repeated as often as the size needs: memory stays the same from 0 bytes
to 100 GiB. Its length is far beyond the window in which SSH's compression finds repetitions (32 KiB). A file that is
read back is compared byte by byte, which is cheaper than any digest of it, and names the first byte that differs.
"""

import random
from collections.abc import Iterator
from functools import cache

BLOCK_BYTES = 1_048_576
_SEED = 20_261_121


@cache
def block() -> bytes:
    """Return the block that every payload repeats."""
    return random.Random(_SEED).randbytes(BLOCK_BYTES)  # noqa: S311 - it is to be the same in every run


def pieces(size_bytes: int) -> Iterator[bytes]:
    """Yield a payload of this size."""
    whole, rest = divmod(size_bytes, BLOCK_BYTES)
    for _ in range(whole):
        yield block()
    if rest:
        yield block()[:rest]


class PayloadCheck:
    """Compares a file that is read back with the payload of `size_bytes` that was written."""

    __slots__ = ("_count", "_differs_at", "_size_bytes")

    def __init__(self, size_bytes: int) -> None:
        self._size_bytes = size_bytes
        self._count = 0
        self._differs_at: int | None = None

    def take(self, piece: bytes) -> None:
        """Compare the next piece."""
        if self._differs_at is None:
            same = _same_bytes(piece, self._count % BLOCK_BYTES)
            if same < len(piece):
                self._differs_at = self._count + same
        self._count += len(piece)

    def objection(self) -> str:
        """Return how the file differs, once all of it was taken; empty where it does not."""
        if self._count != self._size_bytes:
            return f"{self._count} bytes came back of {self._size_bytes} that were written"
        if self._differs_at is not None:
            return f"byte {self._differs_at} came back other than it was written"
        return ""


def _same_bytes(piece: bytes, offset: int) -> int:
    """Return how many bytes of `piece` are those of a payload from `offset` on, which is within its first block."""
    done = 0
    while done < len(piece):
        part = piece[done : done + BLOCK_BYTES - offset]
        if not block().startswith(part, offset):
            expected = block()[offset : offset + len(part)]
            return done + next(at for at, (mine, its) in enumerate(zip(expected, part, strict=True)) if mine != its)
        done += len(part)
        offset = 0
    return done
