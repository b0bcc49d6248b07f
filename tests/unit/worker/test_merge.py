from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.codec import from_json, to_json
from sshload_contract.wire.hdr_encoding import HIGHEST_US
from sshload_contract.wire.report import ArrivalCounts, Health, Negotiated, Report
from sshload_worker.recording.recorder import LATE_AFTER_NS, Recorder
from sshload_worker.summary.totals import NO_COUNTS, Failures, Totals, add_counts, subtract_counts, worst_health

HEALTHY = Health(
    cpu_share=0.1,
    run_delay_share=0.0,
    stolen_share=0.0,
    loop_lag_mean_us=1,
    loop_lag_p50_us=1,
    loop_lag_p99_us=1,
    loop_lag_p999_us=2,
    loop_lag_max_us=2,
    ports_used=3,
    ports_available=28_232,
    overflows=0,
)
AGREED = Negotiated(kex="k", cipher="c", mac="m", host_key="h", server_version="v")

windows = st.sampled_from(Window)
outcomes = st.sampled_from([Outcome.OK, Outcome.THROTTLED, Outcome.UNFINISHED])
iterations = st.tuples(
    windows, outcomes, st.integers(min_value=1, max_value=10**7), st.sampled_from(["why", "because"])
)
workers = st.lists(st.lists(st.lists(iterations, max_size=5), min_size=1, max_size=3), min_size=1, max_size=3)

Iterations = Sequence[tuple[Window, Outcome, int, str]]


def record(recorder: Recorder, done: Iterations) -> None:
    for window, outcome, latency_us, message in done:
        recorder.started(window, latency_us * 1_000)
        recorder.sample("total", window, outcome, latency_us)
        if outcome is Outcome.OK:
            recorder.login(AGREED)
        else:
            recorder.failure("banner", window, outcome, message)
        recorder.ended(window, outcome, at_ns=0)


def reports_of(worker: int, batches: Sequence[Iterations]) -> list[Report]:
    recorder = Recorder("run", worker)
    reports = []
    for number, batch in enumerate(batches, start=1):
        record(recorder, batch)
        reports.append(recorder.take_report(HEALTHY, final=number == len(batches)))
    return reports


def merged(reports: Sequence[Report]) -> Totals:
    totals = Totals()
    for report in reports:
        assert totals.add(from_json(Report, to_json(report)))
    return totals


@pytest.mark.slow
@given(workers, st.randoms(use_true_random=False))
def test_the_order_in_which_reports_arrive_changes_nothing(done: list[list[Iterations]], random: st.DataObject) -> None:
    reports = [report for index, batches in enumerate(done) for report in reports_of(index, batches)]
    shuffled = list(reports)
    random.shuffle(shuffled)
    assert merged(shuffled) == merged(reports)


@pytest.mark.slow
@given(workers)
def test_merging_is_recording_everything_in_one_place(done: list[list[Iterations]]) -> None:
    reports = [report for index, batches in enumerate(done) for report in reports_of(index, batches)]
    everything = [one for batches in done for batch in batches for one in batch]
    several, single = merged(reports), merged(reports_of(0, [everything]))
    assert several.counts == single.counts
    assert several.histograms == single.histograms
    assert several.negotiated == single.negotiated
    assert {key: failures.count for key, failures in several.errors.items()} == {
        key: failures.count for key, failures in single.errors.items()
    }


@pytest.mark.slow
@given(workers, workers)
def test_a_runs_totals_are_those_of_its_trials(first: list[list[Iterations]], second: list[list[Iterations]]) -> None:
    def reports(done: list[list[Iterations]], offset: int) -> list[Report]:
        return [report for index, batches in enumerate(done) for report in reports_of(offset + index, batches)]

    together = merged([*reports(first, 0), *reports(second, len(first))])
    kept, run = merged(reports(second, 0)), merged(reports(first, 0))
    run.absorb(kept)
    run.absorb(merged([]))
    assert (run.counts, run.histograms, run.errors) == (together.counts, together.histograms, together.errors)
    assert (run.moved, run.negotiated) == (together.moved, together.negotiated)
    assert kept == merged(reports(second, 0))


@given(workers)
def test_every_begun_iteration_has_ended_in_one_outcome(done: list[list[Iterations]]) -> None:
    totals = merged([report for index, batches in enumerate(done) for report in reports_of(index, batches)])
    for window in Window:
        counts = totals.window(window)
        assert counts.scheduled == counts.started + counts.dropped
        assert counts.started == counts.succeeded + counts.failed
        in_histograms = {
            outcome: histogram.count for (_, other, outcome), histogram in totals.histograms.items() if other is window
        }
        assert counts.succeeded == in_histograms.pop(Outcome.OK, 0)
        assert counts.failed == sum(in_histograms.values())


