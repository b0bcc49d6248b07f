"""Calls the function that runs each kind of step. The modules of the steps register these functions when imported."""

from gevent import sleep
from sshload_contract.steps import RsyncStep, ScenarioStep, SleepStep
from sshload_contract.vocabulary import Outcome

from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.steps import channel, command, files, git_upload_pack  # noqa: F401 - they register
from sshload_worker.scenario.steps.runners import PREPARATIONS, RUNNERS, runs
from sshload_worker.scenario.steps.step_run import StepRun


@runs(SleepStep)
def _run_sleep(step: SleepStep, run: StepRun) -> None:
    """Sleep; raises StepFailure if the server closes the connection during the sleep."""
    sleep(step.duration_s)
    if run.connection.is_lost():
        raise StepFailure(Outcome.DISCONNECTED, "the server closed the connection during a sleep")


@runs(RsyncStep)
def _run_rsync(step: RsyncStep, run: StepRun) -> None:
    from sshload_worker.scenario.steps.rsync import run_rsync  # noqa: PLC0415 - imports the OpenSSH client too

    run_rsync(step, run)


def _prepare_rsync(step: RsyncStep) -> None:
    from sshload_worker.scenario.steps.rsync import prepare_rsync  # noqa: PLC0415 - likewise

    prepare_rsync(step)


PREPARATIONS[RsyncStep] = _prepare_rsync


def prepare_steps(steps: tuple[ScenarioStep, ...]) -> None:
    """Prepare what the steps need on this worker, before anything is measured."""
    for step in steps:
        if type(step) in PREPARATIONS:
            PREPARATIONS[type(step)](step)


def run_step(step: ScenarioStep, run: StepRun) -> None:
    """Run one step of the scenario; raises StepFailure if it does not end as expected."""
    RUNNERS[type(step)](step, run)
