"""The step that keeps a session open and idle."""

from gevent import sleep
from sshload_contract.steps import SleepStep
from sshload_contract.vocabulary import Outcome

from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.steps.step_run import StepRun


def run_sleep(step: SleepStep, run: StepRun) -> None:
    """Let the time pass; raises StepFailure where the server has closed the connection meanwhile."""
    sleep(step.duration_s)
    if run.connection.is_lost():
        raise StepFailure(Outcome.DISCONNECTED, "the server closed the connection during a sleep")
