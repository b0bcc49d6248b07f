"""What is counted of a command, however far it came."""

from collections.abc import Callable
from typing import Any

import pytest
from sshload_contract.client import Timeouts
from sshload_contract.steps import ExecStep
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.report import Health
from sshload_worker.clients.interface import CommandEnd, Course
from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.step_clock import Due, StepClock
from sshload_worker.scenario.steps.command import run_command
from sshload_worker.scenario.steps.step_run import StepRun

HEALTHY = Health(0.1, 0.0, None, 1, 1, 1, 2, 2, 3, 28_232, 0)
DUE = Due(at_ns=0, window=Window.MEASURED)
TIMEOUTS = Timeouts(connect_s=9, banner_s=9, kex_s=9, auth_s=9, channel_s=9, step_s=9)
SUCCESS = CommandEnd(exit_code=0, signal="", stderr=b"")
BROKEN = StepFailure(Outcome.DISCONNECTED, "the server closed the connection")
PARTS = ("started_ns", "output_end_ns", "closed_ns")
LATER_NS = 2**62


class PlayedServer:
    """A connection whose one channel plays a command: so many of its parts end, then `ending` is raised or returned."""

    def __init__(self, parts: int, output: bytes, ending: CommandEnd | BaseException, *, times_parts: bool) -> None:
        self.times_parts = times_parts
        self._parts, self._output, self._ending = parts, output, ending

    def open_channel(self) -> Any:
        """Open it, or fail where no part is to end."""
        if not self._parts and isinstance(self._ending, StepFailure):
            raise self._ending
        return self

    def run(self, command: str, take: Callable[[bytes], object], course: Course) -> CommandEnd:
        """Play the command."""
        assert command == "echo run"
        for number, part in enumerate(PARTS[: self._parts - 1]):
            setattr(course, part, LATER_NS + 1_000 * number)
        if self._output and self._parts > 1:
            course.first_byte_ns = LATER_NS + 500
            take(self._output)
        if isinstance(self._ending, BaseException):
            raise self._ending
        return self._ending


def counted(
    parts: int, ending: CommandEnd | BaseException, output: bytes = b"", *, times_parts: bool = True, expect: str = ""
) -> tuple[dict[str, Outcome], str, int]:
    """Run the step; return the outcome of each timing, the step that failed, and the bytes of output."""
    recorder = Recorder("run", 0)
    clock = StepClock(recorder, DUE)
    server: Any = PlayedServer(parts, output, ending, times_parts=times_parts)
    run = StepRun(server, clock, TIMEOUTS, "0-0", lambda *_: "")
    step = ExecStep(name="a", command="echo run", expect_exit_code=0, expect_stdout=expect)
    try:
        run_command(step, run)
    except StepFailure:
        assert clock.failed_step
    report = recorder.take_report(HEALTHY, final=True)
    assert all(one.count == 1 for one in report.histograms)
    outcomes = {one.step.removeprefix("a."): one.outcome for one in report.histograms}
    return outcomes, clock.failed_step.removeprefix("a."), sum(one.count for one in report.moved)


def all_well(*steps: str) -> dict[str, Outcome]:
    return dict.fromkeys(steps, Outcome.OK)


def test_a_command_that_goes_well_is_timed_in_all_its_parts() -> None:
    well = all_well("channelOpen", "exec", "read", "close", "command")
    assert counted(4, SUCCESS) == (well, "", 0)
    assert counted(4, SUCCESS, b"hello") == ({**well, "firstByte": Outcome.OK}, "", 5)


def test_only_the_sum_is_timed_where_the_library_cannot_tell_parts_apart() -> None:
    assert counted(4, SUCCESS, b"hello", times_parts=False) == (all_well("command"), "", 5)
    assert counted(2, BROKEN, times_parts=False) == ({"command": Outcome.DISCONNECTED}, "command", 0)


@pytest.mark.parametrize(
    ("parts", "well", "failed"),
    [
        (0, (), "channelOpen"),
        (1, ("channelOpen",), "exec"),
        (2, ("channelOpen", "exec"), "read"),
        (3, ("channelOpen", "exec", "read"), "close"),
    ],
)
def test_the_part_that_fails_ends_in_the_outcome_and_those_before_it_well(
    parts: int, well: tuple[str, ...], failed: str
) -> None:
    expected = {**all_well(*well), failed: Outcome.DISCONNECTED, "command": Outcome.DISCONNECTED}
    assert counted(parts, BROKEN) == (expected, failed, 0)


def test_output_that_has_begun_is_timed_where_its_reading_fails() -> None:
    outcomes, failed, _ = counted(2, BROKEN, b"hel")
    assert (outcomes["firstByte"], outcomes["read"], failed) == (Outcome.OK, Outcome.DISCONNECTED, "read")


@pytest.mark.parametrize(
    ("ending", "expect", "outcome"),
    [
        pytest.param(CommandEnd(3, "", b""), "", Outcome.EXIT_CODE, id="exit code"),
        pytest.param(CommandEnd(None, "", b""), "", Outcome.NO_EXIT_STATUS, id="no exit status"),
        pytest.param(CommandEnd(None, "KILL", b""), "", Outcome.KILLED_BY_SIGNAL, id="signal"),
        pytest.param(CommandEnd(254, "", b""), "", Outcome.EXIT_CODE, id="254 of the command"),
        pytest.param(SUCCESS, "other", Outcome.OUTPUT_MISMATCH, id="other output"),
    ],
)
def test_a_command_that_does_not_end_as_expected_fails_with_its_parts_well(
    ending: CommandEnd, expect: str, outcome: Outcome
) -> None:
    well = all_well("channelOpen", "exec", "firstByte", "read", "close")
    assert counted(4, ending, b"hello", expect=expect) == ({**well, "command": outcome}, "command", 5)


@pytest.mark.parametrize("before", [0, 300])
def test_a_session_that_pam_refuses_is_told_also_after_a_message_of_the_day(before: int) -> None:
    """Debian's has 286 characters."""
    output = b"x" * before + b"\nThere were too many logins for 'ann'.\n"
    outcomes, _, _ = counted(4, CommandEnd(254, "", b""), output)
    assert outcomes["command"] is Outcome.TOO_MANY_LOGINS
