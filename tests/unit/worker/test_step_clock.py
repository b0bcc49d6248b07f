"""What a step's clock counts, at instants that are played; and what its limits cost while none is reached."""

from collections.abc import Callable
from typing import Any

import gevent
import pytest
from gevent import sleep
from reports import REPORT
from sshload_contract.vocabulary import Outcome, Timing, Window
from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario import step_clock
from sshload_worker.scenario.step_clock import (
    TURNS_TO_SERVE,
    Due,
    StepClock,
    TimeLimit,
    TimeLimitReached,
    classify_error,
)

MS = 1_000_000
DUE = Due(1_000 * MS, Window.MEASURED, 2)


class Noted:
    """A recorder that notes all that it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *arguments: self.told.append((name, *arguments))


class Instants:
    """The time, which passes as a test lets it."""

    def __init__(self) -> None:
        self.now_ns = DUE.at_ns

    def __call__(self) -> int:
        return self.now_ns

    def passes(self, ms: int) -> None:
        self.now_ns += ms * MS


@pytest.fixture(name="now")
def _now(monkeypatch: pytest.MonkeyPatch) -> Instants:
    now = Instants()
    monkeypatch.setattr(step_clock, "monotonic_ns", now)
    return now


def noted(due: Due = DUE) -> tuple[StepClock, list[tuple[Any, ...]]]:
    recorder: Any = Noted()
    return StepClock(recorder, due), recorder.told


def counted(recorder: Recorder) -> dict[tuple[str, Outcome, int], int]:
    """Return the latency of each kind of sample in ms, of which there is one."""
    report = recorder.take_report(REPORT.health, final=True)
    found = {}
    for one in report.histograms:
        (latency_us,) = LatencyHistogram.decode(one.data).counts
        found[one.step, one.outcome, one.stage] = round(latency_us / 1_000)
    return found


def test_an_iteration_begins_so_long_after_it_was_due_and_lasts_from_when_it_was_due(now: Instants) -> None:
    recorder = Recorder("run", 0)
    clock = StepClock(recorder, DUE)
    now.passes(30)
    clock.begin()
    now.passes(70)
    clock.total(Outcome.OK, "")
    report_of = counted(recorder)
    assert report_of == {("startDelay", Outcome.OK, 0): 30, ("total", Outcome.OK, 2): 100}


def test_an_iteration_counts_in_the_window_and_stage_in_which_it_was_due(now: Instants) -> None:
    clock, told = noted()
    now.passes(30)
    clock.begin()
    assert told[0] == ("started", Window.MEASURED, 30 * MS, 2)
    assert Due(1, Window.WARM_UP).stage == 0


def test_a_step_that_succeeds_is_timed_counted_and_gives_what_it_returns(now: Instants) -> None:
    clock, told = noted()
    assert clock.timed("connect", lambda: now.passes(5) or "made") == "made"  # type: ignore[func-returns-value]
    assert told == [("sample", "connect", Window.MEASURED, Outcome.OK, 5_000), ("succeeded", "connect", now.now_ns)]
    assert clock.failed_step == ""


def test_of_nested_steps_the_innermost_that_fails_is_told_from_when_it_began(now: Instants) -> None:
    clock, told = noted()

    def refuse() -> None:
        now.passes(5)
        raise StepFailure(Outcome.KEX_FAILED, "no key exchange in common")

    def log_in() -> None:
        now.passes(20)
        clock.timed("kex", refuse)

    with pytest.raises(StepFailure):
        clock.timed("login", log_in)
    now.passes(10)
    clock.total(Outcome.KEX_FAILED, "no key exchange in common")
    end = Outcome.KEX_FAILED
    assert told == [
        ("sample", "kex", Window.MEASURED, end, 5_000),
        ("sample", "login", Window.MEASURED, end, 25_000),
        ("sample", "total", Window.MEASURED, end, 35_000, 2),
        ("failure", "kex", Window.MEASURED, end, "no key exchange in common", DUE.at_ns + 20 * MS),
        ("ended", Window.MEASURED, end, now.now_ns, 2),
    ]


def test_a_failure_outside_of_any_step_is_one_of_the_whole_iteration(now: Instants) -> None:
    clock, told = noted()
    now.passes(7)
    clock.total(Outcome.UNFINISHED, "still running")
    assert told[1] == ("failure", "total", Window.MEASURED, Outcome.UNFINISHED, "still running", DUE.at_ns)


def test_a_step_that_was_named_as_failed_stays_so() -> None:
    clock, _ = noted()
    clock.mark_failed("command")
    clock.mark_failed("login")
    assert clock.failed_step == "command"


def test_a_recorded_step_ends_now_and_succeeds_or_fails(now: Instants) -> None:
    clock, told = noted()
    now.passes(3)
    clock.record("banner", DUE.at_ns, Outcome.OK)
    clock.record("kex", DUE.at_ns, Outcome.KEX_FAILED)
    assert told == [
        ("sample", "banner", Window.MEASURED, Outcome.OK, 3_000),
        ("succeeded", "banner", now.now_ns),
        ("sample", "kex", Window.MEASURED, Outcome.KEX_FAILED, 3_000),
    ]
    assert clock.failed_step == "kex"


@pytest.mark.parametrize("counts", ["step", "operation"])
def test_what_another_machine_reports_has_ended_with_the_step_before_it(now: Instants, counts: str) -> None:
    clock, told = noted()
    now.passes(9)
    if counts == "step":
        clock.succeeded("command", DUE.at_ns, now.now_ns)
    else:
        clock.operation(step_clock._WHOLE, (DUE.at_ns, now.now_ns))
    ended_ns = now.now_ns
    now.passes(9)
    clock.reported("gatewayWait", 4 * MS)
    assert told[-2:] == [
        ("sample", "gatewayWait", Window.MEASURED, Outcome.OK, 4_000),
        ("succeeded", "gatewayWait", ended_ns),
    ]


def test_bytes_are_moved_at_once_or_since_an_instant(now: Instants) -> None:
    clock, told = noted()
    now.passes(9)
    clock.moved("read", 7)
    clock.moved("read", 8, DUE.at_ns)
    assert told == [("moved", "read", now.now_ns, now.now_ns, 7), ("moved", "read", DUE.at_ns, now.now_ns, 8)]


def test_work_beside_an_iteration_counts_where_that_does_and_fails_by_itself(now: Instants) -> None:
    clock, told = noted()
    clock.mark_failed("command")
    beside = clock.sibling(0)
    assert beside.failed_step == ""
    beside.begin()
    assert told[0] == ("started", Window.MEASURED, now.now_ns - DUE.at_ns, 2)


def test_a_failed_call_of_the_system_is_the_generators_fault() -> None:
    found = classify_error(OSError(24, "Too many open files"))
    assert found.outcome is Outcome.GENERATOR_FAULT
    assert str(found) == "a system call of the worker failed: Too many open files"


def test_a_limit_that_was_replaced_holds_none_of_its_old_length_up() -> None:
    """Limits of one length are reached in their order: one that is not to be reached then must not be among them."""
    with TimeLimit(0.02, Timing.KEX) as first:
        first.go_on(300, Timing.AUTH)
        with pytest.raises(StepFailure, match="exec took longer"), gevent.Timeout(60), TimeLimit(0.02, Timing.EXEC):
            sleep(120)
        assert first not in step_clock._ROWS[0.02].limits
    assert first not in step_clock._ROWS[300].limits


def test_one_timer_watches_all_limits_of_a_length_and_looks_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    watched: list[float] = []
    watch = step_clock._Row.watch

    def noting(row: Any, for_s: float) -> None:
        watched.append(for_s)
        watch(row, for_s)

    monkeypatch.setattr(step_clock._Row, "watch", noting)
    with TimeLimit(0.123, Timing.EXEC):
        sleep(0.06)
    with pytest.raises(StepFailure), TimeLimit(0.123, Timing.EXEC), TimeLimit(0.123, Timing.EXEC):
        _turn_for_ever()
    assert watched[0] == 0.123
    assert watched.count(0.123) == 1
    assert len(watched) <= 3 * TURNS_TO_SERVE


def _turn_for_ever() -> None:
    while True:
        sleep(0.001)


def test_others_see_a_limit_that_is_reached_as_a_timeout_of_gevent() -> None:
    error: gevent.Timeout = TimeLimitReached(TimeLimit(1.5, Timing.EXEC))
    assert str(error) == ""