def test_a_repeated_report_is_counted_once() -> None:
    (report,) = reports_of(0, [[(Window.MEASURED, Outcome.OK, 5, "")]])
    totals = merged([report])
    assert not totals.add(report)
    assert totals == merged([report])


def test_a_report_that_did_not_come_is_missed() -> None:
    first, _, third = reports_of(0, [[], [], []])
    for order in permutations((first, third)):
        state = merged(order).workers[0]
        assert (state.missing, state.final, state.latest) == (1, True, third)


def test_of_two_workers_first_messages_one_is_chosen_whatever_comes_first() -> None:
    failed = Outcome.THROTTLED
    reports = [
        *reports_of(0, [[(Window.MEASURED, failed, 5, "why")]]),
        *reports_of(1, [[(Window.MEASURED, failed, 5, "because")]]),
    ]
    for order in permutations(reports):
        assert merged(order).errors == {("banner", failed, Window.MEASURED): Failures(2, 0, "because")}


def test_failures_are_added_with_those_near_a_pause() -> None:
    assert Failures(1, 1, "why").and_those(Failures(3, 2, "because")) == Failures(4, 3, "because")


def test_what_trials_moved_is_added_and_the_busiest_worker_tells_how_many_cores_it_used() -> None:
    whole, trial = Totals(), Totals()
    trial.moved["read", Window.MEASURED] = 5
    whole.absorb(trial)
    whole.absorb(trial)
    assert whole.moved == {("read", Window.MEASURED): 10}
    used = [replace(HEALTHY, cpu_cores=cores) for cores in (0.5, None, 1.5)]
    assert worst_health(used).cpu_cores == 1.5


def test_an_iteration_is_late_only_beyond_the_limit() -> None:
    recorder = Recorder("run", 0)
    recorder.started(Window.MEASURED, LATE_AFTER_NS)
    recorder.started(Window.MEASURED, LATE_AFTER_NS + 1)
    assert recorder.take_report(HEALTHY, final=False).counts[Window.MEASURED].late == 1


def test_a_dropped_arrival_is_scheduled_and_not_started() -> None:
    recorder = Recorder("run", 0)
    recorder.dropped(Window.MEASURED)
    counts = recorder.take_report(HEALTHY, final=False).counts[Window.MEASURED]
    assert (counts.scheduled, counts.started, counts.dropped) == (1, 0, 1)


def test_a_report_takes_its_counts_away_and_leaves_what_stands() -> None:
    recorder = Recorder("run", 0)
    recorder.started(Window.MEASURED, 0)
    first = recorder.take_report(HEALTHY, final=False)
    second = recorder.take_report(HEALTHY, final=True)
    assert (first.sequence, first.counts[Window.MEASURED].started, first.in_flight) == (1, 1, 1)
    assert (second.sequence, second.counts[Window.MEASURED].started, second.in_flight) == (2, 0, 1)


def test_an_overflow_is_told_with_the_report_of_its_latency_and_once() -> None:
    recorder = Recorder("run", 0)
    recorder.sample("total", Window.MEASURED, Outcome.OK, HIGHEST_US + 1)
    assert recorder.overflows == 1
    recorder.take_report(HEALTHY, final=False)
    assert recorder.overflows == 1


def test_the_worst_worker_stands_for_all() -> None:
    bad = Health(
        cpu_share=0.9,
        run_delay_share=0.5,
        stolen_share=0.3,
        loop_lag_mean_us=0,
        loop_lag_p50_us=0,
        loop_lag_p99_us=0,
        loop_lag_p999_us=0,
        loop_lag_max_us=0,
        ports_used=0,
        ports_available=100,
        overflows=4,
    )
    used = replace(bad, cpu_s=1.5, memory_peak_bytes=50)
    worst = worst_health([HEALTHY, used, bad, replace(used, memory_peak_bytes=70)])
    assert (worst.cpu_s, worst.memory_peak_bytes) == (3.0, 70)
    worst = worst_health([HEALTHY, bad, bad])
    assert (worst.cpu_share, worst.run_delay_share, worst.loop_lag_p99_us) == (0.9, 0.5, 1)
    assert (worst.loop_lag_mean_us, worst.loop_lag_p50_us, worst.loop_lag_p999_us) == (1, 1, 2)
    assert (worst.loop_lag_max_us, worst.ports_used, worst.ports_available, worst.overflows) == (2, 3, 100, 8)


def test_what_no_worker_can_tell_is_told_for_none() -> None:
    silent = replace(HEALTHY, run_delay_share=None, cpu_share=None)
    assert worst_health([silent, silent]).run_delay_share is None
    assert worst_health([silent, silent]).cpu_share is None
    assert worst_health([silent, HEALTHY]).cpu_share == 0.1
    assert worst_health([silent, replace(HEALTHY, run_delay_share=0.25)]).run_delay_share == 0.25


