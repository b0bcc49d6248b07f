"""The figures of a summary: each is the one that its name says, of its own step, window and worker."""

from dataclasses import fields, replace

from reports import REPORT, course
from run_configs import EXEC_TRUE, NOWHERE, arrivals, run_config
from runs import NEGOTIATED, target_stats
from sshload_contract.load import ArrivalProcess, ArrivalsLoad, ArrivalsStage, BurstLoad
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.report import Health
from sshload_contract.wire.run_summary import RunSummary, SeriesPoint, ServerPoint, StepStats
from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.summary.run_summary import NEGOTIATED_LIMIT, run_summary, window_durations_s
from sshload_worker.summary.totals import Failures, StageTotals, Totals

CONFIG = run_config(NOWHERE, arrivals(1, 10), workers=2)
COURSE = course(10.0, workers_connected=2, workers_lost=1)


def steps(summary: RunSummary) -> dict[tuple[str, Window], StepStats]:
    return {(one.step, one.window): one for one in summary.trial.steps}


def test_failures_of_a_step_are_its_own_and_of_its_window() -> None:
    totals = Totals()
    for step, window, count in (
        ("login", Window.MEASURED, 2),
        ("login", Window.WARM_UP, 30),
        ("total", Window.MEASURED, 400),
    ):
        totals.histograms[step, window, Outcome.OK] = LatencyHistogram([5])
        totals.histograms[step, window, Outcome.THROTTLED] = LatencyHistogram([7] * count)
        totals.histograms[step, window, Outcome.REFUSED] = LatencyHistogram([7])
    found = {key: one.failures for key, one in steps(run_summary(CONFIG, totals, COURSE)).items()}
    assert found == {
        ("login", Window.MEASURED): 3,
        ("login", Window.WARM_UP): 31,
        ("total", Window.MEASURED): 401,
    }


def test_steps_are_in_the_order_of_the_scenario_whichever_was_done_first() -> None:
    totals = Totals()
    for step in ("login", "total", "get.command", "uptime.exec", "uptime.command"):
        totals.histograms[step, Window.MEASURED, Outcome.OK] = LatencyHistogram([5])
    both = (replace(EXEC_TRUE, name="uptime"), replace(EXEC_TRUE, name="get"))
    config = replace(CONFIG, scenario=replace(CONFIG.scenario, steps=both))
    found = [one.step for one in run_summary(config, totals, COURSE).trial.steps]
    assert found == ["login", "uptime.exec", "uptime.command", "get.command", "total"]


def test_the_interval_of_a_percentile_is_wider_where_neighbours_are_alike_and_slices_are_of_the_measured_window() -> (
    None
):
    totals = Totals()
    for sequence in range(1, 33):
        latencies = LatencyHistogram([1_000 if sequence <= 16 else 2_000] * 20 + [1_500] * 20)
        totals.slices.add(sequence, "total", latencies)
        for window in Window:
            totals.histograms.setdefault(("total", window, Outcome.OK), LatencyHistogram()).merge(latencies)
    found = steps(run_summary(replace(CONFIG, percentiles=(40.0,)), totals, COURSE))
    measured, warm_up = found["total", Window.MEASURED], found["total", Window.WARM_UP]
    assert measured.percentiles_us == warm_up.percentiles_us
    assert (measured.percentiles_low_us["40"], warm_up.percentiles_low_us["40"]) == (1_000, 1_500)


def test_a_stage_has_percentiles_without_bounds() -> None:
    load = ArrivalsLoad(
        (ArrivalsStage(1, 5.0), ArrivalsStage(2, 5.0)), ArrivalProcess.CONSTANT, max_in_flight=9, seed=1
    )
    totals = Totals()
    totals.stages[1] = StageTotals()
    totals.stages[1].add(Outcome.OK, LatencyHistogram(range(1, 2_000)))
    first, second = run_summary(replace(CONFIG, load=load), totals, COURSE).stages
    assert first.total is not None
    assert first.total.percentiles_us == {"50": 1_000, "90": 1_800, "99": 1_980}
    nothing = dict.fromkeys(("50", "90", "99"))
    assert (first.total.percentiles_low_us, first.total.percentiles_high_us) == (nothing, nothing)
    assert second.total is None


def test_bursts_that_are_planned_to_last_do_not_last_longer() -> None:
    bursts = BurstLoad(5, 3, 10.0)
    planned_s = bursts.lasts_s
    found = window_durations_s(replace(CONFIG, load=bursts), 50.0)[Window.MEASURED]
    assert found == (planned_s or 50.0)


