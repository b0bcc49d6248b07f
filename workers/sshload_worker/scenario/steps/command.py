"""The step that runs a command on a channel of its own."""

import re
from functools import partial
from time import monotonic_ns

from sshload_contract.run_config import ExecStep
from sshload_contract.vocabulary import Outcome, Step, measured_step

from sshload_worker.clients.interface import Channel, CommandEnd
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.steps.step_run import StepRun

_STDOUT_LIMIT_BYTES = 1_048_576
"""How much of a command's output `expect_stdout` is looked for in; the rest is read and dropped."""


def run_command(step: ExecStep, run: StepRun) -> None:
    """Run the command; raises StepFailure where it does not end as expected."""
    run.clock.timed(measured_step(step.name, Step.COMMAND), partial(_run_command, step, run))


def _run_command(step: ExecStep, run: StepRun) -> None:
    with run.channel_limit():
        channel = run.part(step.name, Step.CHANNEL_OPEN, run.connection.open_channel)
    with run.step_limit():
        run.part(step.name, Step.EXEC, partial(channel.execute, run.filled(step.command)))
        stdout = run.part(step.name, Step.READ, partial(_read_output, step, run, channel))
        end = run.part(step.name, Step.CLOSE, channel.close)
    _check(step, end, stdout)


def _read_output(step: ExecStep, run: StepRun, channel: Channel) -> bytes:
    """Read to the end; return what `expect_stdout` needs. FIRST_BYTE is timed only where there is one."""
    begin_ns = monotonic_ns()
    kept = bytearray()
    transferred_bytes = 0
    piece = channel.read()
    if piece and run.connection.times_parts:
        run.clock.record(measured_step(step.name, Step.FIRST_BYTE), begin_ns, Outcome.OK)
    while piece:
        transferred_bytes += len(piece)
        if step.expect_stdout and len(kept) < _STDOUT_LIMIT_BYTES:
            kept += piece
        piece = channel.read()
    run.clock.transferred(measured_step(step.name, Step.COMMAND), transferred_bytes)
    return bytes(kept)


def _check(step: ExecStep, end: CommandEnd, stdout: bytes) -> None:
    stderr = end.stderr.decode("utf-8", "replace").strip()
    if end.signal:
        raise StepFailure(Outcome.KILLED_BY_SIGNAL, f"killed by signal {end.signal}: {stderr}".rstrip(": "))
    if end.exit_code != step.expect_exit_code:
        raise StepFailure(Outcome.EXIT_CODE, f"exit code {end.exit_code}: {stderr}".rstrip(": "))
    if step.expect_stdout and not re.search(step.expect_stdout, stdout.decode("utf-8", "replace")):
        raise StepFailure(Outcome.OUTPUT_MISMATCH, "the output does not match expectStdout")
