"""Which code runs which kind of step."""

from sshload_contract.run_config import ExecStep, ScenarioStep, SleepStep

from sshload_worker.scenario.steps.command import run_command
from sshload_worker.scenario.steps.idle import run_sleep
from sshload_worker.scenario.steps.step_run import StepRun


def run_step(step: ScenarioStep, run: StepRun) -> None:
    """Run one step of the scenario; raises StepFailure where it does not end as expected."""
    match step:
        case ExecStep():
            run_command(step, run)
        case SleepStep():
            run_sleep(step, run)
        case _:
            raise NotImplementedError(step.kind)
