"""The steps that exchange text on a channel: an interactive shell, and a forward (direct-tcpip, as `ssh -L`)."""

from functools import lru_cache, partial

from sshload_contract.allow_list import forward_refusal
from sshload_contract.steps import ForwardStep, ShellStep
from sshload_contract.vocabulary import Outcome, Timing
from sshload_contract.wire.run_config import RunConfig

from sshload_worker.clients.interface import Channel
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.steps.runners import StepMethods, times
from sshload_worker.scenario.steps.step_run import ForwardRule, StepRun
from sshload_worker.scenario.steps.transfer import await_text

_REMEMBERED_DESTINATIONS = 1_024
"""For how many destinations the result is cached, so that iterations do not wait for a long allow-list."""


@times(ShellStep)
def run_shell(step: ShellStep, run: StepRun) -> None:
    """Run the shell; raises StepFailure if it does not start, or ends before the expected text arrives."""
    with run.channel_limit():
        channel = run.time_part(step.name, Timing.CHANNEL_OPEN, run.connection.open_channel)
    with run.step_limit(step.kind):
        run.time_part(step.name, Timing.SHELL_START, partial(_start_shell, step, run, channel))
        text, expect = run.fill_in(step.send).encode(), run.fill_in(step.expect)
        for _ in range(step.repeat):
            run.time_part(step.name, Timing.ECHO, partial(_echo, channel, text, expect))
        run.time_part(step.name, Timing.CLOSE, channel.close)


def _start_shell(step: ShellStep, run: StepRun, channel: Channel) -> None:
    channel.request_terminal()
    if step.command:
        channel.execute(run.fill_in(step.command))
    else:
        channel.start_shell()
    await_text(channel.read, run.fill_in(step.ready), "ready")


def _echo(channel: Channel, text: bytes, expect: str) -> None:
    channel.write(text)
    await_text(channel.read, expect, "expect")


def forward_rule(config: RunConfig) -> ForwardRule:
    """Return the rule of a run, which allows everything if the run has no allow-list."""
    if config.allow_list is None:
        return unrestricted
    return lru_cache(_REMEMBERED_DESTINATIONS)(partial(forward_refusal, config.allow_list, managed=config.is_managed))


def unrestricted(host: str, port: int) -> str:  # noqa: ARG001 - a ForwardRule
    """Allow everything."""
    return ""


@times(ForwardStep)
def run_forward(step: ForwardStep, run: StepRun) -> None:
    """Connect through the server; raises StepFailure if it refuses, or the answer ends before `expect` arrives."""
    host = run.fill_in(step.host)
    why = run.forward_rule(host, step.port)
    if why:
        raise StepFailure(Outcome.GENERATOR_FAULT, f"a forward to {host} port {step.port}, which {why}")
    connect = partial(run.connection.open_forward, host, step.port)
    with run.channel_limit():
        channel = run.time_part(step.name, Timing.CHANNEL_OPEN, connect)
    with run.step_limit(step.kind):
        if step.send or step.expect:
            run.time_part(step.name, Timing.ECHO, partial(_exchange, step, run, channel))
        run.time_part(step.name, Timing.CLOSE, channel.close)


def _exchange(step: ForwardStep, run: StepRun, channel: Channel) -> None:
    if step.send:
        channel.write(run.fill_in(step.send).encode())
    await_text(channel.read, run.fill_in(step.expect), "expect")


class ChannelMethods(StepMethods):
    """The steps that exchange text on a channel, for locustfiles."""

    def shell(  # noqa: PLR0913 - the fields of the step
        self, send: str, expect: str, *, name: str = "", command: str = "", ready: str = "", repeat: int = 1
    ) -> None:
        """Work in an interactive shell: `repeat` times, send `send` and wait until `expect` comes back."""
        self._run(ShellStep(name, command, ready, send, expect, repeat))

    def forward(self, host: str, port: int, *, name: str = "", send: str = "", expect: str = "") -> None:
        """Have the server connect to `host` and `port`, send, and wait for the answer."""
        self._run(ForwardStep(name, host, port, send, expect))
