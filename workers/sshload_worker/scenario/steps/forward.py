"""The step that lets the server connect to somewhere else for us (direct-tcpip), as `ssh -L` and `ssh -W` do."""

from functools import partial

from sshload_contract.run_config import ForwardStep
from sshload_contract.vocabulary import Step, measured_step

from sshload_worker.clients.interface import Channel
from sshload_worker.scenario.steps.awaited_text import await_text
from sshload_worker.scenario.steps.step_run import StepRun


def run_forward(step: ForwardStep, run: StepRun) -> None:
    """Connect through the server; raises StepFailure where it refuses, or the answer ends before `expect` comes."""
    run.clock.timed(measured_step(step.name, Step.FORWARD), partial(_run_forward, step, run))


def _run_forward(step: ForwardStep, run: StepRun) -> None:
    connect = partial(run.connection.open_forward, run.filled(step.host), step.port)
    with run.channel_limit():
        channel = run.part(step.name, Step.CHANNEL_OPEN, connect)
    with run.step_limit(Step.FORWARD):
        if step.send or step.expect:
            run.part(step.name, Step.ECHO, partial(_exchange, step, run, channel))
        run.part(step.name, Step.CLOSE, channel.close)


def _exchange(step: ForwardStep, run: StepRun, channel: Channel) -> None:
    if step.send:
        channel.write(run.filled(step.send).encode())
    await_text(channel.read, run.filled(step.expect), "expect")
