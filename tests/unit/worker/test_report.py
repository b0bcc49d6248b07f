from dataclasses import replace

import pytest
from reports import course
from run_configs import NOWHERE, TOKEN, arrivals, run_config
from runs import target_stats
from sshload_contract.judgement.validity import defects
from sshload_contract.load import ArrivalProcess, ArrivalsLoad, ArrivalsStage, BurstLoad, HoldLoad, Load
from sshload_contract.steal import MachineCpu
from sshload_contract.vocabulary import Invalidity, Outcome, RunEnd, Window
from sshload_contract.wire.codec import from_json, to_json
from sshload_contract.wire.master_log import read_master_log, summary_lines
from sshload_contract.wire.report import ArrivalCounts, ErrorCount, Health, Report
from sshload_contract.wire.run_config import RunConfig
from sshload_contract.wire.run_summary import RunSummary, SeriesPoint
from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.recording.rated_time import RatedTime
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.step_clock import Due, StepClock
from sshload_worker.summary.progress import NOTHING_YET, POINTS_LIMIT, Progress, Series, progress
from sshload_worker.summary.run_summary import ERRORS_LIMIT, RunCourse, run_summary, window_durations_s
from sshload_worker.summary.totals import NO_COUNTS, Totals

HEALTHY = Health(0.1, 0.0, None, 1, 1, 1, 2, 2, 3, 28_232, 0)


def config(load: Load, warm_up_s: float = 0.0) -> RunConfig:
    return replace(run_config(NOWHERE, load), warm_up_s=warm_up_s)


def totals_of(count: int, failures: int = 0, *, final: bool = True) -> Totals:
    recorder = Recorder("test-run", 0)
    for number in range(count + failures):
        outcome = Outcome.OK if number < count else Outcome.THROTTLED
        recorder.started(Window.MEASURED, 0)
        recorder.sample("total", Window.MEASURED, outcome, 1_000)
        if outcome is Outcome.OK:
            recorder.succeeded("total", 0)
        recorder.ended(Window.MEASURED, outcome, at_ns=0)
    totals = Totals()
    totals.add(recorder.take_report(HEALTHY, final=final))
    return totals


@pytest.mark.parametrize(
    ("load", "warm_up_s", "elapsed_s", "durations"),
    [
        pytest.param(arrivals(1, 10), 2.0, 13.5, (2.0, 10.0), id="as planned, however long the drain"),
        pytest.param(arrivals(1, 10), 2.0, 7.0, (2.0, 5.0), id="ended early"),
        pytest.param(arrivals(1, 10), 2.0, 1.0, (1.0, 0.0), id="ended in the warm-up"),
        pytest.param(BurstLoad(5, 2, 10.0), 0.0, 11.0, (0.0, 11.0), id="the last burst ends with its last iteration"),
        pytest.param(BurstLoad(5, 1, 0.0), 0.0, 3.0, (0.0, 3.0), id="one burst without interval"),
        pytest.param(arrivals(1, 10), 2.0, 0.0, (0.0, 0.0), id="never started"),
    ],
)
def test_a_window_lasts_as_planned_or_until_the_end(
    load: Load, warm_up_s: float, elapsed_s: float, durations: tuple[float, float]
) -> None:
    found = window_durations_s(config(load, warm_up_s), elapsed_s)
    assert (found[Window.WARM_UP], found[Window.MEASURED]) == durations


def test_rates_are_counts_over_the_measured_window() -> None:
    summary = run_summary(config(arrivals(1, 10)), totals_of(90, failures=10), course(12.0))
    load = summary.trial.load
    assert (load.duration_s, load.offered_rate, load.achieved_rate, load.completed_rate) == (10.0, 10.0, 10.0, 9.0)
    (total,) = summary.trial.steps
    assert (total.count, total.failures, total.rate) == (90, 10, 9.0)
    assert total.percentiles_us == {"50": 1_000, "90": 1_000, "99": None}


def test_the_rates_of_a_hold_load_are_of_the_time_in_which_it_probes() -> None:
    hold = HoldLoad(sessions=10, ramp_up_s=30.0, duration_s=45.0, keep_alive_s=0.0, probe_rate=2.0)
    held = replace(course(80.0), held_most=10, held_least=9)
    load = run_summary(config(hold), totals_of(90), held).trial.load
    assert (load.duration_s, load.offered_rate, load.achieved_rate, load.completed_rate) == (75.0, 2.0, 2.0, 2.0)
    assert (load.held_most, load.held_least) == (10, 9)


