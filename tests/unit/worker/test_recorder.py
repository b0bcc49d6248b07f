from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from time import monotonic_ns

import pytest
from gevent import GreenletExit, sleep
from hypothesis import given
from hypothesis import strategies as st
from sshload_contract.load import BurstLoad, HoldLoad, Load, ThinkTime, UsersLoad, UsersStage
from sshload_contract.vocabulary import Outcome, Timing, Window
from sshload_contract.wire.report import Health
from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.recording.rated_time import RatedTime
from sshload_worker.recording.recorder import Recorder, Spans
from sshload_worker.scenario.step_clock import Due, StepClock, TimeLimit

HEALTHY = Health(0.1, 0.0, None, 1, 1, 1, 2, 2, 3, 28_232, 0)
DUE = Due(at_ns=0, window=Window.MEASURED)
TOTAL = Spans(("total",), ((0, 1),))
USERS = UsersLoad((UsersStage(1, 4.0), UsersStage(2, 5.5)), 0.0, ThinkTime(0.0, 0.0))
HOLD = HoldLoad(sessions=3, ramp_up_s=2.0, duration_s=3.0, keep_alive_s=0.0, probe_rate=1.0)
BURST = BurstLoad(3, 2, 1.0)
COMMAND = Spans(("ls.exec", "ls.read", "ls.command"), ((0, 1), (1, 2), (0, 2)))


def outcomes(recorder: Recorder) -> dict[str, Outcome]:
    return {counted.step: counted.outcome for counted in recorder.take_report(HEALTHY, final=False).histograms}


def ended(recorder: Recorder) -> dict[tuple[str, Window], int]:
    return {(one.step, one.window): one.count for one in recorder.take_report(HEALTHY, final=False).ended}


def fails(error: BaseException) -> Callable[[], None]:
    def call() -> None:
        raise error

    return call


@dataclass
class Notes:
    """A listener that keeps what it hears."""

    at_once: tuple[str, ...] = ("notes",)
    each: list[tuple[str, Outcome, int]] = field(default_factory=list)
    sums: list[tuple[str, Outcome, dict[int, int]]] = field(default_factory=list)

    def on_sample(self, step: str, outcome: Outcome, latency_us: int) -> None:
        self.each.append((step, outcome, latency_us))

    def on_sum(self, step: str, outcome: Outcome, counts: Mapping[int, int]) -> None:
        self.sums.append((step, outcome, dict(counts)))


def test_what_a_stop_of_the_run_cuts_off_has_neither_succeeded_nor_failed() -> None:
    recorder = Recorder("run", 0)
    for error in (StepFailure(Outcome.EXIT_CODE, "code 1"), GreenletExit()):
        clock = StepClock(recorder, DUE)
        clock.begin()
        recorder.is_stopped = isinstance(error, GreenletExit)
        with pytest.raises(type(error)):
            clock.timed("exec", fails(error))
        outcome = Outcome.UNFINISHED if recorder.is_stopped else Outcome.EXIT_CODE
        clock.total(outcome, "")
    report = recorder.take_report(HEALTHY, final=True)
    counts = report.counts[Window.MEASURED]
    assert (counts.started, counts.succeeded, counts.failed, report.in_flight) == (2, 0, 1, 0)
    assert [(error.step, error.outcome) for error in report.errors] == [("exec", Outcome.EXIT_CODE)]
    assert Outcome.UNFINISHED not in {counted.outcome for counted in report.histograms}


def test_a_recorder_that_nobody_told_otherwise_counts_for_no_trial_no_stage_and_no_time() -> None:
    recorder = Recorder("run", 0)
    recorder.dropped(Window.WARM_UP)
    recorder.started(Window.WARM_UP, 0)
    report = recorder.take_report(HEALTHY, final=False)
    assert (report.trial, report.until_s, report.stages) == (0, 0.0, ())
    counts = report.counts[Window.WARM_UP]
    assert (counts.scheduled, counts.started, counts.dropped) == (2, 1, 1)


