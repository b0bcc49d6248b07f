"""The steps that ask for and change names over SFTP: a request and its answer each, timed as a whole."""

from collections.abc import Callable
from functools import partial

from sshload_contract.steps import (
    SftpListStep,
    SftpMkdirStep,
    SftpRemoveStep,
    SftpRenameStep,
    SftpRmdirStep,
    SftpStatStep,
)
from sshload_contract.vocabulary import Step, measured_step

from sshload_worker.clients.interface import Sftp
from sshload_worker.scenario.steps.checked_transfer import refuse
from sshload_worker.scenario.steps.step_run import StepRun


def run_sftp_list(step: SftpListStep, run: StepRun) -> None:
    """Read the directory; raises StepFailure where that fails or there are not as many entries as expected."""
    _timed(run, step.name, Step.SFTP_LIST, partial(_list, step, run.filled(step.path)))


def _list(step: SftpListStep, path: str, sftp: Sftp) -> None:
    entries = sftp.list_directory(path)
    if step.expect_entries is not None and entries != step.expect_entries:
        refuse(f"{entries} entries, expected {step.expect_entries}")


def run_sftp_stat(step: SftpStatStep, run: StepRun) -> None:
    """Ask for the attributes; raises StepFailure where there are none."""
    path = run.filled(step.path)
    _timed(run, step.name, Step.SFTP_STAT, lambda sftp: sftp.stat(path))


def run_sftp_mkdir(step: SftpMkdirStep, run: StepRun) -> None:
    """Make the directory; raises StepFailure where the server does not."""
    path = run.filled(step.path)
    _timed(run, step.name, Step.SFTP_MKDIR, lambda sftp: sftp.mkdir(path))


def run_sftp_rmdir(step: SftpRmdirStep, run: StepRun) -> None:
    """Remove the directory; raises StepFailure where the server does not."""
    path = run.filled(step.path)
    _timed(run, step.name, Step.SFTP_RMDIR, lambda sftp: sftp.rmdir(path))


def run_sftp_rename(step: SftpRenameStep, run: StepRun) -> None:
    """Rename the file; raises StepFailure where the server does not."""
    path, to = run.filled(step.path), run.filled(step.to)
    _timed(run, step.name, Step.SFTP_RENAME, lambda sftp: sftp.rename(path, to))


def run_sftp_remove(step: SftpRemoveStep, run: StepRun) -> None:
    """Remove the file; raises StepFailure where the server does not."""
    path = run.filled(step.path)
    _timed(run, step.name, Step.SFTP_REMOVE, lambda sftp: sftp.remove(path))


def _timed(run: StepRun, name: str, kind: Step, ask: Callable[[Sftp], object]) -> None:
    run.clock.timed(measured_step(name, kind), partial(_limited, run, name, kind, ask))


def _limited(run: StepRun, name: str, kind: Step, ask: Callable[[Sftp], object]) -> None:
    sftp = run.sftp(name)
    with run.step_limit(kind):
        ask(sftp)