def test_bytes_per_second_are_of_the_window_and_only_for_steps_that_move_any() -> None:
    totals = totals_of(1)
    recorder = Recorder("test-run", 1)
    for _ in range(2):
        recorder.sample("sftpRead", Window.MEASURED, Outcome.OK, 5)
        recorder.moved("sftpRead", 0, 0, 11_000_000)
    totals.add(recorder.take_report(HEALTHY, final=True))
    steps = {step.step: step for step in run_summary(config(arrivals(1, 10)), totals, course(10.0)).trial.steps}
    assert steps["sftpRead"].bytes_per_second == 2_200_000.0
    assert steps["total"].bytes_per_second is None


def test_a_rate_is_of_what_ended_and_moved_in_the_window_and_a_count_of_what_was_due_in_it() -> None:
    recorder = Recorder("test-run", 0)
    recorder.rated = RatedTime(0, 10, 10, 20)
    for due_in, end_ns in (
        (Window.WARM_UP, 9),
        (Window.WARM_UP, 10),
        (Window.MEASURED, 19),
        (Window.MEASURED, 20),
        (Window.MEASURED, 21),
    ):
        clock = StepClock(recorder, Due(0, due_in))
        clock.succeeded("sftpRead", 0, end_ns)
        recorder.moved("sftpRead", end_ns - 4, end_ns, 4_000_000)
    totals = Totals()
    totals.add(recorder.take_report(HEALTHY, final=True))
    steps = {step.window: step for step in run_summary(config(arrivals(1, 10), 10.0), totals, course(22.0)).trial.steps}
    found = steps[Window.MEASURED]
    assert (found.count, found.rate, found.bytes_per_second) == (3, 0.2, 1_100_000.0)
    found = steps[Window.WARM_UP]
    assert (found.count, found.rate, found.bytes_per_second) == (2, 0.1, 800_000.0)


def test_a_step_moved_nothing_in_the_window_if_it_moved_all_before_and_one_that_never_did_is_no_step() -> None:
    recorder = Recorder("test-run", 0)
    recorder.rated = RatedTime(0, 10, 10, 20)
    StepClock(recorder, Due(0, Window.MEASURED)).succeeded("sftpRead", 0, 15)
    recorder.moved("sftpRead", 2, 8, 1_000)
    recorder.moved("sftpWrite", 5, 15, 0)
    totals = Totals()
    totals.add(recorder.take_report(HEALTHY, final=True))
    found = run_summary(config(arrivals(1, 10), 10.0), totals, course(20.0)).trial.steps
    assert {(one.step, one.window, one.bytes_per_second) for one in found} == {
        ("sftpRead", Window.WARM_UP, 100.0),
        ("sftpRead", Window.MEASURED, 0.0),
    }


def test_a_step_of_which_all_were_due_in_the_warm_up_has_a_rate_in_the_window_in_which_they_ended() -> None:
    recorder = Recorder("test-run", 0)
    recorder.rated = RatedTime(0, 10, 10, 20)
    StepClock(recorder, Due(0, Window.WARM_UP)).succeeded("sftpRead", 0, 15)
    recorder.moved("sftpWrite", 12, 18, 6_000)
    totals = Totals()
    totals.add(recorder.take_report(HEALTHY, final=True))
    found = run_summary(config(arrivals(1, 10), 10.0), totals, course(20.0)).trial.steps
    assert {
        (one.step, one.count, one.rate, one.bytes_per_second) for one in found if one.window is Window.MEASURED
    } == {
        ("sftpRead", 0, 0.1, None),
        ("sftpWrite", 0, 0.0, 600.0),
    }


def test_the_rate_of_a_probes_step_is_of_the_time_in_which_probes_begin() -> None:
    hold = HoldLoad(sessions=10, ramp_up_s=30.0, duration_s=45.0, keep_alive_s=30.0, probe_rate=2.0)
    recorder = Recorder("test-run", 0)
    for name, count in (("total", 90), ("held.login", 75), ("via1.login", 75)):
        for _ in range(count):
            recorder.succeeded(name, 0)
    totals = Totals()
    totals.add(recorder.take_report(HEALTHY, final=True))
    steps = run_summary(config(hold), totals, course(80.0)).trial.steps
    assert {step.step: step.rate for step in steps} == {"total": 2.0, "held.login": 1.0, "via1.login": 1.0}


