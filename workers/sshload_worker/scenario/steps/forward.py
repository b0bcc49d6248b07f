"""The step that lets the server connect to somewhere else for us (direct-tcpip), as `ssh -L` and `ssh -W` do."""

from functools import lru_cache, partial

from sshload_contract.allow_list import forward_refusal
from sshload_contract.steps import ForwardStep
from sshload_contract.vocabulary import Outcome, Step, measured_step
from sshload_contract.wire.run_config import RunConfig

from sshload_worker.clients.interface import Channel
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.steps.expectations import await_text
from sshload_worker.scenario.steps.step_run import ForwardRule, StepRun

_REMEMBERED = 1_024
"""Of how many destinations the answer is kept: an iteration must not wait for a long allow-list."""


def forward_rule(config: RunConfig) -> ForwardRule:
    """Return the rule of a run, which allows everything where the run has no allow-list."""
    if config.allow_list is None:
        return unrestricted
    return lru_cache(_REMEMBERED)(partial(forward_refusal, config.allow_list, managed=config.is_managed))


def unrestricted(host: str, port: int) -> str:  # noqa: ARG001 - a ForwardRule
    """Allow everything."""
    return ""


def run_forward(step: ForwardStep, run: StepRun) -> None:
    """Connect through the server; raises StepFailure where it refuses, or the answer ends before `expect` comes."""
    run.clock.timed(measured_step(step.name, Step.FORWARD), partial(_run_forward, step, run))


def _run_forward(step: ForwardStep, run: StepRun) -> None:
    host = run.fill_in(step.host)
    why = run.forward_rule(host, step.port)
    if why:
        raise StepFailure(Outcome.GENERATOR_FAULT, f"a forward to {host} port {step.port}, which {why}")
    connect = partial(run.connection.open_forward, host, step.port)
    with run.channel_limit():
        channel = run.time_part(step.name, Step.CHANNEL_OPEN, connect)
    with run.step_limit(Step.FORWARD):
        if step.send or step.expect:
            run.time_part(step.name, Step.ECHO, partial(_exchange, step, run, channel))
        run.time_part(step.name, Step.CLOSE, channel.close)


def _exchange(step: ForwardStep, run: StepRun, channel: Channel) -> None:
    if step.send:
        channel.write(run.fill_in(step.send).encode())
    await_text(channel.read, run.fill_in(step.expect), "expect")