def point(**failed_by: int) -> SeriesPoint:
    outcomes = {Outcome[name]: count for name, count in failed_by.items()}
    return SeriesPoint(1.0, 0, 0, 0, 9, 1, 8, None, failed_by=outcomes)


def test_drops_of_an_interval_are_named_as_the_target_counted_them_and_all_else_stays() -> None:
    before = target_stats(0)
    course = replace(
        COURSE,
        series=(point(DROPPED_UNKNOWN=3, REFUSED=2), point(THROTTLED=1, DROPPED_UNKNOWN=4), point(REFUSED=5), point()),
        target_before=before,
        target_after=replace(before, dropped_max_startups=8),
    )
    assert [dict(one.failed_by) for one in run_summary(CONFIG, Totals(), course).series] == [
        {Outcome.REFUSED: 2, Outcome.THROTTLED: 3},
        {Outcome.THROTTLED: 5},
        {Outcome.REFUSED: 5},
        {},
    ]
    unknown = replace(course, target_after=before)
    assert run_summary(CONFIG, Totals(), unknown).series == course.series


def test_what_the_target_used_over_time_is_in_the_trial() -> None:
    used = (ServerPoint(2.0, 1.5, None, 3, 4),)
    assert run_summary(CONFIG, Totals(), replace(COURSE, server_series=used)).trial.server_series == used


def test_errors_of_one_count_are_in_the_order_of_their_steps_then_outcomes_and_the_most_frequent_come_first() -> None:
    totals = Totals()
    for step, outcome, window, count in (
        ("login", Outcome.REFUSED, Window.MEASURED, 1),
        ("connect", Outcome.THROTTLED, Window.WARM_UP, 1),
        ("connect", Outcome.THROTTLED, Window.MEASURED, 1),
        ("connect", Outcome.REFUSED, Window.MEASURED, 1),
        ("exec", Outcome.EXIT_CODE, Window.MEASURED, 9),
    ):
        totals.errors[step, outcome, window] = Failures(count, 1, "why")
    errors = run_summary(CONFIG, totals, COURSE).trial.errors
    assert [(one.count, one.step, str(one.outcome), str(one.window)) for one in errors] == [
        (9, "exec", "exitCode", "measured"),
        (1, "connect", "refused", "measured"),
        (1, "connect", "throttled", "measured"),
        (1, "connect", "throttled", "warmUp"),
        (1, "login", "refused", "measured"),
    ]
    assert {(one.first_message, one.near_pause) for one in errors} == {("why", 1)}


def test_of_what_was_negotiated_the_most_frequent_are_kept() -> None:
    totals = Totals()
    for number in range(NEGOTIATED_LIMIT + 5):
        totals.negotiated[replace(NEGOTIATED, server_version=f"v{number}")] = number + 1
    found = run_summary(CONFIG, totals, COURSE).trial.negotiated
    assert [one.count for one in found] == list(range(NEGOTIATED_LIMIT + 5, 5, -1))
    assert found[0].negotiated.server_version == f"v{NEGOTIATED_LIMIT + 4}"


WORST = Health(
    cpu_share=0.5,
    run_delay_share=0.25,
    stolen_share=0.125,
    loop_lag_mean_us=11,
    loop_lag_p50_us=12,
    loop_lag_p99_us=13,
    loop_lag_p999_us=14,
    loop_lag_max_us=15,
    ports_used=16,
    ports_available=17,
    overflows=18,
    cpu_s=19.0,
    memory_peak_bytes=20,
    cpu_cores=21.0,
)


def test_the_health_of_the_generator_is_that_of_its_worst_worker() -> None:
    better = Health(0.1, 0.0, 0.0, 1, 1, 1, 1, 1, 1, 99, 2, None, 1.0, 2, 3.0)
    totals = Totals()
    for worker, health in enumerate((better, WORST)):
        totals.add(replace(REPORT, worker=worker, final=True, health=health))
    found = run_summary(CONFIG, totals, COURSE).trial.generator
    assert (found.workers_expected, found.workers_connected, found.workers_lost, found.reports_missing) == (2, 2, 1, 0)
    added = {"overflows": 20, "cpu_s": 20.0}
    for name in (one.name for one in fields(Health)):
        assert getattr(found, name) == added.get(name, getattr(WORST, name)), name