def test_a_run_that_never_started_has_no_rates_and_misses_no_reports() -> None:
    summary = run_summary(config(arrivals(1, 10)), Totals(), course(0.0, RunEnd.WORKERS_MISSING))
    assert (summary.trial.load.offered_rate, summary.trial.steps, summary.trial.generator.reports_missing) == (
        0.0,
        (),
        0,
    )


def test_a_final_report_that_did_not_come_is_missed() -> None:
    summary = run_summary(config(arrivals(1, 10)), totals_of(1, final=False), course(10.0))
    assert summary.trial.generator.reports_missing == 1


def test_errors_are_bounded_and_the_most_frequent_are_kept() -> None:
    totals = Totals()
    errors = tuple(
        ErrorCount(f"step{number}", Outcome.EXIT_CODE, Window.MEASURED, number + 1, "x" * 200) for number in range(500)
    )
    report = totals_report(errors)
    totals.add(report)
    summary = run_summary(config(arrivals(1, 10)), totals, course(10.0))
    assert len(summary.trial.errors) == ERRORS_LIMIT
    assert summary.trial.errors[0].count == 500


def test_no_fault_of_the_generator_is_left_out_for_more_frequent_errors() -> None:
    totals = Totals()
    others = tuple(
        ErrorCount(f"step{number}", Outcome.EXIT_CODE, Window.MEASURED, 2, "x") for number in range(ERRORS_LIMIT)
    )
    fault = ErrorCount("connect", Outcome.GENERATOR_FAULT, Window.MEASURED, 1, "a system call of the worker failed")
    totals.add(totals_report((*others, fault)))
    summary = run_summary(config(arrivals(1, 10)), totals, course(10.0))
    assert (len(summary.trial.errors), summary.trial.errors[-1]) == (ERRORS_LIMIT, fault)
    assert Invalidity.GENERATOR_FAULT in {defect.invalidity for defect in defects(summary.trial, managed=False)}


def totals_report(errors: tuple[ErrorCount, ...]) -> Report:
    return replace(Recorder("test-run", 0).take_report(HEALTHY, final=True), errors=errors)


def test_a_summary_survives_the_masters_log() -> None:
    summary = run_summary(config(arrivals(1, 10)), totals_of(90, failures=10), course(12.0))
    assert from_json(RunSummary, to_json(summary)) == summary
    assert read_master_log("\n".join(summary_lines(summary, TOKEN))).summary == summary


def mark(at_s: float, started: int) -> Progress:
    counts = replace(NO_COUNTS, scheduled=started, started=started, succeeded=started)
    latencies = LatencyHistogram()
    latencies.counts[5] = started
    return replace(NOTHING_YET, at_s=at_s, reported_s=at_s, counts=counts, totals_ok=latencies)


@pytest.mark.parametrize("seconds", [1, 10, POINTS_LIMIT, POINTS_LIMIT + 1, 5 * POINTS_LIMIT], ids=str)
def test_a_series_stays_bounded_and_loses_nothing(seconds: int) -> None:
    series = Series(1.0)
    for second in range(1, seconds + 1):
        series.observe(mark(float(second), second * 3))
    series.observe(mark(seconds + 0.1, seconds * 3 + 1), final=True)
    points = series.points()
    assert len(points) <= POINTS_LIMIT + 1
    assert sum(point.started for point in points) == seconds * 3 + 1
    assert [point.at_s for point in points] == sorted({point.at_s for point in points})
    assert points[-1].at_s == seconds + 0.1


def test_a_series_point_has_a_p99_where_its_samples_suffice() -> None:
    series = Series(1.0)
    series.observe(mark(1.0, 298))
    series.observe(mark(2.0, 298 + 299))
    assert [point.p99_us for point in series.points()] == [None, 5]


def test_a_series_point_says_how_the_iterations_of_its_interval_failed() -> None:
    series = Series(1.0)
    series.observe(replace(mark(1.0, 9), failed_by={Outcome.RESET_BEFORE_BANNER: 2}))
    series.observe(replace(mark(2.0, 18), failed_by={Outcome.RESET_BEFORE_BANNER: 2, Outcome.EXIT_CODE: 3}))
    series.observe(replace(mark(3.0, 27), failed_by={Outcome.RESET_BEFORE_BANNER: 6, Outcome.EXIT_CODE: 3}))
    assert [point.failed_by for point in series.points()] == [
        {Outcome.RESET_BEFORE_BANNER: 2},
        {Outcome.EXIT_CODE: 3},
        {Outcome.RESET_BEFORE_BANNER: 4},
    ]
    assert [(point.p50_us, point.p90_us) for point in series.points()] == [(5, None)] * 3


