"""The step that runs a command, whose parts are counted in one go once it has ended."""

import re
from dataclasses import dataclass
from functools import cache
from time import monotonic_ns

from sshload_contract.steps import ExecStep
from sshload_contract.vocabulary import Outcome, Timing, measured_step

from sshload_worker.clients.interface import CommandCourse, CommandEnd
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.step_clock import classify_error
from sshload_worker.scenario.steps.step_run import StepRun
from sshload_worker.scenario.steps.transfer import raise_mismatch

_STDOUT_LIMIT_BYTES = 1_048_576
"""How much of a command's output `expect_stdout` is looked for in; the rest is read and dropped."""


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of a command's timings, of its parts, and of all in their order where all went well."""

    command: str
    first_byte: str
    parts: tuple[str, ...]
    silent: tuple[str, ...]
    speaking: tuple[str, ...]


@cache
def _names_of(name: str) -> _Names:
    command, first_byte = measured_step(name, Timing.COMMAND), measured_step(name, Timing.FIRST_BYTE)
    parts = tuple(measured_step(name, part) for part in (Timing.CHANNEL_OPEN, Timing.EXEC, Timing.READ, Timing.CLOSE))
    opened, started, *ended = (*parts, command)
    return _Names(command, first_byte, parts, (*parts, command), (opened, started, first_byte, *ended))


def run_command(step: ExecStep, run: StepRun) -> None:
    """Run the command; raises StepFailure where it does not end as expected."""
    stdout, course = Stdout(keep=bool(step.expect_stdout)), CommandCourse()
    opened_ns = 0
    begin_ns = monotonic_ns()
    try:
        with run.channel_limit():
            channel = run.connection.open_channel()
        opened_ns = monotonic_ns()
        with run.step_limit(Timing.COMMAND):
            end = channel.run(run.fill_in(step.command), stdout.update, course)
        check_end(end, step.expect_exit_code)
        if step.expect_stdout:
            raise_mismatch("" if stdout.matches(step.expect_stdout) else "the output does not match expectStdout")
    except BaseException as error:
        _record_failure(step, run, classify_error(error).outcome, (begin_ns, opened_ns), course)
        raise
    _record_success(step, run, (begin_ns, opened_ns), course)
    run.clock.transferred(_names_of(step.name).command, stdout.count)


def _record_success(step: ExecStep, run: StepRun, channel_ns: tuple[int, int], course: CommandCourse) -> None:
    names, (begin_ns, opened_ns), closed_ns = _names_of(step.name), channel_ns, course.closed_ns
    if not run.connection.times_parts:
        run.clock.succeeded((names.command,), (begin_ns,), (closed_ns,))
        return
    started_ns, output_end_ns = course.started_ns, course.output_end_ns
    if course.first_byte_ns:
        run.clock.succeeded(
            names.speaking,
            (begin_ns, opened_ns, started_ns, started_ns, output_end_ns, begin_ns),
            (opened_ns, started_ns, course.first_byte_ns, output_end_ns, closed_ns, closed_ns),
        )
    else:
        run.clock.succeeded(
            names.silent,
            (begin_ns, opened_ns, started_ns, output_end_ns, begin_ns),
            (opened_ns, started_ns, output_end_ns, closed_ns, closed_ns),
        )


def _record_failure(
    step: ExecStep, run: StepRun, outcome: Outcome, channel_ns: tuple[int, int], course: CommandCourse
) -> None:
    """Count the parts that ended well, the one that did not, and the command."""
    names, clock, (begin_ns, opened_ns) = _names_of(step.name), run.clock, channel_ns
    if run.connection.times_parts:
        if course.first_byte_ns:
            clock.succeeded((names.first_byte,), (course.started_ns,), (course.first_byte_ns,))
        part_begin_ns = begin_ns
        ends_ns = (opened_ns, course.started_ns, course.output_end_ns, course.closed_ns)
        for part, end_ns in zip(names.parts, ends_ns, strict=True):
            if not end_ns:
                clock.record(part, part_begin_ns, outcome)
                break
            clock.succeeded((part,), (part_begin_ns,), (end_ns,))
            part_begin_ns = end_ns
    clock.record(names.command, begin_ns, outcome)


class Stdout:
    """A command's output: how many bytes it has, and the first of it, if that is to be kept at all."""

    __slots__ = ("_keep", "_kept", "count")

    def __init__(self, *, keep: bool) -> None:
        self.count = 0
        self._keep = keep
        self._kept = bytearray()

    def update(self, piece: bytes) -> None:
        """Count the next piece, and keep it, up to the limit."""
        self.count += len(piece)
        if self._keep:
            self._kept += piece[: _STDOUT_LIMIT_BYTES - len(self._kept)]

    def text(self) -> str:
        """Return the output that was kept."""
        return self._kept.decode("utf-8", "replace")

    def matches(self, expression: str) -> bool:
        """Return whether a regular expression is found in the output that was kept."""
        return re.search(expression, self.text()) is not None


def check_end(end: CommandEnd, expect_exit_code: int) -> None:
    """Raise StepFailure where a command did not end with the expected exit code."""
    if not end.signal and end.exit_code == expect_exit_code:
        return
    stderr = end.stderr.decode("utf-8", "replace").strip()
    if end.signal:
        raise StepFailure(Outcome.KILLED_BY_SIGNAL, f"killed by signal {end.signal}: {stderr}".rstrip(": "))
    if end.exit_code is None:
        raise StepFailure(Outcome.NO_EXIT_STATUS, f"the server told no exit status: {stderr}".rstrip(": "))
    raise StepFailure(Outcome.EXIT_CODE, f"exit code {end.exit_code}: {stderr}".rstrip(": "))