def test_what_ends_by_itself_after_a_stop_counts_as_before() -> None:
    recorder = Recorder("run", 0)
    recorder.is_stopped = True
    for outcome in (Outcome.OK, Outcome.EXIT_CODE):
        recorder.started(Window.MEASURED, 0)
        recorder.sample("total", Window.MEASURED, outcome, 5)
        recorder.ended(Window.MEASURED, outcome, monotonic_ns())
    recorder.failure("exec", Window.MEASURED, Outcome.EXIT_CODE, "code 1")
    report = recorder.take_report(HEALTHY, final=True)
    counts = report.counts[Window.MEASURED]
    assert (counts.started, counts.succeeded, counts.failed) == (2, 1, 1)
    assert [counted.outcome for counted in report.histograms] == [Outcome.OK, Outcome.EXIT_CODE]
    assert [(error.outcome, error.count) for error in report.errors] == [(Outcome.EXIT_CODE, 1)]


def test_an_iteration_is_late_that_begins_more_than_20_ms_after_it_was_due() -> None:
    recorder = Recorder("run", 0)
    for delay_ns in (0, 20_000_000, 20_000_001):
        recorder.started(Window.MEASURED, delay_ns)
    assert recorder.take_report(HEALTHY, final=True).counts[Window.MEASURED].late == 1


def test_a_failure_near_a_pause_of_the_worker_is_counted_as_one_that_the_pause_may_have_caused() -> None:
    recorder, now_ns = Recorder("run", 0), monotonic_ns()
    recorder.pauses.add(now_ns - 600_000_000, now_ns - 100_000_000)
    for begin_ns in (now_ns - 1_000_000_000, now_ns - 60_000_000_000):
        recorder.failure("exec", Window.MEASURED, Outcome.STEP_TIMEOUT, "late", begin_ns)
    (error,) = recorder.take_report(HEALTHY, final=True).errors
    assert (error.count, error.near_pause) == (2, 1)


def test_a_step_that_began_after_a_pause_failed_by_itself_however_long_ago_its_iteration_was_due() -> None:
    recorder, now_ns = Recorder("run", 0), monotonic_ns()
    recorder.pauses.add(now_ns - 100_000_000_000, now_ns - 10_000_000_000)
    for begin_ns in (now_ns, now_ns - 110_000_000_000):
        clock = StepClock(recorder, Due(now_ns - 110_000_000_000, Window.MEASURED))
        clock.begin()
        clock.record("exec", begin_ns, Outcome.STEP_TIMEOUT)
        clock.total(Outcome.STEP_TIMEOUT, "late")
    (error,) = recorder.take_report(HEALTHY, final=True).errors
    assert (error.step, error.count, error.near_pause) == ("exec", 2, 1)


def test_the_listener_hears_of_the_steps_it_asked_for_under_every_name_and_outcome() -> None:
    heard = Notes()
    recorder = Recorder("run", 0, heard, (Timing.LOGIN, Timing.TOTAL))
    for step in ("via1.login", "kex", "login", "total"):
        recorder.sample(step, Window.MEASURED, Outcome.OK, 5)
    recorder.sample("total", Window.WARM_UP, Outcome.REFUSED, 6)
    recorder.take_report(HEALTHY, final=False)
    recorder.sample("total", Window.MEASURED, Outcome.OK, 7)
    assert heard.each == [
        ("via1.login", Outcome.OK, 5),
        ("login", Outcome.OK, 5),
        ("total", Outcome.OK, 5),
        ("total", Outcome.REFUSED, 6),
        ("total", Outcome.OK, 7),
    ]


def test_with_each_report_the_listener_hears_what_the_samples_since_the_last_come_to() -> None:
    heard = Notes()
    recorder = Recorder("run", 0, heard, (Timing.TOTAL,))
    for latency_us in (5, 5, 2_049):
        recorder.sample("total", Window.MEASURED, Outcome.OK, latency_us)
    recorder.sample("kex", Window.MEASURED, Outcome.OK, 5)
    recorder.take_report(HEALTHY, final=False)
    recorder.sample("total", Window.MEASURED, Outcome.REFUSED, 7)
    recorder.take_report(HEALTHY, final=True)
    assert heard.sums == [("total", Outcome.OK, {5: 2, 2_048: 1}), ("total", Outcome.REFUSED, {7: 1})]