def test_a_series_point_says_what_was_stolen_in_its_interval_of_all_workers_machines() -> None:
    series = Series(1.0)
    for second, stolen_s in ((1.0, 0.0), (2.0, 1.0), (3.0, 1.0)):
        series.observe(replace(mark(second, int(second)), machine_cpu=MachineCpu(4 * second, stolen_s)))
    series.observe(mark(4.0, 4))
    assert [point.stolen_share for point in series.points()] == [0.0, 0.25, 0.0, None]


def test_what_was_stolen_is_known_where_each_worker_tells() -> None:
    def told(*machines: MachineCpu | None) -> MachineCpu | None:
        totals = Totals()
        for worker, machine in enumerate(machines):
            health = replace(HEALTHY, machine_cpu=machine)
            totals.add(Recorder("test-run", worker).take_report(health, until_s=1.0, final=False))
        return progress(totals, 1.0, workers=len(machines)).machine_cpu

    assert told(MachineCpu(4.0, 1.0), MachineCpu(2.0, 0.5)) == MachineCpu(6.0, 1.5)
    assert told(MachineCpu(4.0, 1.0), None) is None


def test_joined_intervals_have_the_failures_of_both() -> None:
    series = Series(1.0)
    for second in range(1, POINTS_LIMIT + 2):
        series.observe(replace(mark(float(second), second), failed_by={Outcome.EXIT_CODE: second}))
    assert sum(point.failed_by[Outcome.EXIT_CODE] for point in series.points()) == POINTS_LIMIT + 1


def test_progress_says_how_iterations_failed_in_both_windows_and_not_how_their_steps_did() -> None:
    recorder = Recorder("test-run", 0)
    for window in Window:
        recorder.started(window, 0)
        recorder.sample("login", window, Outcome.AUTH_REJECTED, 7)
        recorder.sample("total", window, Outcome.AUTH_REJECTED, 7)
    totals = Totals()
    totals.add(recorder.take_report(HEALTHY, until_s=1.0, final=False))
    assert progress(totals, 1.0, workers=1).failed_by == {Outcome.AUTH_REJECTED: 2}


@pytest.mark.parametrize(
    ("throttled", "penalised", "called"),
    [
        pytest.param(3, 0, {Outcome.THROTTLED: 3}, id="one kind"),
        pytest.param(2, 1, {Outcome.DROPPED_UNKNOWN: 2, Outcome.THROTTLED: 1}, id="both kinds"),
    ],
)
def test_the_series_calls_drops_as_the_totals_do(throttled: int, penalised: int, called: dict[Outcome, int]) -> None:
    point = SeriesPoint(1.0, 0, 0, 0, 3, 0, 3, None, None, None, {Outcome.DROPPED_UNKNOWN: 2, Outcome.THROTTLED: 1})
    seen = replace(
        course(12.0),
        series=(point,),
        target_before=target_stats(0),
        target_after=target_stats(9, dropped_max_startups=throttled, dropped_penalty=penalised),
    )
    (told,) = run_summary(config(arrivals(1, 10)), totals_of(90), seen).series
    assert told.failed_by == called


def test_progress_adds_up_windows_and_workers() -> None:
    totals = Totals()
    for worker in range(2):
        recorder = Recorder("test-run", worker)
        recorder.users = 3
        for window in Window:
            recorder.started(window, 0)
            recorder.sample("total", window, Outcome.OK, 7)
        recorder.ended(Window.WARM_UP, Outcome.OK, at_ns=0)
        totals.add(recorder.take_report(HEALTHY, until_s=1.0 + worker, final=False))
    now = progress(totals, 2.5, workers=2)
    assert (now.users, now.in_flight, now.at_s, now.reported_s) == (6, 2, 2.5, 1.5)
    assert now.oldest_report_at_s == 1.0
    assert progress(totals, 2.5, workers=3).oldest_report_at_s == 0.0
    assert now.counts == ArrivalCounts(4, 4, 2, 0, 2, 0, 0)
    assert now.totals_ok == LatencyHistogram([7] * 4)


STAGES = (ArrivalsStage(10, 2.0), ArrivalsStage(100, 4.0), ArrivalsStage(10, 6.0))
STAGED = ArrivalsLoad(STAGES, ArrivalProcess.CONSTANT, 100, 1)
STAGE_ENDS_NS = (2, 6, 12)
FAST_US, SLOW_US = 1_000, 50_000


