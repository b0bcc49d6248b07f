"""How often workers report: rarely enough for the master, and often enough for live figures."""

import pytest
from sshload_contract.wire.reporting import MOST_WORKERS, first_report_s, report_interval_s

CROWDS = [1, 2, 10, 100, 101, 200, MOST_WORKERS]


@pytest.mark.parametrize(("workers", "interval_s"), [(1, 0.5), (100, 0.5), (200, 1.0), (MOST_WORKERS, 2.5)])
def test_many_workers_report_less_often(workers: int, interval_s: float) -> None:
    assert report_interval_s(workers) == interval_s


@pytest.mark.parametrize("workers", CROWDS)
def test_the_master_gets_no_more_than_200_reports_in_any_second(workers: int) -> None:
    assert max(_reported(workers, second)[0] for second in range(8)) <= 200


@pytest.mark.parametrize("workers", CROWDS)
def test_each_second_tells_as_much_of_the_load_as_a_second_makes(workers: int) -> None:
    for second in range(4, 8):
        _, worker_seconds = _reported(workers, second)
        assert worker_seconds == pytest.approx(workers, rel=0.02)


@pytest.mark.parametrize("workers", CROWDS)
def test_each_worker_has_reported_when_one_interval_has_passed(workers: int) -> None:
    firsts = [first_report_s(index, workers) for index in range(workers)]
    assert min(firsts) > 0
    assert max(firsts) <= report_interval_s(workers)


def _reported(workers: int, second: int) -> tuple[int, float]:
    """Return how many reports come in a second, and how many seconds of workers they tell of."""
    interval_s = report_interval_s(workers)
    reports = 0
    for index in range(workers):
        at_s = first_report_s(index, workers)
        while at_s < second + 1 - 1e-9:
            reports += at_s >= second - 1e-9
            at_s += interval_s
    return reports, reports * interval_s
