"""Data that steps move, in bounded memory: read to the end or written, and compared with what is expected.

Expectations are a text in output, and the size, digest or payload of a file. The parts are the same by each protocol.
"""

import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from time import monotonic_ns

from sshload_contract.steps import Verify
from sshload_contract.vocabulary import Outcome, Timing, measured_step

from sshload_worker.clients.interface import RemoteFile
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.steps.step_run import StepRun

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
    """Checks a file by its size and its SHA-256 (hexadecimal), each where given, while it is read.

    `count` is how many bytes of it came.
    """

    __slots__ = ("_bytes", "_digest", "_sha256", "count")

    def __init__(self, expect_bytes: int | None, expect_sha256: str) -> None:
        self._bytes = expect_bytes
        self._sha256 = expect_sha256.lower()
        self._digest = hashlib.sha256() if expect_sha256 else None
        self.count = 0

    def update(self, piece: bytes) -> None:
        """Add the next piece of the file."""
        self.count += len(piece)
        if self._digest is not None:
            self._digest.update(piece)

    def mismatch(self) -> str:
        """Return the difference from what is expected, once the whole file was seen; "" where there is none."""
        if self._bytes is not None and self.count != self._bytes:
            return f"{self.count} bytes, expected {self._bytes}"
        if self._digest is not None and self._digest.hexdigest() != self._sha256:
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
            return f"byte {self._differs_at} came back different from what was written"
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


def write_file(run: StepRun, name: str, begin: Callable[[], RemoteFile], size_bytes: int) -> None:
    """Write a payload of this size."""
    file = run.time_part(name, Timing.OPEN, begin)
    run.time_part(name, Timing.WRITE, partial(_write_payload, file, size_bytes))
    run.time_part(name, Timing.CLOSE, file.close)


def _write_payload(file: RemoteFile, size_bytes: int) -> None:
    for piece in pieces(size_bytes):
        file.write(piece)


def verify_file(
    verify: Verify, size_bytes: int, size_on_server: Callable[[], int], begin: Callable[[], RemoteFile]
) -> None:
    """Check a payload that was written, as `verify` says; raises StepFailure where it is not there as it should."""
    if verify is Verify.SIZE:
        size = size_on_server()
        raise_mismatch("" if size == size_bytes else f"{size} bytes on the server of {size_bytes} that were written")
    elif verify is Verify.CONTENT:
        raise_mismatch(_read_back(begin(), size_bytes))


def _read_back(file: RemoteFile, size_bytes: int) -> str:
    check = PayloadCheck(size_bytes)
    while piece := file.read():
        check.update(piece)
    file.close()
    return check.mismatch()


def raise_mismatch(mismatch: str) -> None:
    """Raise StepFailure where something that came back is not as it should be."""
    if mismatch:
        raise StepFailure(Outcome.OUTPUT_MISMATCH, mismatch)


def read_to_end(run: StepRun, name: str, read: Callable[[], bytes], update: Callable[[bytes], object]) -> int:
    """Hand each piece to `update`, and return how many bytes came.

    FIRST_BYTE of the step `name` is timed only where there is one.
    """
    begin_ns = monotonic_ns()
    piece = read()
    if piece and run.connection.times_parts:
        run.clock.record(measured_step(name, Timing.FIRST_BYTE), begin_ns, Outcome.OK)
    count = 0
    while piece:
        count += len(piece)
        update(piece)
        piece = read()
    return count