def test_subtracting_counts_undoes_adding_them() -> None:
    one = reports_of(0, [[(Window.MEASURED, Outcome.OK, 5, "")] * 3])[0].counts[Window.MEASURED]
    other = reports_of(0, [[(Window.MEASURED, Outcome.THROTTLED, 50_000, "")]])[0].counts[Window.MEASURED]
    assert subtract_counts(add_counts([one, other]), other) == one


COUNTED = tuple(field.name for field in fields(ArrivalCounts))


@pytest.mark.parametrize("name", COUNTED)
def test_each_count_is_added_and_subtracted_by_itself(name: str) -> None:
    one, other = replace(NO_COUNTS, **{name: 7}), replace(NO_COUNTS, **{name: 2})
    assert add_counts([one, other, NO_COUNTS]) == replace(NO_COUNTS, **{name: 9})
    assert subtract_counts(one, other) == replace(NO_COUNTS, **{name: 5})


@pytest.mark.parametrize("name", [field.name for field in fields(Health) if field.name != "machine_cpu"])
def test_each_figure_is_that_of_the_worst_worker_whoever_it_is(name: str) -> None:
    """Where a figure is added up, or the least is the worst, that is so for any worker as well."""
    none = worst_health([HEALTHY, HEALTHY])
    changed: dict[str, Any] = {name: 77_777}
    for healths in permutations((HEALTHY, replace(HEALTHY, **changed))):
        worst = worst_health(healths)
        expected = HEALTHY.ports_available if name == "ports_available" else 77_777
        assert getattr(worst, name) == expected
        assert replace(worst, **{name: getattr(none, name)}) == none
    lower = replace(HEALTHY, ports_available=5)
    assert worst_health([lower, HEALTHY]).ports_available == worst_health([HEALTHY, lower]).ports_available == 5


def test_the_whole_is_what_its_stages_come_to_in_each_count() -> None:
    recorder = Recorder("run", 0)
    for stage, times in ((1, 1), (2, 10)):
        for _ in range(times):
            recorder.dropped(Window.MEASURED, stage)
            recorder.started(Window.MEASURED, LATE_AFTER_NS + 1, stage)
            recorder.ended(Window.MEASURED, Outcome.THROTTLED, 0, stage)
            recorder.started(Window.MEASURED, 0, stage)
            recorder.ended(Window.MEASURED, Outcome.OK, 0, stage)
    report = recorder.take_report(HEALTHY, final=True)
    each = {"scheduled": 3, "started": 2, "succeeded": 1, "failed": 1, "completed": 1, "late": 1, "dropped": 1}
    assert report.counts[Window.MEASURED] == ArrivalCounts(**{name: 11 * count for name, count in each.items()})
    stages = {found.stage: replace(found.counts, completed=0) for found in report.stages}
    each["completed"] = 0
    assert stages == {
        stage: ArrivalCounts(**{name: times * count for name, count in each.items()})
        for stage, times in ((1, 1), (2, 10))
    }
    assert report.counts[Window.WARM_UP] == NO_COUNTS


def test_where_nothing_has_happened_there_is_nothing() -> None:
    recorder = Recorder("run", 3, trial=2)
    found = recorder.take_report(HEALTHY, until_s=1.5, final=False)
    assert (found.in_flight, found.users, found.held, recorder.connections, recorder.opened) == (0, 0, 0, 0, 0)
    assert (found.run_id, found.worker, found.trial, found.sequence, found.until_s) == ("run", 3, 2, 1, 1.5)
    assert dict(found.counts) == {Window.WARM_UP: NO_COUNTS, Window.MEASURED: NO_COUNTS}
    assert (found.stages, found.histograms, found.ended, found.moved) == ((), (), (), ())
    assert (found.errors, found.negotiated, found.final, recorder.overflows) == ((), (), False, 0)


def test_only_successes_of_the_measured_window_are_kept_by_time() -> None:
    every = [(window, outcome, 5, "") for window in Window for outcome in (Outcome.OK, Outcome.THROTTLED)]
    slices = merged(reports_of(0, [every, every])).slices._slices
    assert {index: dict(found) for index, found in slices.items()} == {1: {"total": {5: 1}}, 2: {"total": {5: 1}}}


def test_what_logins_agreed_on_is_added_over_reports_and_workers() -> None:
    logged_in = [(Window.MEASURED, Outcome.OK, 5, "")] * 2
    totals = merged([*reports_of(0, [logged_in, logged_in]), *reports_of(1, [logged_in])])
    assert totals.negotiated == {AGREED: 6}
