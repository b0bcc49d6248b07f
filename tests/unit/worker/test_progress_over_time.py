"""The series of a long run: intervals that are joined say all that their parts said, and nothing is counted twice."""

import gc
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from reports import REPORT
from sshload_contract.steal import MachineCpu
from sshload_contract.vocabulary import Outcome, Timing, Window
from sshload_contract.wire.report import ArrivalCounts, Health
from sshload_contract.wire.run_summary import SeriesPoint
from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.summary.progress import (
    NOTHING_YET,
    POINTS_LIMIT,
    Progress,
    Series,
    adds_enough,
    progress,
)
from sshload_worker.summary.totals import Totals

FAST_US, SLOW_US = 1_000, 100_000
PER_SECOND = 1_000
"""So many latencies that each interval has a 99th percentile."""


def mark(second: int, latencies: LatencyHistogram) -> Progress:
    """Return the progress of a run that starts two iterations a second: one succeeds, and each third second one fails.

    Each tenth second the machine gets half of what it asks for.
    """
    failed = second // 3
    return replace(
        NOTHING_YET,
        at_s=second + 0.5,
        reported_s=float(second),
        users=second,
        held=2 * second,
        in_flight=3 * second,
        counts=ArrivalCounts(2 * second, 2 * second, second, failed, 0, 0, 0),
        totals_ok=latencies,
        failed_by={Outcome.THROTTLED: failed, Outcome.REFUSED: 0},
        machine_cpu=MachineCpu(float(second), (second // 10) * 0.5),
    )


def series_of(seconds: int) -> Series:
    """Return the series of such a run: what is measured is slow in each odd second."""
    series, so_far = Series(1.0), LatencyHistogram()
    for second in range(1, seconds + 1):
        so_far.counts.update({SLOW_US if second % 2 else FAST_US: PER_SECOND})
        series.observe(mark(second, copied(so_far)))
    return series


def copied(histogram: LatencyHistogram) -> LatencyHistogram:
    fresh = LatencyHistogram()
    fresh.merge(histogram)
    return fresh


def told(points: tuple[SeriesPoint, ...]) -> dict[str, int]:
    """Return what all points together say."""
    failures: Counter[Outcome] = Counter()
    for point in points:
        failures.update(point.failed_by)
    return {
        "started": sum(point.started for point in points),
        "succeeded": sum(point.succeeded for point in points),
        "failed": sum(point.failed for point in points),
        "throttled": failures[Outcome.THROTTLED],
    }


@pytest.mark.parametrize("seconds", [POINTS_LIMIT, POINTS_LIMIT + 1, POINTS_LIMIT + 2, 3 * POINTS_LIMIT, 2_500])
def test_however_long_a_run_is_its_series_counts_each_iteration_once(seconds: int) -> None:
    points = series_of(seconds).points()
    assert told(points) == {
        "started": 2 * points[-1].at_s,
        "succeeded": points[-1].at_s,
        "failed": points[-1].at_s // 3,
        "throttled": points[-1].at_s // 3,
    }
    assert points[-1].at_s >= seconds - 4
    assert POINTS_LIMIT / 2 <= len(points) <= POINTS_LIMIT


def test_intervals_are_joined_only_once_there_are_too_many() -> None:
    assert len(series_of(POINTS_LIMIT).points()) == POINTS_LIMIT
    assert len(series_of(POINTS_LIMIT + 1).points()) == POINTS_LIMIT / 2 + 1


def kept_histograms() -> dict[int, LatencyHistogram]:
    """Return those that somebody has, by their identity, which no other gets while these are held."""
    gc.collect()
    return {id(one): one for one in gc.get_objects() if isinstance(one, LatencyHistogram)}


def test_of_all_that_was_measured_so_far_a_series_keeps_the_last_state_only() -> None:
    others = kept_histograms()
    series = series_of(50)
    own = [one for number, one in kept_histograms().items() if number not in others]
    assert len([one for one in own if one.count > 2 * PER_SECOND]) <= 1
    assert len(series.points()) == 50


def test_joined_intervals_have_the_latencies_of_both_their_parts() -> None:
    """Of each two seconds one is slow: half of the iterations of each joined interval."""
    points = series_of(POINTS_LIMIT + 2).points()
    joined = [point for point in points if point.started == 4]
    assert len(joined) >= POINTS_LIMIT / 2
    for point in joined:
        assert point.p50_us == pytest.approx(FAST_US, rel=0.01)
        assert point.p99_us == pytest.approx(SLOW_US, rel=0.01)


def test_before_intervals_are_joined_each_has_its_own_latencies() -> None:
    points = series_of(10).points()
    for second, point in enumerate(points, start=1):
        expected = SLOW_US if second % 2 else FAST_US
        assert (point.p50_us, point.p90_us, point.p99_us) == pytest.approx((expected,) * 3, rel=0.01)


def test_a_joined_interval_stands_at_its_end_with_what_was_there_then() -> None:
    points = series_of(POINTS_LIMIT + 1).points()
    first = points[0]
    assert (first.at_s, first.users, first.held, first.in_flight) == (2.0, 2, 4, 6)
    assert [later.at_s - earlier.at_s for earlier, later in pairwise(points)] == [2.0] * (POINTS_LIMIT // 2 - 1) + [1.0]


def test_the_stolen_share_of_a_joined_interval_is_of_all_its_time() -> None:
    points = series_of(POINTS_LIMIT + 1).points()
    shares = [point.stolen_share for point in points[:-1]]
    assert shares == [0.25 if point.at_s % 10 == 0 else 0.0 for point in points[:-1]]


def test_the_stolen_share_of_the_first_interval_is_of_all_the_time_since_the_start() -> None:
    series = Series(1.0)
    series.observe(replace(mark(1, LatencyHistogram()), machine_cpu=MachineCpu(4.0, 1.0)))
    assert [point.stolen_share for point in series.points()] == [0.25]


def test_each_percentile_of_an_interval_is_the_one_that_its_name_says() -> None:
    series = Series(1.0)
    graded = [round(1_000 * 1.05**place) for place in range(1, 101) for _ in range(10)]
    series.observe(mark(1, LatencyHistogram(graded)))
    (point,) = series.points()
    expected = [1_000 * 1.05**place for place in (50, 90, 99)]
    assert [point.p50_us, point.p90_us, point.p99_us] == pytest.approx(expected, rel=0.01)


def test_after_joining_only_marks_of_twice_the_interval_are_added() -> None:
    series = series_of(POINTS_LIMIT + 1)
    assert series.interval_s == 2.0
    before = len(series.points())
    series.observe(mark(POINTS_LIMIT + 1, LatencyHistogram()))
    assert len(series.points()) == before
    series.observe(mark(POINTS_LIMIT + 2, LatencyHistogram()))
    assert len(series.points()) == before + 1


def test_of_a_final_mark_however_little_it_adds_a_point_is_made() -> None:
    series = series_of(3)
    series.observe(mark(3, LatencyHistogram()))
    assert len(series.points()) == 3
    series.observe(mark(3, LatencyHistogram()), final=True)
    assert len(series.points()) == 4


def test_outcomes_that_did_not_grow_in_an_interval_are_not_named() -> None:
    assert [dict(point.failed_by) for point in series_of(4).points()] == [{}, {}, {Outcome.THROTTLED: 1}, {}]


@pytest.mark.parametrize(("reported_s", "is_enough"), [(4.4, False), (4.5, True), (5.0, True)])
def test_half_an_interval_more_is_enough_for_a_rate(reported_s: float, is_enough: bool) -> None:  # noqa: FBT001
    before, now = (replace(NOTHING_YET, reported_s=at_s) for at_s in (4.0, reported_s))
    assert adds_enough(before, now, 1.0) is is_enough


def health(cpu: MachineCpu | None) -> Health:
    return replace(REPORT.health, machine_cpu=cpu)


def totals_of(*reports: tuple[int, float, bool]) -> Totals:
    """Return the totals of workers, until when they reported, and whether that was their last report."""
    totals = Totals()
    for worker, until_s, final in reports:
        totals.add(replace(REPORT, worker=worker, until_s=until_s, final=final))
    return totals


def test_what_workers_have_is_summed_over_all_of_them() -> None:
    totals = Totals()
    for worker, count in ((0, 1), (1, 20)):
        cpu = MachineCpu(10.0 * count, 1.0 * count)
        of_it = replace(REPORT, users=count, held=2 * count, in_flight=3 * count, health=health(cpu))
        totals.add(replace(of_it, worker=worker))
    now = progress(totals, 100.0, 2)
    assert (now.users, now.held, now.in_flight, now.machine_cpu) == (21, 42, 63, MachineCpu(210.0, 21.0))


def test_the_stolen_share_is_known_only_if_every_worker_tells_it() -> None:
    totals = Totals()
    for worker, cpu in ((0, MachineCpu(10.0, 1.0)), (1, None)):
        totals.add(replace(REPORT, worker=worker, health=health(cpu)))
    assert progress(totals, 100.0, 2).machine_cpu is None
    assert progress(Totals(), 100.0, 2).machine_cpu is None


def test_what_is_reported_is_the_mean_over_all_workers_those_too_that_have_told_nothing() -> None:
    now = progress(totals_of((0, 6.0, False), (1, 10.0, False)), 12.0, 4)
    assert (now.at_s, now.reported_s, now.oldest_report_at_s) == (12.0, 4.0, 0.0)


def test_a_worker_that_has_ended_has_reported_all_and_no_report_is_of_the_future() -> None:
    now = progress(totals_of((0, 6.0, True), (1, 99.0, False)), 12.0, 2)
    assert (now.reported_s, now.oldest_report_at_s) == (12.0, 12.0)
    assert progress(totals_of((0, 6.0, False), (1, 9.0, False)), 12.0, 2).oldest_report_at_s == 6.0


def test_more_reports_than_workers_make_no_more_time_than_has_passed() -> None:
    assert progress(totals_of((0, 9.0, False), (1, 9.0, False)), 12.0, 1).reported_s == 12.0


def test_latencies_so_far_are_those_of_successes_in_both_windows_and_failures_are_counted_apart() -> None:
    totals = Totals()
    for window, us in ((Window.WARM_UP, 10), (Window.MEASURED, 20)):
        totals.histograms[str(Timing.TOTAL), window, Outcome.OK] = LatencyHistogram([us])
        totals.histograms[str(Timing.TOTAL), window, Outcome.THROTTLED] = LatencyHistogram([us] * 3)
        totals.histograms["other", window, Outcome.THROTTLED] = LatencyHistogram([us] * 50)
    now = progress(totals, 1.0, 1)
    assert (now.totals_ok.count, dict(now.failed_by)) == (2, {Outcome.THROTTLED: 6})
    totals.histograms[str(Timing.TOTAL), Window.MEASURED, Outcome.OK].merge(LatencyHistogram([5]))
    assert now.totals_ok.count == 2
