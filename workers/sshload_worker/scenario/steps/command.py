"""The step that runs a command. Its parts are counted together, when it has ended."""

import re
from collections.abc import Callable
from functools import cache, partial
from time import monotonic_ns

from sshload_contract.shortened import shortened
from sshload_contract.steps import ExecStep
from sshload_contract.vocabulary import Outcome, Timing, measured_step

from sshload_worker.clients.interface import CommandEnd, Course
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.parts import Parts
from sshload_worker.scenario.step_clock import classify_error
from sshload_worker.scenario.steps.step_run import StepRun
from sshload_worker.scenario.steps.transfer import raise_mismatch

_SHOWN_CHARACTERS = 80
_STDOUT_LIMIT_BYTES = 1_048_576
"""How much of a command's output is searched for `expect_stdout`. The rest is read and dropped."""


@cache
def _parts(name: str) -> Parts:
    return Parts.of(name, Timing.COMMAND, Timing.CHANNEL_OPEN, Timing.EXEC, Timing.READ, Timing.CLOSE)


def run_command(step: ExecStep, run: StepRun) -> None:
    """Run the command; raises StepFailure if it does not end as expected."""
    parts, course, opened_ns = _parts(step.name), Course(), 0
    stdout = Stdout(partial(run.clock.moved, parts.whole), keep=bool(step.expect_stdout))
    begin_ns = monotonic_ns()
    try:
        with run.channel_limit() as limit:
            channel = run.connection.open_channel()
            opened_ns = monotonic_ns()
            limit.go_on(run.timeouts.step_s, Timing.COMMAND)
            end = channel.run(run.fill_in(step.command), stdout.update, course)
        check_end(end, step.expect_exit_code)
        if step.expect_stdout:
            raise_mismatch("" if stdout.matches(step.expect_stdout) else _unlike_expected(stdout.text()))
    except BaseException as error:
        run.count_failure(parts, begin_ns, (begin_ns, opened_ns), course, classify_error(error).outcome)
        raise
    run.count_success(parts, begin_ns, (begin_ns, opened_ns), course)
    for part, took_ns in course.told_ns.items():
        run.clock.reported(measured_step(step.name, part), took_ns)


def _unlike_expected(output: str) -> str:
    """Return that an output does not match, and how it begins: text of start-up files comes first."""
    begin = " ".join(output[: 2 * _SHOWN_CHARACTERS].split())
    shown = shortened("".join(c if c.isprintable() else "?" for c in begin), _SHOWN_CHARACTERS)
    how = f'begins with "{shown}" (which the user\'s start-up files may have printed)' if shown else "is empty"
    return f"the output does not match expectStdout: it {how}"


class Stdout:
    """A command's output: it passes the length of each piece to `moved` and, if `keep` is set, keeps the beginning."""

    __slots__ = ("_keep", "_kept", "_moved")

    def __init__(self, moved: Callable[[int], None], *, keep: bool) -> None:
        self._moved = moved
        self._keep = keep
        self._kept = bytearray()

    def update(self, piece: bytes) -> None:
        """Count the next piece, and keep it, up to the limit."""
        self._moved(len(piece))
        if self._keep:
            self._kept += piece[: _STDOUT_LIMIT_BYTES - len(self._kept)]

    def text(self) -> str:
        """Return the kept output."""
        return self._kept.decode("utf-8", "replace")

    def matches(self, expression: str) -> bool:
        """Return whether a regular expression is found in the kept output."""
        return re.search(expression, self.text()) is not None


def check_end(end: CommandEnd, expect_exit_code: int) -> None:
    """Raise StepFailure if a command did not end with the expected exit code."""
    if not end.signal and end.exit_code == expect_exit_code:
        return
    stderr = end.stderr.decode("utf-8", "replace").strip()
    if end.signal:
        raise StepFailure(Outcome.KILLED_BY_SIGNAL, f"killed by signal {end.signal}: {stderr}".rstrip(": "))
    if end.exit_code is None:
        raise StepFailure(Outcome.NO_EXIT_STATUS, f"the server sent no exit status: {stderr}".rstrip(": "))
    raise StepFailure(Outcome.EXIT_CODE, f"exit code {end.exit_code}: {stderr}".rstrip(": "))
