"""The steps that read and write files over SFTP."""

from functools import partial

from sshload_contract.steps import SftpReadStep, SftpWriteStep, Verify
from sshload_contract.vocabulary import Step, measured_step

from sshload_worker.scenario.steps.checked_transfer import read_file, verify_file, write_file
from sshload_worker.scenario.steps.expectation import Expectation
from sshload_worker.scenario.steps.step_run import StepRun


def run_sftp_read(step: SftpReadStep, run: StepRun) -> None:
    """Read the file; raises StepFailure where that fails or it is not as expected."""
    measured = measured_step(step.name, Step.SFTP_READ)
    run.clock.transferred(measured, run.clock.timed(measured, partial(_read, step, run)))


def _read(step: SftpReadStep, run: StepRun) -> int:
    sftp = run.sftp(step.name)
    with run.step_limit(Step.SFTP_READ):
        begin = partial(sftp.open_to_read, run.filled(step.path))
        return read_file(run, step.name, begin, Expectation(step.expect_bytes, step.expect_sha256))


def run_sftp_write(step: SftpWriteStep, run: StepRun) -> None:
    """Write the file; raises StepFailure where that fails or it is not on the server as it should be."""
    measured = measured_step(step.name, Step.SFTP_WRITE)
    run.clock.timed(measured, partial(_write, step, run))
    run.clock.transferred(measured, step.size_bytes)


def _write(step: SftpWriteStep, run: StepRun) -> None:
    sftp, path = run.sftp(step.name), run.filled(step.path)
    with run.step_limit(Step.SFTP_WRITE):
        write_file(run, step.name, partial(sftp.open_to_write, path), step.size_bytes)
        if step.verify is not Verify.NONE:
            size, begin = partial(sftp.stat, path), partial(sftp.open_to_read, path)
            run.part(step.name, Step.VERIFY, partial(verify_file, step.verify, step.size_bytes, size, begin))
