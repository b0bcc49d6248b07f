"""Calls the function that runs each kind of step."""

from collections.abc import Callable
from typing import Any

from gevent import sleep
from sshload_contract.steps import (
    ExecStep,
    ForwardStep,
    GitUploadPackStep,
    RsyncStep,
    ScenarioStep,
    ScpReadStep,
    ScpWriteStep,
    SftpListStep,
    SftpMkdirStep,
    SftpReadStep,
    SftpRemoveStep,
    SftpRenameStep,
    SftpRmdirStep,
    SftpStatStep,
    SftpWriteStep,
    ShellStep,
    SleepStep,
)
from sshload_contract.vocabulary import Outcome

from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.steps.channel import run_forward, run_shell
from sshload_worker.scenario.steps.command import prepare_command, run_command
from sshload_worker.scenario.steps.files import (
    run_scp_read,
    run_scp_write,
    run_sftp_list,
    run_sftp_mkdir,
    run_sftp_read,
    run_sftp_remove,
    run_sftp_rename,
    run_sftp_rmdir,
    run_sftp_stat,
    run_sftp_write,
)
from sshload_worker.scenario.steps.git_upload_pack import run_git_upload_pack
from sshload_worker.scenario.steps.step_run import StepRun


def _run_sleep(step: SleepStep, run: StepRun) -> None:
    """Sleep; raises StepFailure if the server closes the connection during the sleep."""
    sleep(step.duration_s)
    if run.connection.is_lost():
        raise StepFailure(Outcome.DISCONNECTED, "the server closed the connection during a sleep")


def _run_rsync(step: RsyncStep, run: StepRun) -> None:
    from sshload_worker.scenario.steps.rsync import run_rsync  # noqa: PLC0415 - imports the OpenSSH client too

    run_rsync(step, run)


_RUNNERS: dict[type[ScenarioStep], Callable[[Any, StepRun], None]] = {
    ExecStep: run_command,
    SftpReadStep: run_sftp_read,
    SftpWriteStep: run_sftp_write,
    SftpListStep: run_sftp_list,
    SftpStatStep: run_sftp_stat,
    SftpMkdirStep: run_sftp_mkdir,
    SftpRmdirStep: run_sftp_rmdir,
    SftpRenameStep: run_sftp_rename,
    SftpRemoveStep: run_sftp_remove,
    ScpReadStep: run_scp_read,
    ScpWriteStep: run_scp_write,
    ShellStep: run_shell,
    ForwardStep: run_forward,
    GitUploadPackStep: run_git_upload_pack,
    RsyncStep: _run_rsync,
    SleepStep: _run_sleep,
}


def prepare_steps(steps: tuple[ScenarioStep, ...]) -> None:
    """Prepare what the steps need on this worker, before anything is measured."""
    for step in steps:
        if isinstance(step, ExecStep):
            prepare_command(step)
        if isinstance(step, RsyncStep):
            from sshload_worker.scenario.steps.rsync import prepare_rsync  # noqa: PLC0415 - likewise

            prepare_rsync(step)


def run_step(step: ScenarioStep, run: StepRun) -> None:
    """Run one step of the scenario; raises StepFailure if it does not end as expected."""
    _RUNNERS[type(step)](step, run)
