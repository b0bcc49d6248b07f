from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from time import monotonic_ns

import pytest
from gevent import GreenletExit, sleep
from sshload_contract.vocabulary import Outcome, Timing, Window
from sshload_contract.wire.report import Health
from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.recording.recorder import Recorder, Spans
from sshload_worker.scenario.step_clock import Due, StepClock, TimeLimit

HEALTHY = Health(0.1, 0.0, None, 1, 1, 1, 2, 2, 3, 28_232, 0)
DUE = Due(at_ns=0, window=Window.MEASURED, window_end_ns=10**18)
TOTAL = Spans(("total",), ((0, 1),))
COMMAND = Spans(("ls.exec", "ls.read", "ls.command"), ((0, 1), (1, 2), (0, 2)))


def outcomes(recorder: Recorder) -> dict[str, Outcome]:
    return {counted.step: counted.outcome for counted in recorder.take_report(HEALTHY, final=False).histograms}


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


def test_a_failure_near_a_pause_of_the_worker_is_counted_as_one_that_the_pause_may_have_caused() -> None:
    recorder, now_ns = Recorder("run", 0), monotonic_ns()
    recorder.pauses.add(now_ns - 600_000_000, now_ns - 100_000_000)
    for begin_ns in (now_ns - 1_000_000_000, now_ns - 60_000_000_000):
        recorder.failure("exec", Window.MEASURED, Outcome.STEP_TIMEOUT, "late", begin_ns)
    (error,) = recorder.take_report(HEALTHY, final=True).errors
    assert (error.count, error.near_pause) == (2, 1)


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


@pytest.mark.parametrize("operations", [1, 64, 1_000])
def test_an_operation_counts_as_if_each_of_its_timings_was_counted_by_itself(operations: int) -> None:
    heard, heard_together = Notes(), Notes()
    one_by_one = Recorder("run", 0, heard, (Timing.COMMAND,))
    together = Recorder("run", 0, heard_together, (Timing.COMMAND,))
    windows = (Window.WARM_UP, Window.MEASURED, Window.MEASURED)
    for number in range(operations):
        window, stage, end_ns = windows[number % 3], number % 2, 9_999 + number**2 * 1_000
        together.operation(COMMAND, window, (1_000, 1_001 + number, end_ns), stage)
        for step, span_ns in (("exec", 1 + number), ("read", end_ns - 1_001 - number), ("command", end_ns - 1_000)):
            one_by_one.sample(f"ls.{step}", window, Outcome.OK, span_ns // 1_000, stage)
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


def test_of_an_operations_timings_each_is_late_by_its_own_end() -> None:
    recorder = Recorder("run", 0)
    clock = StepClock(recorder, replace(DUE, window_end_ns=5_000))
    clock.operation(COMMAND, (1_000, 4_000, 6_000))
    late = recorder.take_report(HEALTHY, final=False).late
    assert {one.step: one.count for one in late} == {"ls.read": 1, "ls.command": 1}


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


@pytest.mark.parametrize(
    ("ended_ns", "inside"), [pytest.param(10**18, 1, id="inside"), pytest.param(0, 0, id="after its window")]
)
def test_only_what_ends_in_its_window_was_completed_inside(ended_ns: int, inside: int) -> None:
    recorder = Recorder("run", 0)
    recorder.started(Window.MEASURED, 0)
    StepClock(recorder, replace(DUE, window_end_ns=ended_ns)).total(Outcome.OK, "")
    counts = recorder.take_report(HEALTHY, final=False).counts[Window.MEASURED]
    assert (counts.succeeded, counts.completed_inside) == (1, inside)


@pytest.mark.parametrize("outcome", [Outcome.OK, Outcome.EXIT_CODE])
@pytest.mark.parametrize(
    ("ended_ns", "late"), [pytest.param(10**18, 0, id="inside"), pytest.param(0, 1, id="after its window")]
)
def test_what_succeeds_after_its_window_is_told_apart(ended_ns: int, late: int, outcome: Outcome) -> None:
    recorder = Recorder("run", 0)
    clock = StepClock(recorder, replace(DUE, window_end_ns=ended_ns))
    clock.timed("read", lambda: None)
    clock.transferred("read", 7)
    clock.record("total", 0, outcome)
    told = {one.step: (one.count, one.bytes) for one in recorder.take_report(HEALTHY, final=False).late}
    totals = {"total": (1, 0)} if outcome is Outcome.OK else {}
    assert told == ({"read": (1, 7), **totals} if late else {})
    assert recorder.take_report(HEALTHY, final=False).late == ()


@pytest.mark.parametrize(
    ("ended_ns", "late"),
    [pytest.param(10, (1, 0), id="inside"), pytest.param(11, (2, 7), id="after its window")],
)
def test_bytes_are_of_the_window_of_the_step_that_moved_them_however_long_afterwards_they_are_counted(
    ended_ns: int, late: tuple[int, int]
) -> None:
    recorder = Recorder("run", 0)
    clock = StepClock(recorder, replace(DUE, window_end_ns=10))
    clock.succeeded("command", 0, ended_ns)
    clock.transferred("command", 7)
    StepClock(recorder, replace(DUE, window_end_ns=10)).succeeded("command", 0, 11)
    told = {one.step: (one.count, one.bytes) for one in recorder.take_report(HEALTHY, final=False).late}
    assert told == {"command": late}
