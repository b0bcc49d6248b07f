"""The steps that read and write files by scp.

scp itself cannot say how large a file on the server is, so `verify: size` asks by SFTP, on the same connection.
"""

from functools import partial

from sshload_contract.steps import ScpReadStep, ScpWriteStep, Verify
from sshload_contract.vocabulary import Step, measured_step

from sshload_worker.scenario.steps.checked_transfer import read_file, verify_file, write_file
from sshload_worker.scenario.steps.expectation import Expectation
from sshload_worker.scenario.steps.step_run import StepRun


def run_scp_read(step: ScpReadStep, run: StepRun) -> None:
    """Read the file; raises StepFailure where that fails or it is not as expected."""
    measured = measured_step(step.name, Step.SCP_READ)
    run.clock.transferred(measured, run.clock.timed(measured, partial(_read, step, run)))


def _read(step: ScpReadStep, run: StepRun) -> int:
    with run.step_limit(Step.SCP_READ):
        begin = partial(run.connection.scp_read, run.filled(step.path))
        return read_file(run, step.name, begin, Expectation(step.expect_bytes, step.expect_sha256))


def run_scp_write(step: ScpWriteStep, run: StepRun) -> None:
    """Write the file; raises StepFailure where that fails or it is not on the server as it should be."""
    measured = measured_step(step.name, Step.SCP_WRITE)
    run.clock.timed(measured, partial(_write, step, run))
    run.clock.transferred(measured, step.size_bytes)


def _write(step: ScpWriteStep, run: StepRun) -> None:
    path = run.filled(step.path)
    with run.step_limit(Step.SCP_WRITE):
        write_file(run, step.name, partial(run.connection.scp_write, path, step.size_bytes), step.size_bytes)
        if step.verify is not Verify.NONE:
            begin = partial(run.connection.scp_read, path)
            size = partial(_size_by_sftp, run, step.name, path)
            run.part(step.name, Step.VERIFY, partial(verify_file, step.verify, step.size_bytes, size, begin))


def _size_by_sftp(run: StepRun, name: str, path: str) -> int:
    return run.sftp(name).stat(path)
