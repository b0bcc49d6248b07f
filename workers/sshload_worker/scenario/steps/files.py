"""The steps that work on files: reading and writing by SFTP and scp, and other SFTP requests."""

from collections.abc import Callable, Mapping
from functools import partial
from time import monotonic_ns
from typing import Any, Final, TypeAlias

from sshload_contract.steps import (
    ScpReadStep,
    ScpWriteStep,
    SftpListStep,
    SftpMkdirStep,
    SftpReadStep,
    SftpRemoveStep,
    SftpRenameStep,
    SftpRmdirStep,
    SftpSetstatStep,
    SftpStatStep,
    SftpSymlinkStep,
    SftpWriteStep,
    Verify,
)
from sshload_contract.vocabulary import Timing

from sshload_worker.clients.by_parts import read_by_parts
from sshload_worker.clients.interface import SFTP_PERMISSIONS, Course, SftpRequest, SftpType
from sshload_worker.scenario.parts import Parts
from sshload_worker.scenario.step_clock import classify_error
from sshload_worker.scenario.steps.runners import StepMethods, runs, times
from sshload_worker.scenario.steps.step_run import StepRun
from sshload_worker.scenario.steps.transfer import Expectation, Flow, raise_mismatch, verify_file, write_file

_Read: TypeAlias = Callable[[Callable[[bytes], object], Course], None]
"""Reads a file: passes each piece to a function, and records the course."""

_Changing: TypeAlias = (
    SftpMkdirStep | SftpRmdirStep | SftpRenameStep | SftpRemoveStep | SftpSymlinkStep | SftpSetstatStep
)


@runs(SftpReadStep)
def run_sftp_read(step: SftpReadStep, run: StepRun) -> None:
    """Read the file; raises StepFailure if this fails or the file is not as expected."""
    _read(step, run, lambda: partial(run.sftp(step.name).read_file, run.fill_in(step.path)))


@times(SftpWriteStep)
def run_sftp_write(step: SftpWriteStep, run: StepRun) -> None:
    """Write the file; raises StepFailure if this fails or the file on the server is not what was written."""
    sftp, path = run.sftp(step.name), run.fill_in(step.path)
    with run.step_limit(step.kind):
        write_file(step, run, partial(sftp.open_to_write, path))
        if step.verify is not Verify.NONE:
            size, begin = partial(sftp.stat, path), partial(sftp.open_to_read, path)
            run.time_part(step.name, Timing.VERIFY, partial(verify_file, step.verify, step.size_bytes, size, begin))


@runs(ScpReadStep)
def run_scp_read(step: ScpReadStep, run: StepRun) -> None:
    """Read the file; raises StepFailure if this fails or the file is not as expected."""
    begin = partial(run.connection.scp_read, run.fill_in(step.path))
    _read(step, run, lambda: partial(read_by_parts, begin))


def _read(step: SftpReadStep | ScpReadStep, run: StepRun, prepare: Callable[[], _Read]) -> None:
    """Read the file with the function that `prepare` returns. The time of `prepare` counts only in the whole step."""
    parts, course = Parts.of(step.name, step.kind, Timing.OPEN, Timing.READ, Timing.CLOSE), Course()
    expectation, opening_ns = Expectation(step.expect_bytes, step.expect_sha256), 0
    begin_ns = monotonic_ns()
    try:
        read = prepare()
        with run.step_limit(step.kind):
            opening_ns = monotonic_ns()
            _pass_on(read, expectation, Flow(run, parts.whole), course)
        raise_mismatch(expectation.mismatch())
    except BaseException as error:
        run.count_failure(parts, begin_ns, (opening_ns,), course, classify_error(error).outcome)
        raise
    run.count_success(parts, begin_ns, (opening_ns,), course)


def _pass_on(read: _Read, expectation: Expectation, flow: Flow, course: Course) -> None:
    def take(piece: bytes) -> None:
        flow.add(piece)
        expectation.update(piece)

    try:
        read(take, course)
    finally:
        flow.end()


@times(ScpWriteStep)
def run_scp_write(step: ScpWriteStep, run: StepRun) -> None:
    """Write the file; raises StepFailure if this fails or the file on the server is not what was written."""
    path = run.fill_in(step.path)
    with run.step_limit(step.kind):
        write_file(step, run, partial(run.connection.scp_write, path, step.size_bytes))
        if step.verify is not Verify.NONE:
            begin = partial(run.connection.scp_read, path)

            def size() -> int | None:
                return run.sftp(step.name).stat(path)

            run.time_part(step.name, Timing.VERIFY, partial(verify_file, step.verify, step.size_bytes, size, begin))


