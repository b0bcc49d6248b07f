"""What the managed target used over time: between its answers, by its own clock, and not more often than is useful."""

from dataclasses import replace

import pytest
from runs import target_stats
from sshload_contract.steal import MachineCpu
from sshload_contract.wire.run_summary import SERVER_POINTS_LIMIT
from sshload_worker.summary.trial_course import ServerSeries

STATS = replace(target_stats(0), at_unix_s=1000.0, cpu_s=5.0, machine_cpu=MachineCpu(100.0, 1.0))


@pytest.mark.parametrize(("planned_s", "interval_s"), [(12.0, 2.0), (240.0, 2.0), (3600.0, 30.0)])
def test_the_target_is_asked_so_often_that_there_are_never_too_many_points(planned_s: float, interval_s: float) -> None:
    assert ServerSeries(planned_s).interval_s == interval_s


def test_cores_and_steal_are_of_the_time_between_two_answers_by_the_targets_clock() -> None:
    series = ServerSeries(12.0)
    series.add(0.0, STATS)
    series.add(2.1, replace(STATS, at_unix_s=1002.0, cpu_s=6.0, machine_cpu=MachineCpu(104.0, 2.0), sessions=7))
    (point,) = series.points()
    assert (point.at_s, point.cores, point.stolen_share, point.sessions) == (2.1, 0.5, 0.25, 7)


def test_an_interval_in_which_the_target_was_started_again_is_left_out() -> None:
    series = ServerSeries(12.0)
    for at_s, cpu_s in ((0.0, 5.0), (2.0, 0.5), (4.0, 1.5)):
        series.add(at_s, replace(STATS, at_unix_s=1000.0 + at_s, cpu_s=cpu_s))
    assert [(point.at_s, point.cores) for point in series.points()] == [(4.0, 0.5)]


def test_two_answers_at_one_time_of_the_trial_are_no_interval() -> None:
    series = ServerSeries(12.0)
    for at_s, at_unix_s in ((0.0, 1000.0), (2.0, 1002.0), (2.0, 1002.5), (4.0, 1004.0)):
        series.add(at_s, replace(STATS, at_unix_s=at_unix_s))
    assert [point.at_s for point in series.points()] == [2.0, 4.0]


def test_answers_of_one_moment_and_those_beyond_the_limit_add_nothing() -> None:
    series = ServerSeries(12.0)
    for number in range(2 * SERVER_POINTS_LIMIT):
        series.add(number / 10, replace(STATS, at_unix_s=1000.0 + number / 10))
        series.add(number / 10 + 0.01, replace(STATS, at_unix_s=1000.0 + number / 10))
    assert len(series.points()) == SERVER_POINTS_LIMIT
