"""The steps that work on files: reading and writing by SFTP and scp, and other SFTP requests."""

from collections.abc import Callable
from functools import partial
from time import monotonic_ns
from typing import Final, TypeAlias

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
from sshload_contract.vocabulary import Timing, measured_step

from sshload_worker.clients.by_parts import read_by_parts
from sshload_worker.clients.interface import SFTP_PERMISSIONS, Course, Sftp, SftpRequest, SftpType
from sshload_worker.scenario.parts import Parts
from sshload_worker.scenario.step_clock import classify_error
from sshload_worker.scenario.steps.runners import StepMethods, runs
from sshload_worker.scenario.steps.step_run import StepRun
from sshload_worker.scenario.steps.transfer import Expectation, Flow, raise_mismatch, verify_file, write_file

_Read: TypeAlias = Callable[[Callable[[bytes], object], Course], None]
"""Reads a file: passes each piece to a function, and records the course."""

_Changing: TypeAlias = (
    SftpMkdirStep | SftpRmdirStep | SftpRenameStep | SftpRemoveStep | SftpSymlinkStep | SftpSetstatStep
)
_NEW_DIRECTORY: Final = (SFTP_PERMISSIONS, 0o755)


@runs(SftpReadStep)
def run_sftp_read(step: SftpReadStep, run: StepRun) -> None:
    """Read the file; raises StepFailure if this fails or the file is not as expected."""
    _read(step, run, Timing.SFTP_READ, lambda: partial(run.sftp(step.name).read_file, run.fill_in(step.path)))


@runs(SftpWriteStep)
def run_sftp_write(step: SftpWriteStep, run: StepRun) -> None:
    """Write the file; raises StepFailure if this fails or the file on the server is not what was written."""
    run.clock.timed(measured_step(step.name, Timing.SFTP_WRITE), partial(_sftp_write, step, run))


def _sftp_write(step: SftpWriteStep, run: StepRun) -> None:
    sftp, path = run.sftp(step.name), run.fill_in(step.path)
    with run.step_limit(Timing.SFTP_WRITE):
        write_file(run, step.name, Timing.SFTP_WRITE, partial(sftp.open_to_write, path), step.size_bytes)
        if step.verify is not Verify.NONE:
            size, begin = partial(sftp.stat, path), partial(sftp.open_to_read, path)
            run.time_part(step.name, Timing.VERIFY, partial(verify_file, step.verify, step.size_bytes, size, begin))


@runs(ScpReadStep)
def run_scp_read(step: ScpReadStep, run: StepRun) -> None:
    """Read the file; raises StepFailure if this fails or the file is not as expected."""
    begin = partial(run.connection.scp_read, run.fill_in(step.path))
    _read(step, run, Timing.SCP_READ, lambda: partial(read_by_parts, begin))


def _read(step: SftpReadStep | ScpReadStep, run: StepRun, whole: Timing, prepare: Callable[[], _Read]) -> None:
    """Read the file with the function that `prepare` returns. The time of `prepare` counts only in the whole step."""
    parts, course = Parts.of(step.name, whole, Timing.OPEN, Timing.READ, Timing.CLOSE), Course()
    expectation, opening_ns = Expectation(step.expect_bytes, step.expect_sha256), 0
    begin_ns = monotonic_ns()
    try:
        read = prepare()
        with run.step_limit(whole):
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


@runs(ScpWriteStep)
def run_scp_write(step: ScpWriteStep, run: StepRun) -> None:
    """Write the file; raises StepFailure if this fails or the file on the server is not what was written."""
    run.clock.timed(measured_step(step.name, Timing.SCP_WRITE), partial(_scp_write, step, run))


def _scp_write(step: ScpWriteStep, run: StepRun) -> None:
    path = run.fill_in(step.path)
    with run.step_limit(Timing.SCP_WRITE):
        begin_to_write = partial(run.connection.scp_write, path, step.size_bytes)
        write_file(run, step.name, Timing.SCP_WRITE, begin_to_write, step.size_bytes)
        if step.verify is not Verify.NONE:
            begin = partial(run.connection.scp_read, path)
            size = partial(_size_by_sftp, run, step.name, path)
            run.time_part(step.name, Timing.VERIFY, partial(verify_file, step.verify, step.size_bytes, size, begin))


def _size_by_sftp(run: StepRun, name: str, path: str) -> int | None:
    return run.sftp(name).stat(path)


@runs(SftpListStep)
def run_sftp_list(step: SftpListStep, run: StepRun) -> None:
    """List the directory; raises StepFailure if this fails or the number of entries is not as expected."""
    _timed(run, step.name, Timing.SFTP_LIST, partial(_list, step, run.fill_in(step.path)))


def _list(step: SftpListStep, path: str, sftp: Sftp) -> None:
    entries = sftp.list_directory(path)
    if step.expect_entries is not None and entries != step.expect_entries:
        raise_mismatch(f"{entries} entries, expected {step.expect_entries}")


@runs(SftpStatStep)
def run_sftp_stat(step: SftpStatStep, run: StepRun) -> None:
    """Request the attributes; raises StepFailure if this fails."""
    path = run.fill_in(step.path)
    _timed(run, step.name, Timing.SFTP_STAT, lambda sftp: sftp.stat(path))


@runs(SftpMkdirStep)
def run_sftp_mkdir(step: SftpMkdirStep, run: StepRun) -> None:
    """Make the directory; raises StepFailure if the server does not."""
    _change(step, run, SftpType.MKDIR, step.path, *_NEW_DIRECTORY)


@runs(SftpRmdirStep)
def run_sftp_rmdir(step: SftpRmdirStep, run: StepRun) -> None:
    """Remove the directory; raises StepFailure if the server does not."""
    _change(step, run, SftpType.RMDIR, step.path)


@runs(SftpRenameStep)
def run_sftp_rename(step: SftpRenameStep, run: StepRun) -> None:
    """Rename the file; raises StepFailure if the server does not."""
    _change(step, run, SftpType.RENAME, step.path, step.to)


@runs(SftpRemoveStep)
def run_sftp_remove(step: SftpRemoveStep, run: StepRun) -> None:
    """Remove the file; raises StepFailure if the server does not."""
    _change(step, run, SftpType.REMOVE, step.path)


@runs(SftpSymlinkStep)
def run_sftp_symlink(step: SftpSymlinkStep, run: StepRun) -> None:
    """Make the symbolic link; raises StepFailure if the server does not."""
    _change(step, run, SftpType.SYMLINK, step.to, step.path)


@runs(SftpSetstatStep)
def run_sftp_setstat(step: SftpSetstatStep, run: StepRun) -> None:
    """Set the permissions; raises StepFailure if the server does not."""
    _change(step, run, SftpType.SETSTAT, step.path, SFTP_PERMISSIONS, int(step.mode, 8))


def _change(step: _Changing, run: StepRun, kind: SftpType, *fields: str | int) -> None:
    """Send the step's request, with the iteration's number filled in."""
    filled = tuple(run.fill_in(field) if isinstance(field, str) else field for field in fields)
    request = SftpRequest(kind, run.fill_in(step.path), filled, step.timings[-1])
    _timed(run, step.name, request.step, lambda sftp: sftp.change(request))


def _timed(run: StepRun, name: str, kind: Timing, ask: Callable[[Sftp], object]) -> None:
    run.clock.timed(measured_step(name, kind), partial(_limited, run, name, kind, ask))


def _limited(run: StepRun, name: str, kind: Timing, ask: Callable[[Sftp], object]) -> None:
    sftp = run.sftp(name)
    with run.step_limit(kind):
        ask(sftp)


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
