"""The step that works in an interactive shell on a terminal, as somebody who types does.

It ends by hanging up, as closing a terminal's window does: that ends every program, whatever its word for quitting is.
"""

from functools import partial

from sshload_contract.steps import ShellStep
from sshload_contract.vocabulary import Step, measured_step

from sshload_worker.clients.interface import Channel
from sshload_worker.scenario.steps.awaited_text import await_text
from sshload_worker.scenario.steps.step_run import StepRun


def run_shell(step: ShellStep, run: StepRun) -> None:
    """Work in the shell; raises StepFailure where it does not start, or ends before what is waited for comes."""
    run.clock.timed(measured_step(step.name, Step.SHELL), partial(_run_shell, step, run))


def _run_shell(step: ShellStep, run: StepRun) -> None:
    with run.channel_limit():
        channel = run.part(step.name, Step.CHANNEL_OPEN, run.connection.open_channel)
    with run.step_limit(Step.SHELL):
        run.part(step.name, Step.SHELL_START, partial(_start, step, run, channel))
        text, expect = run.filled(step.send).encode(), run.filled(step.expect)
        for _ in range(step.repeat):
            run.part(step.name, Step.ECHO, partial(_echo, channel, text, expect))
        run.part(step.name, Step.CLOSE, channel.close)


def _start(step: ShellStep, run: StepRun, channel: Channel) -> None:
    channel.request_terminal()
    if step.command:
        channel.execute(run.filled(step.command))
    else:
        channel.start_shell()
    await_text(channel.read, run.filled(step.ready), "ready")


def _echo(channel: Channel, text: bytes, expect: str) -> None:
    channel.write(text)
    await_text(channel.read, expect, "expect")