def test_a_listener_in_whose_place_nobody_waits_for_single_samples_hears_their_sums_only() -> None:
    heard = Notes(at_once=())
    recorder = Recorder("run", 0, heard, (Timing.TOTAL,))
    recorder.sample("total", Window.MEASURED, Outcome.OK, 5)
    recorder.operation(TOTAL, Window.MEASURED, (1_000, 7_000))
    heard.at_once = ("now",)
    recorder.operation(TOTAL, Window.MEASURED, (1_000, 8_000))
    recorder.take_report(HEALTHY, final=True)
    assert heard.each == [("total", Outcome.OK, 7)]
    assert heard.sums == [("total", Outcome.OK, {5: 1, 6: 1, 7: 1})]


def test_a_report_takes_the_samples_away() -> None:
    recorder = Recorder("run", 0)
    recorder.sample("total", Window.MEASURED, Outcome.OK, 5)
    (counted,) = recorder.take_report(HEALTHY, final=False).histograms
    assert (counted.step, counted.count) == ("total", 1)
    assert LatencyHistogram.decode(counted.data) == LatencyHistogram([5])
    assert recorder.take_report(HEALTHY, final=False).histograms == ()


@pytest.mark.parametrize("operations", [1, 64])
def test_an_operation_counts_as_if_each_of_its_timings_was_counted_by_itself(operations: int) -> None:
    heard, heard_together = Notes(), Notes()
    one_by_one = Recorder("run", 0, heard, (Timing.COMMAND,))
    together = Recorder("run", 0, heard_together, (Timing.COMMAND,))
    one_by_one.rated, together.rated = RatedTime(0, 1_500, 1_500, 90_000), RatedTime(0, 1_500, 1_500, 90_000)
    windows = (Window.WARM_UP, Window.MEASURED, Window.MEASURED)
    for number in range(operations):
        window, stage, end_ns = windows[number % 3], number % 2, 9_999 + number**2 * 1_000
        together.operation(COMMAND, window, (1_000, 1_001 + number, end_ns), stage)
        for step, begin_ns, ended_ns in zip(
            COMMAND.names, (1_000, 1_001 + number, 1_000), (1_001 + number, end_ns, end_ns), strict=True
        ):
            one_by_one.sample(step, window, Outcome.OK, (ended_ns - begin_ns) // 1_000, stage)
            one_by_one.succeeded(step, ended_ns)
    again = ("ls.exec", Window.MEASURED, Outcome.OK, 2**50)
    together.sample(*again)
    one_by_one.sample(*again)
    assert together.overflows == one_by_one.overflows == 1
    assert together.take_report(HEALTHY, final=False) == one_by_one.take_report(HEALTHY, final=False)
    assert heard_together == heard
    assert len(heard.each) == operations


def test_operations_start_from_zero_after_a_report() -> None:
    recorder = Recorder("run", 0)
    for latency_us in (5, 7):
        recorder.operation(TOTAL, Window.MEASURED, (0, latency_us * 1_000))
        (counted,) = recorder.take_report(HEALTHY, final=False).histograms
        assert LatencyHistogram.decode(counted.data) == LatencyHistogram([latency_us])


def test_of_an_operations_timings_each_counts_in_the_window_of_its_own_end() -> None:
    recorder = Recorder("run", 0)
    recorder.rated = RatedTime(0, 2_000, 2_000, 5_000)
    clock = StepClock(recorder, replace(DUE, window=Window.WARM_UP))
    clock.operation(COMMAND, (1_000, 1_999, 4_999))
    clock.operation(COMMAND, (1_000, 2_000, 5_000))
    assert ended(recorder) == {
        ("ls.exec", Window.WARM_UP): 1,
        ("ls.exec", Window.MEASURED): 1,
        ("ls.read", Window.MEASURED): 1,
        ("ls.command", Window.MEASURED): 1,
    }


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        pytest.param(StepFailure(Outcome.EXIT_CODE, "exit code 1"), Outcome.EXIT_CODE, id="a finding"),
        pytest.param(GreenletExit(), Outcome.UNFINISHED, id="the end of the drain"),
        pytest.param(ZeroDivisionError(), Outcome.GENERATOR_FAULT, id="an error of our own"),
    ],
)
def test_a_timed_step_ends_in_the_outcome_of_what_it_raises(error: BaseException, outcome: Outcome) -> None:
    recorder = Recorder("run", 0)
    with pytest.raises(type(error)):
        StepClock(recorder, DUE).timed("exec", fails(error))
    assert outcomes(recorder) == {"exec": outcome}


