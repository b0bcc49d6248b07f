"""The scenario's steps on a logged-in connection: each is timed in its parts, and ends in one outcome."""

import re
from functools import partial
from time import monotonic_ns

from gevent import sleep
from sshload_contract.run_config import ExecStep, ScenarioStep, SleepStep
from sshload_contract.vocabulary import Outcome, Step, measured_step

from sshload_worker.clients.ssh2 import CommandEnd, SSH2Connection
from sshload_worker.clients.time_limit import TimeLimit
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.step_clock import StepClock

_STDOUT_LIMIT_BYTES = 1_048_576
"""How much of a command's output `expect_stdout` is looked for in; the rest is read and dropped."""


def run_step(step: ScenarioStep, connection: SSH2Connection, clock: StepClock) -> None:
    """Run one step of the scenario; raises StepFailure where it does not end as expected."""
    match step:
        case ExecStep():
            clock.timed(measured_step(step.name, Step.COMMAND), partial(_execute, step, connection, clock))
        case SleepStep(duration_s=duration_s):
            sleep(duration_s)
            if connection.is_lost():
                raise StepFailure(Outcome.DISCONNECTED, "the server closed the connection during a sleep")


def _execute(step: ExecStep, connection: SSH2Connection, clock: StepClock) -> None:
    clock.timed(measured_step(step.name, Step.CHANNEL_OPEN), connection.open_channel)
    with TimeLimit(connection.step_limit_s, Step.EXEC):
        clock.timed(measured_step(step.name, Step.EXEC), partial(connection.execute, step.command))
        stdout = clock.timed(measured_step(step.name, Step.READ), partial(_read_output, step, connection, clock))
        end = clock.timed(measured_step(step.name, Step.CLOSE), connection.close_channel)
    _check(step, end, stdout)


def _read_output(step: ExecStep, connection: SSH2Connection, clock: StepClock) -> bytes:
    """Read to the end; return what `expect_stdout` needs. FIRST_BYTE is timed only where there is one."""
    begin_ns = monotonic_ns()
    kept = bytearray()
    piece = connection.read()
    if piece:
        clock.record(measured_step(step.name, Step.FIRST_BYTE), begin_ns, Outcome.OK)
    while piece:
        if step.expect_stdout and len(kept) < _STDOUT_LIMIT_BYTES:
            kept += piece
        piece = connection.read()
    return bytes(kept)


def _check(step: ExecStep, end: CommandEnd, stdout: bytes) -> None:
    stderr = end.stderr.decode("utf-8", "replace").strip()
    if end.signal:
        raise StepFailure(Outcome.KILLED_BY_SIGNAL, f"killed by signal {end.signal}: {stderr}".rstrip(": "))
    if end.exit_code != step.expect_exit_code:
        raise StepFailure(Outcome.EXIT_CODE, f"exit code {end.exit_code}: {stderr}".rstrip(": "))
    if step.expect_stdout and not re.search(step.expect_stdout, stdout.decode("utf-8", "replace")):
        raise StepFailure(Outcome.OUTPUT_MISMATCH, "the output does not match expectStdout")
