"""The step that runs a command. Its parts are counted together, when it has ended."""

from collections.abc import Callable
from functools import cache, partial
from time import monotonic_ns
from typing import TYPE_CHECKING

from sshload_contract.shortened import printable, shortened
from sshload_contract.steps import ExecStep
from sshload_contract.vocabulary import Outcome, Timing, measured_step

from sshload_worker.clients.interface import CommandEnd, Course
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.parts import Parts
from sshload_worker.scenario.step_clock import classify_error
from sshload_worker.scenario.steps.runners import PREPARATIONS, StepMethods, runs
from sshload_worker.scenario.steps.step_run import StepRun
from sshload_worker.scenario.steps.transfer import raise_mismatch

if TYPE_CHECKING:
    from sshload_worker.expression import Expression

_SHOWN_CHARACTERS = 80
_LAST_BYTES = 200
_NO_SESSION = 254  # sshd's exit code where pam_open_session(3) has failed
_TOO_MANY_LOGINS = "too many logins"  # pam_limits(8)


@cache
def _parts(name: str) -> Parts:
    return Parts.of(name, Timing.COMMAND, Timing.CHANNEL_OPEN, Timing.EXEC, Timing.READ, Timing.CLOSE)


@runs(ExecStep)
def run_command(step: ExecStep, run: StepRun) -> None:
    """Run the command; raises StepFailure if it does not end as expected."""
    parts, course, opened_ns = _parts(step.name), Course(), 0
    begin_ns = monotonic_ns()
    try:
        expected = _expected(step)
        stdout = Stdout(partial(run.clock.moved, parts.whole), expected.limit_bytes if expected else 0)
        with run.channel_limit() as limit:
            channel = run.connection.open_channel()
            opened_ns = monotonic_ns()
            limit.go_on(run.timeouts.step_s, Timing.COMMAND)
            end = channel.run(run.fill_in(step.command), stdout.update, course)
        _check_session(end, stdout.last)
        check_end(end, step.expect_exit_code)
        if expected:
            raise_mismatch(stdout.mismatch(expected))
    except BaseException as error:
        run.count_failure(parts, begin_ns, (begin_ns, opened_ns), course, classify_error(error).outcome)
        raise
    run.count_success(parts, begin_ns, (begin_ns, opened_ns), course)
    for part, took_ns in course.told_ns.items():
        run.clock.reported(measured_step(step.name, part), took_ns)


def _unlike_expected(output: bytes) -> str:
    """Return that an output does not match, and how it begins: text of start-up files comes first."""
    begin = " ".join(output[: 4 * _SHOWN_CHARACTERS].decode("utf-8", "replace").split())
    shown = shortened(printable(begin), _SHOWN_CHARACTERS)
    how = f'begins with "{shown}" (which the user\'s start-up files may have printed)' if shown else "is empty"
    return f"the output does not match expectStdout: it {how}"


def prepare_command(step: ExecStep) -> None:
    """Prepare the step, so that nothing is compiled while it is measured; raises GeneratorFaultError."""
    _expected(step)


PREPARATIONS[ExecStep] = prepare_command


def _expected(step: ExecStep) -> "Expression | None":
    if not step.expect_stdout:
        return None
    from sshload_worker.expression import expression_of  # noqa: PLC0415 - RE2 takes 4 MB

    return expression_of(step.expect_stdout)


class Stdout:
    """A command's output: passes each piece's length to `moved`, and keeps up to `limit_bytes` of the beginning."""

    __slots__ = ("_kept", "_limit_bytes", "_moved", "count", "last")

    def __init__(self, moved: Callable[[int], None], limit_bytes: int) -> None:
        self.count = 0
        self.last = b""
        """The last bytes: what PAM says of a session that it refuses comes after its message of the day."""
        self._moved = moved
        self._limit_bytes = limit_bytes
        self._kept = bytearray()

    def update(self, piece: bytes) -> None:
        """Count the next piece, and keep it, up to the limit."""
        self._moved(len(piece))
        self.count += len(piece)
        self._kept += piece[: self._limit_bytes - len(self._kept)]
        self.last = (self.last + piece[-_LAST_BYTES:])[-_LAST_BYTES:]

    @property
    def kept(self) -> bytes:
        """The kept beginning."""
        return bytes(self._kept)

    def mismatch(self, expected: "Expression") -> str:
        """Return why the output is not as expected, empty if it is."""
        if expected.is_in(self.kept):
            return ""
        if self.count > self._limit_bytes:
            return f"expectStdout was not found in the first {self._limit_bytes} bytes, of {self.count} in all"
        return _unlike_expected(self.kept)


def _check_session(end: CommandEnd, last_output: bytes) -> None:
    """Raise StepFailure if sshd has run no command, because PAM opened no session: it exits with 254 then."""
    if end.exit_code != _NO_SESSION:
        return
    lines = (last_output + b"\n" + end.stderr).decode("utf-8", "replace").splitlines()
    said = next((line.strip() for line in lines if _TOO_MANY_LOGINS in line.lower()), "")
    if said:
        raise StepFailure(Outcome.TOO_MANY_LOGINS, f"the server ran no command (exit code 254); it said: {said}")


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


class CommandMethods(StepMethods):
    """The step that runs a command, for locustfiles."""

    def execute(self, command: str, *, name: str = "", expect_exit_code: int = 0, expect_stdout: str = "") -> None:
        """Run a command. `expect_stdout` is a regular expression, empty for any output."""
        self._run(ExecStep(name, command, expect_exit_code, expect_stdout))