def test_a_part_that_its_steps_limit_cuts_off_ends_in_that_timeout_too() -> None:
    recorder = Recorder("run", 0)
    clock = StepClock(recorder, DUE)

    def step() -> None:
        with TimeLimit(0.001, Timing.EXEC):
            clock.timed("read", lambda: sleep(60))

    with pytest.raises(StepFailure):
        clock.timed("command", step)
    assert outcomes(recorder) == {"read": Outcome.STEP_TIMEOUT, "command": Outcome.STEP_TIMEOUT}


def test_the_innermost_failing_step_is_the_one_that_an_iteration_failed_in() -> None:
    recorder = Recorder("run", 0)
    clock = StepClock(recorder, DUE)
    recorder.started(DUE.window, 0)
    refusal = StepFailure(Outcome.CHANNEL_REFUSED, "no")
    with pytest.raises(StepFailure):
        clock.timed("command", lambda: clock.timed("channelOpen", fails(refusal)))
    clock.total(refusal.outcome, refusal.message)
    (error,) = recorder.take_report(HEALTHY, final=False).errors
    assert (error.step, error.outcome, error.first_message, error.count) == (
        "channelOpen",
        Outcome.CHANNEL_REFUSED,
        "no",
        1,
    )


@pytest.mark.parametrize("due_in", Window)
@pytest.mark.parametrize(
    ("end_ns", "window"),
    [
        pytest.param(9, None, id="before the load"),
        pytest.param(10, Window.WARM_UP, id="as the warm-up begins"),
        pytest.param(19, Window.WARM_UP, id="at the end of the warm-up"),
        pytest.param(20, Window.MEASURED, id="as the window begins"),
        pytest.param(39, Window.MEASURED, id="at the end of the window"),
        pytest.param(40, None, id="after it"),
    ],
)
def test_a_success_counts_for_rates_in_the_window_in_which_it_ends_wherever_it_was_due(
    end_ns: int, window: Window | None, due_in: Window
) -> None:
    recorder = Recorder("run", 0)
    recorder.rated = RatedTime(10, 20, 20, 40)
    StepClock(recorder, replace(DUE, window=due_in)).succeeded("read", 0, end_ns)
    recorder.started(due_in, 0)
    recorder.ended(due_in, Outcome.OK, end_ns)
    recorder.started(due_in, 0)
    recorder.ended(due_in, Outcome.EXIT_CODE, end_ns)
    report = recorder.take_report(HEALTHY, final=False)
    assert {(one.step, one.window) for one in report.ended} == ({("read", window)} if window else set())
    assert {one: counts.completed for one, counts in report.counts.items()} == {one: one is window for one in Window}
    assert (report.counts[due_in].succeeded, report.counts[due_in].failed) == (1, 1)
    assert recorder.take_report(HEALTHY, final=False).ended == ()


@pytest.mark.parametrize("due_in", [1, 2])
@pytest.mark.parametrize(("end_ns", "ended_in"), [(20, 1), (29, 1), (30, 2), (39, 2), (40, None)])
def test_an_iteration_counts_as_completed_in_the_stage_in_which_it_ends(
    end_ns: int, ended_in: int | None, due_in: int
) -> None:
    recorder = Recorder("run", 0)
    recorder.rated = RatedTime(10, 20, 20, 40, (30, 40))
    recorder.started(Window.MEASURED, 0, due_in)
    recorder.ended(Window.MEASURED, Outcome.OK, end_ns, due_in)
    report = recorder.take_report(HEALTHY, final=False)
    assert {one.stage: one.counts.completed for one in report.stages if one.counts.completed} == (
        {ended_in: 1} if ended_in else {}
    )
    assert {one.stage: one.counts.succeeded for one in report.stages if one.counts.succeeded} == {due_in: 1}
    assert report.counts[Window.MEASURED].completed == bool(ended_in)


