"""Expectations on what comes back: a text in output, and the size, digest or payload of a file, in bounded memory."""

import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache

from sshload_contract.vocabulary import Outcome

from sshload_worker.outcomes import StepFailure

BLOCK_BYTES = 1_048_576
_SEED = 20_261_121


@dataclass(slots=True)
class AwaitedText:
    """A plain text that has to come; an empty one is there from the beginning."""

    text: str
    _sought: bytes = field(init=False)
    _tail: bytes = field(init=False, default=b"")

    def __post_init__(self) -> None:
        self._sought = self.text.encode()

    def found_in(self, piece: bytes) -> bool:
        """Search the next piece, and return whether the text has come by its end."""
        seen = self._tail + piece
        if self._sought in seen:
            return True
        keep = len(self._sought) - 1
        self._tail = seen[-keep:] if keep > 0 else b""
        return False


def await_text(read: Callable[[], bytes], text: str, field_name: str) -> None:
    """Read until `text` has come; raises StepFailure, which names the field, where the output ends before."""
    awaited = AwaitedText(text)
    if not text:
        return
    while piece := read():
        if awaited.found_in(piece):
            return
    raise StepFailure(Outcome.OUTPUT_MISMATCH, f"the output ended before `{field_name}` came")


class Expectation:
    """Checks a file by its size and its SHA-256 (hexadecimal), each where given, while it is read."""

    __slots__ = ("_bytes", "_count", "_digest", "_sha256")

    def __init__(self, expect_bytes: int | None, expect_sha256: str) -> None:
        self._bytes = expect_bytes
        self._sha256 = expect_sha256.lower()
        self._digest = hashlib.sha256()
        self._count = 0

    def update(self, piece: bytes) -> None:
        """Add the next piece of the file."""
        self._count += len(piece)
        if self._sha256:
            self._digest.update(piece)

    def mismatch(self) -> str:
        """Return the difference from what is expected, once the whole file was seen; "" where there is none."""
        if self._bytes is not None and self._count != self._bytes:
            return f"{self._count} bytes, expected {self._bytes}"
        if self._sha256 and self._digest.hexdigest() != self._sha256:
            return f"SHA-256 {self._digest.hexdigest()}, expected {self._sha256}"
        return ""


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

    def update(self, piece: bytes) -> None:
        """Compare the next piece."""
        if self._differs_at is None:
            same = _same_bytes(piece, self._count % BLOCK_BYTES)
            if same < len(piece):
                self._differs_at = self._count + same
        self._count += len(piece)

    def mismatch(self) -> str:
        """Return the difference from what was written, once the whole file was seen; "" where there is none."""
        if self._count != self._size_bytes:
            return f"{self._count} bytes came back of {self._size_bytes} that were written"
        if self._differs_at is not None:
            return f"byte {self._differs_at} came back other than it was written"
        return ""


def _same_bytes(piece: bytes, offset: int) -> int:
    """Return the number of bytes of `piece` that match a payload from `offset` on, which is within its first block."""
    done = 0
    while done < len(piece):
        time_part = piece[done : done + BLOCK_BYTES - offset]
        if not block().startswith(time_part, offset):
            expected = block()[offset : offset + len(time_part)]
            return done + next(
                at for at, (mine, its) in enumerate(zip(expected, time_part, strict=True)) if mine != its
            )
        done += len(time_part)
        offset = 0
    return done