@times(SftpListStep)
def run_sftp_list(step: SftpListStep, run: StepRun) -> None:
    """List the directory; raises StepFailure if this fails or the number of entries is not as expected."""
    sftp, path = run.sftp(step.name), run.fill_in(step.path)
    with run.step_limit(step.kind):
        entries = sftp.list_directory(path)
    if step.expect_entries is not None and entries != step.expect_entries:
        raise_mismatch(f"{entries} entries, expected {step.expect_entries}")


@times(SftpStatStep)
def run_sftp_stat(step: SftpStatStep, run: StepRun) -> None:
    """Request the attributes; raises StepFailure if this fails."""
    sftp, path = run.sftp(step.name), run.fill_in(step.path)
    with run.step_limit(step.kind):
        sftp.stat(path)


_REQUESTS: Final[Mapping[type[_Changing], Callable[[Any], tuple[SftpType, *tuple[str | int, ...]]]]] = {
    SftpMkdirStep: lambda step: (SftpType.MKDIR, step.path, SFTP_PERMISSIONS, 0o755),
    SftpRmdirStep: lambda step: (SftpType.RMDIR, step.path),
    SftpRenameStep: lambda step: (SftpType.RENAME, step.path, step.to),
    SftpRemoveStep: lambda step: (SftpType.REMOVE, step.path),
    SftpSymlinkStep: lambda step: (SftpType.SYMLINK, step.to, step.path),
    SftpSetstatStep: lambda step: (SftpType.SETSTAT, step.path, SFTP_PERMISSIONS, int(step.mode, 8)),
}
"""The type and the fields of each request that a status answers."""


@times(*_REQUESTS)
def run_sftp_request(step: _Changing, run: StepRun) -> None:
    """Send the request, with the iteration's number filled in; raises StepFailure if the server refuses it."""
    kind, *fields = _REQUESTS[type(step)](step)
    filled = tuple(run.fill_in(field) if isinstance(field, str) else field for field in fields)
    request, sftp = SftpRequest(kind, run.fill_in(step.path), filled, step.kind), run.sftp(step.name)
    with run.step_limit(step.kind):
        sftp.change(request)


class FileMethods(StepMethods):
    """The steps that work on files, for locustfiles."""

    def sftp_read(self, path: str, *, name: str = "", expect_bytes: int | None = None, expect_sha256: str = "") -> None:
        """Read a file over SFTP, and check its size and its SHA-256 (hexadecimal) if they are given."""
        self._run(SftpReadStep(name, path, expect_bytes, expect_sha256))

    def sftp_write(self, path: str, size_bytes: int, *, name: str = "", verify: str = "none") -> None:
        """Write a file over SFTP, and check it as `verify` says: "none", "size" or "content"."""
        self._run(SftpWriteStep(name, path, size_bytes, Verify(verify)))

    def sftp_list(self, path: str, *, name: str = "", expect_entries: int | None = None) -> None:
        """List a directory over SFTP. `expect_entries` does not count `.` and `..`."""
        self._run(SftpListStep(name, path, expect_entries))

    def sftp_stat(self, path: str, *, name: str = "") -> None:
        """Request a file's attributes over SFTP."""
        self._run(SftpStatStep(name, path))

    def sftp_mkdir(self, path: str, *, name: str = "") -> None:
        """Make a directory over SFTP."""
        self._run(SftpMkdirStep(name, path))

    def sftp_rmdir(self, path: str, *, name: str = "") -> None:
        """Remove an empty directory over SFTP."""
        self._run(SftpRmdirStep(name, path))

    def sftp_rename(self, path: str, to: str, *, name: str = "") -> None:
        """Rename a file over SFTP."""
        self._run(SftpRenameStep(name, path, to))

    def sftp_remove(self, path: str, *, name: str = "") -> None:
        """Remove a file over SFTP."""
        self._run(SftpRemoveStep(name, path))

    def sftp_symlink(self, path: str, to: str, *, name: str = "") -> None:
        """Make a symbolic link at `path` over SFTP."""
        self._run(SftpSymlinkStep(name, path, to))

    def sftp_setstat(self, path: str, mode: str, *, name: str = "") -> None:
        """Set a file's permissions over SFTP, given as octal digits ("0640")."""
        self._run(SftpSetstatStep(name, path, mode))

    def scp_read(self, path: str, *, name: str = "", expect_bytes: int | None = None, expect_sha256: str = "") -> None:
        """Read a file by scp, and check its size and its SHA-256 (hexadecimal) if they are given."""
        self._run(ScpReadStep(name, path, expect_bytes, expect_sha256))

    def scp_write(self, path: str, size_bytes: int, *, name: str = "", verify: str = "none") -> None:
        """Write a file by scp, and check it as `verify` says: "none", "size" or "content"."""
        self._run(ScpWriteStep(name, path, size_bytes, Verify(verify)))