def test_what_ends_in_the_warm_up_of_a_load_with_stages_counts_in_none_of_them() -> None:
    recorder = Recorder("run", 0)
    recorder.rated = RatedTime(10, 20, 20, 40, (30, 40))
    recorder.started(Window.WARM_UP, 0)
    recorder.ended(Window.WARM_UP, Outcome.OK, 19)
    report = recorder.take_report(HEALTHY, final=False)
    assert {one: counts.completed for one, counts in report.counts.items()} == {Window.WARM_UP: 1, Window.MEASURED: 0}
    assert report.stages == ()


def test_a_single_burst_counts_whenever_it_ends() -> None:
    recorder = Recorder("run", 0)
    recorder.rated = RatedTime.of(BurstLoad(3, 1, 0.0), warm_up_s=0.0, start_ns=10)
    for end_ns in (10, 99 * 10**9):
        recorder.succeeded("read", end_ns)
    assert ended(recorder) == {("read", Window.MEASURED): 2}


def test_what_ends_after_the_load_was_ended_early_counts_for_no_rate() -> None:
    recorder = Recorder("run", 0)
    recorder.rated = RatedTime(10, 20, 20, 40)
    clock = StepClock(recorder, DUE)
    clock.operation(TOTAL, (0, 24))
    recorder.rated.end_at(25)
    for end_ns in (25, 26, 30):
        clock.operation(TOTAL, (0, end_ns))
    assert ended(recorder) == {("total", Window.MEASURED): 1}


def test_between_warm_up_and_the_end_of_the_ramp_only_what_is_of_held_sessions_or_jump_hosts_counts() -> None:
    recorder = Recorder("run", 0)
    recorder.rated = RatedTime(10, 20, 30, 40)
    for step in ("total", "login", "held.login", "via1.login"):
        for end_ns in (19, 29, 39):
            StepClock(recorder, DUE).succeeded(step, 0, end_ns)
    found = ended(recorder)
    assert {step: found[step, Window.MEASURED] for step, _ in found} == {
        "total": 1,
        "login": 1,
        "held.login": 2,
        "via1.login": 2,
    }


@given(
    begin_ns=st.integers(0, 60), length_ns=st.integers(0, 60), count=st.integers(0, 1_000), end_ns=st.integers(0, 60)
)
def test_bytes_count_in_the_window_in_which_they_move_and_none_is_lost_or_counted_twice(
    begin_ns: int, length_ns: int, count: int, end_ns: int
) -> None:
    recorder = Recorder("run", 0)
    recorder.rated = RatedTime(10, 20, 20, 40)
    recorder.rated.end_at(end_ns)
    recorder.moved("read", begin_ns, begin_ns + length_ns, count)
    found = {one.window: one.count for one in recorder.take_report(HEALTHY, final=False).moved}
    assert sum(found.values()) == count
    for window, bounds in ((Window.WARM_UP, (10, 20)), (Window.MEASURED, (20, 40))):
        low, high = (min(bound, end_ns) for bound in bounds)
        inside_ns = max(min(high, begin_ns + length_ns) - max(low, begin_ns), 0)
        if length_ns:
            assert abs(found.get(window, 0) - count * inside_ns / length_ns) <= 1
        else:
            assert found.get(window, 0) == (count if low <= begin_ns < high else 0)


@given(load=st.sampled_from([USERS, HOLD, BURST]), warm_up_s=st.sampled_from([0.0, 0.7, 3.0]))
def test_the_windows_of_a_load_are_those_of_its_plan(load: Load, warm_up_s: float) -> None:
    start_ns = 5 * 10**9
    rated = RatedTime.of(load, warm_up_s, start_ns)
    borders_s = (0.0, warm_up_s, warm_up_s + load.before_iterations_s, warm_up_s + load.lasts_s)
    for border_s in borders_s:
        border_ns = start_ns + int(border_s * 10**9)
        assert rated.part_at(border_ns - 1) < rated.part_at(border_ns)
    assert rated.end_ns == start_ns + int(borders_s[-1] * 10**9)
