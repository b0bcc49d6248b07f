"""Data that steps transfer, in bounded memory: read to the end or written, and compared with what is expected.

Steps can expect a text in the output, and the size, digest or payload of a file. The parts are the same for each
protocol.
"""

import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from time import monotonic_ns

from sshload_contract.shortened import printable
from sshload_contract.steps import ScpWriteStep, SftpWriteStep, Verify
from sshload_contract.vocabulary import Outcome, Timing, measured_step

from sshload_worker.clients.interface import RemoteFile
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.steps.step_run import StepRun

BLOCK_BYTES = 1_048_576
_LAST_WORDS_BYTES = 160
"""Of an output that ended too early, for a message: a server says there why it ends a session (pam_limits(8))."""

_SEED = 20_261_121


@dataclass(slots=True)
class AwaitedText:
    """A plain text that is expected in the output. An empty text is found at once."""

    text: str
    _sought: bytes = field(init=False)
    _tail: bytes = field(init=False, default=b"")

    def __post_init__(self) -> None:
        self._sought = self.text.encode()

    def found_in(self, piece: bytes) -> bool:
        """Search the next piece; return whether the text is complete at its end."""
        seen = self._tail + piece
        if self._sought in seen:
            return True
        keep = len(self._sought) - 1
        self._tail = seen[-keep:] if keep > 0 else b""
        return False


def await_text(read: Callable[[], bytes], text: str, field_name: str) -> None:
    """Read until `text` has arrived; raises StepFailure, which has the field and the last words, if it never comes."""
    awaited, last = AwaitedText(text), b""
    if not text:
        return
    while piece := read():
        if awaited.found_in(piece):
            return
        last = (last + piece)[-_LAST_WORDS_BYTES:]
    said = printable(" ".join(last.decode("utf-8", "replace").split()))
    with_words = f': its last words are "{said}"' if said else ""
    raise StepFailure(Outcome.OUTPUT_MISMATCH, f"the output ended before `{field_name}` came{with_words}")


class Expectation:
    """Checks a file by its size and its SHA-256 (hexadecimal), each if given, while it is read.

    `count` is the number of bytes read.
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
        """Return the difference from what is expected, after the last piece; "" if there is none."""
        if self._bytes is not None and self.count != self._bytes:
            return f"{self.count} bytes, expected {self._bytes}"
        if self._digest is not None and self._digest.hexdigest() != self._sha256:
            return f"SHA-256 {self._digest.hexdigest()}, expected {self._sha256}"
        return ""


@cache
def block() -> bytes:
    """Return the block that every payload repeats."""
    return random.Random(_SEED).randbytes(BLOCK_BYTES)  # noqa: S311 - must be the same in every run


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
        """Return the difference from what was written, after the last piece; "" if there is none."""
        if self._count != self._size_bytes:
            return f"{self._count} bytes were read back, {self._size_bytes} were written"
        if self._differs_at is not None:
            return f"byte {self._differs_at} differs from what was written"
        return ""


def _same_bytes(piece: bytes, offset: int) -> int:
    """Return how many bytes of `piece` match a payload from `offset` on, which is within the payload's first block."""
    done = 0
    while done < len(piece):
        within_block = piece[done : done + BLOCK_BYTES - offset]
        if not block().startswith(within_block, offset):
            expected = block()[offset : offset + len(within_block)]
            return done + next(
                at for at, (mine, its) in enumerate(zip(expected, within_block, strict=True)) if mine != its
            )
        done += len(within_block)
        offset = 0
    return done


class Flow:
    """Counts the bytes of a file that the step `name` moves, evenly over the time in which each piece moved.

    A library that does not tell the parts of a step may move the whole file in one of them. Then its bytes count
    evenly over the time from the first to the last of them, once `end` is called.
    """

    __slots__ = ("_by_piece", "_count", "_name", "_run", "_since_ns")

    def __init__(self, run: StepRun, name: str) -> None:
        self._run = run
        self._name = name
        self._by_piece = run.connection.times_parts
        self._count = 0
        self._since_ns = monotonic_ns()

    def add(self, piece: bytes) -> None:
        """Count the next piece."""
        self._count += len(piece)
        if self._by_piece:
            self.end()

    def end(self) -> None:
        """Count what is not counted yet as moved until now."""
        if self._count:
            self._run.clock.moved(self._name, self._count, self._since_ns)
            self._count = 0
        self._since_ns = monotonic_ns()


def write_file(step: SftpWriteStep | ScpWriteStep, run: StepRun, begin: Callable[[], RemoteFile]) -> None:
    """Write a payload of the step's size, as a part of it."""
    flow = Flow(run, measured_step(step.name, step.kind))
    file = run.time_part(step.name, Timing.OPEN, begin)
    run.time_part(step.name, Timing.WRITE, partial(_write_payload, file, step.size_bytes, flow))
    run.time_part(step.name, Timing.CLOSE, file.close)
    flow.end()


def _write_payload(file: RemoteFile, size_bytes: int, flow: Flow) -> None:
    for piece in pieces(size_bytes):
        file.write(piece)
        flow.add(piece)


def verify_file(
    verify: Verify, size_bytes: int, size_on_server: Callable[[], int | None], begin: Callable[[], RemoteFile]
) -> None:
    """Check a payload that was written, as `verify` says; raises StepFailure if the file on the server differs."""
    if verify is Verify.SIZE:
        size = size_on_server()
        if size is None:
            raise StepFailure(Outcome.SFTP_BAD_MESSAGE, "the server does not tell the size of the file: verify content")
        raise_mismatch("" if size == size_bytes else f"{size} bytes are on the server, {size_bytes} were written")
    elif verify is Verify.CONTENT:
        raise_mismatch(_read_back(begin(), size_bytes))


def _read_back(file: RemoteFile, size_bytes: int) -> str:
    check = PayloadCheck(size_bytes)
    while piece := file.read():
        check.update(piece)
    file.close()
    return check.mismatch()


def raise_mismatch(mismatch: str) -> None:
    """Raise StepFailure if there is a mismatch."""
    if mismatch:
        raise StepFailure(Outcome.OUTPUT_MISMATCH, mismatch)


def read_to_end(
    run: StepRun, name: str, whole: str, read: Callable[[], bytes], update: Callable[[bytes], object]
) -> None:
    """Pass each piece to `update`, and count its bytes as moved by the step `name`, whose timing is `whole`.

    FIRST_BYTE of the step is timed if there is one and the client library can time parts.
    """
    measured = measured_step(name, whole)
    begin_ns = monotonic_ns()
    piece = read()
    if piece and run.connection.times_parts:
        run.clock.record(measured_step(name, Timing.FIRST_BYTE), begin_ns, Outcome.OK)
    while piece:
        run.clock.moved(measured, len(piece))
        update(piece)
        piece = read()