def iterate(recorder: Recorder, stage: int, latency_us: int, outcome: Outcome = Outcome.OK) -> None:
    """Count an iteration that was due in a stage; a slow one ends in the next."""
    ended_in = stage if latency_us == FAST_US else stage + 1
    recorder.rated = RatedTime(0, 0, 0, STAGE_ENDS_NS[-1], STAGE_ENDS_NS)
    recorder.started(Window.MEASURED, 0, stage)
    recorder.sample("total", Window.MEASURED, outcome, latency_us, stage)
    recorder.ended(
        Window.MEASURED, outcome, STAGE_ENDS_NS[ended_in - 1] - 1 if ended_in <= len(STAGE_ENDS_NS) else 0, stage
    )


def staged_totals() -> Totals:
    """Return what two workers report of twenty fast iterations, then of 300 slow ones of which 30 fail."""
    found = Totals()
    for worker in (0, 1):
        recorder = Recorder("test-run", worker)
        for _ in range(10):
            iterate(recorder, 1, FAST_US)
        found.add(recorder.take_report(HEALTHY, final=False))
        for number in range(150):
            iterate(recorder, 2, SLOW_US, Outcome.THROTTLED if number < 15 else Outcome.OK)
        recorder.dropped(Window.MEASURED, 2)
        found.add(recorder.take_report(HEALTHY, final=True))
    return found


def summarised(ended: RunCourse) -> RunSummary:
    config = replace(run_config(NOWHERE, STAGED, workers=2), percentiles=(50.0, 90.0, 99.0))
    return run_summary(config, staged_totals(), ended)


def test_a_stage_has_its_own_counts_rates_and_latencies() -> None:
    first, second, third = summarised(course(12.0)).stages
    assert (first.number, first.load.succeeded, first.load.failed, first.load.offered_rate) == (1, 20, 0, 10.0)
    assert (second.number, second.load.succeeded, second.load.failed, second.load.dropped) == (2, 270, 30, 2)
    assert second.load.offered_rate == 302 / 4
    assert [one.load.completed_rate for one in (first, second, third)] == [10.0, 0.0, 45.0], (
        "slow ones ended in the next"
    )
    assert first.total is not None
    assert second.total is not None
    assert first.total.percentiles_us["50"] == pytest.approx(FAST_US, rel=0.01)
    assert second.total.percentiles_us["90"] == pytest.approx(SLOW_US, rel=0.01)
    assert (second.total.count, second.total.failures) == (270, 30)
    assert (third.load.started, third.total) == (0, None)


def test_the_stages_together_are_the_whole() -> None:
    found = summarised(course(12.0))
    (total,) = [step for step in found.trial.steps if step.step == "total"]
    assert sum(stage.load.scheduled for stage in found.stages) == found.trial.load.scheduled == 322
    assert (
        sum(stage.total.count for stage in found.stages if stage.total)
        == total.count
        == found.trial.load.succeeded
        == 290
    )
    assert sum(stage.total.failures for stage in found.stages if stage.total) == total.failures == 30


def test_a_stage_that_the_load_did_not_reach_is_absent_and_one_that_was_cut_short_is_as_long_as_it_was() -> None:
    first, second = summarised(course(5.0, RunEnd.STOPPED)).stages
    assert (first.load.duration_s, second.load.duration_s) == (2.0, 3.0)


def test_a_load_of_one_stage_has_no_stages() -> None:
    single = replace(STAGED, stages=STAGES[:1])
    assert run_summary(run_config(NOWHERE, single), staged_totals(), course(2.0)).stages == ()


def test_whole_iterations_are_timed_for_their_stage_and_their_steps_are_not() -> None:
    recorder = Recorder("test-run", 0)
    clock = StepClock(recorder, Due(0, Window.MEASURED, stage=3))
    recorder.started(Window.MEASURED, 0, 3)
    clock.timed("exec", lambda: None)
    clock.total(Outcome.OK, "")
    report = recorder.take_report(HEALTHY, final=False)
    assert {one.step: one.stage for one in report.histograms} == {"exec": 0, "total": 3}
    assert [(one.stage, one.counts.succeeded) for one in report.stages] == [(3, 1)]
    assert report.counts[Window.MEASURED].succeeded == 1


def test_a_recorder_keeps_no_stage_once_it_was_reported() -> None:
    recorder = Recorder("test-run", 0)
    for stage in range(1, 51):
        iterate(recorder, stage, FAST_US)
    assert len(recorder.take_report(HEALTHY, final=False).stages) == 50
    assert recorder.take_report(HEALTHY, final=False).stages == ()
