"""Transfers of files: read to the end in bounded memory, written, and verified, in the same parts by each protocol."""

from collections.abc import Callable
from functools import partial
from time import monotonic_ns

from sshload_contract.steps import Verify
from sshload_contract.vocabulary import Outcome, Step, measured_step

from sshload_worker.clients.interface import RemoteFile
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.steps.expectations import Expectation, PayloadCheck, pieces
from sshload_worker.scenario.steps.step_run import StepRun


def read_file(run: StepRun, name: str, begin: Callable[[], RemoteFile], expectation: Expectation) -> int:
    """Read a file to its end and return its size; raises StepFailure where it is not as expected."""
    file = run.time_part(name, Step.OPEN, begin)
    count = run.time_part(name, Step.READ, partial(read_to_end, run, name, file.read, expectation.update))
    run.time_part(name, Step.CLOSE, file.close)
    raise_mismatch(expectation.mismatch())
    return count


def write_file(run: StepRun, name: str, begin: Callable[[], RemoteFile], size_bytes: int) -> None:
    """Write a payload of this size."""
    file = run.time_part(name, Step.OPEN, begin)
    run.time_part(name, Step.WRITE, partial(_write_payload, file, size_bytes))
    run.time_part(name, Step.CLOSE, file.close)


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
        run.clock.record(measured_step(name, Step.FIRST_BYTE), begin_ns, Outcome.OK)
    count = 0
    while piece:
        count += len(piece)
        update(piece)
        piece = read()
    return count
