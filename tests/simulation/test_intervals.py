"""Intervals of runs whose truth is known and whose latencies are alike: they hold it in 93 of 100."""

from collections.abc import Callable, Iterator
from heapq import heapify, heapreplace
from itertools import islice
from math import exp, log, sqrt
from random import Random
from statistics import NormalDist

import pytest
from circles import in_pairs
from sshload_contract.percentiles import rate_width, spread
from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.summary.totals import Slices

RUNS = 150
REPORTS = 60
PERCENTILES = (50, 90, 99)
_BUCKET = 0.005
_MEDIAN_US, _SIGMA = 50_000, 0.5
_SERVICE_US, _LOAD = 10_000, 0.8


def independent(chance: Random) -> Iterator[float]:
    while True:
        yield _MEDIAN_US * exp(_SIGMA * chance.gauss(0, 1))


def moods(chance: Random, memory: float = 0.99) -> Iterator[float]:
    """Yield log-normal latencies, each correlated with the one before by `memory` (AR(1))."""
    mood, novelty = chance.gauss(0, 1), sqrt(1 - memory**2)
    while True:
        yield _MEDIAN_US * exp(_SIGMA * mood)
        mood = memory * mood + novelty * chance.gauss(0, 1)


def queue(chance: Random) -> Iterator[float]:
    """Yield the sojourn times of an M/M/1 queue, from its stationary state on."""
    wait = chance.expovariate(1 - _LOAD) if chance.random() < _LOAD else 0.0
    while True:
        service = chance.expovariate(1)
        yield _SERVICE_US * (wait + service)
        wait = max(0.0, wait + service - chance.expovariate(_LOAD))


def log_normal(percentile: float) -> float:
    return _MEDIAN_US * exp(_SIGMA * NormalDist().inv_cdf(percentile / 100))


def sojourn(percentile: float) -> float:
    return -_SERVICE_US * log(1 - percentile / 100) / (1 - _LOAD)


@pytest.mark.slow
@in_pairs(
    (
        "latencies, truth",
        [
            pytest.param(independent, log_normal, id="independent"),
            pytest.param(queue, sojourn, id="queue"),
            pytest.param(moods, log_normal, id="moods"),
        ],
    ),
    ("samples", [300, 1_000, 3_000]),
)
def test_intervals_of_percentiles_are_bounded_on_a_side_and_hold_the_truth_in_93_of_100_runs(
    latencies: Callable[[Random], Iterator[float]], truth: Callable[[float], float], samples: int
) -> None:
    held = dict.fromkeys(PERCENTILES, 0)
    bounded = dict.fromkeys(PERCENTILES, 0)
    for seed in range(RUNS):
        whole, slices, some = LatencyHistogram(), Slices(), latencies(Random(seed))  # noqa: S311 - chance, no secrets
        for report in range(1, REPORTS + 1):
            count = report * samples // REPORTS - (report - 1) * samples // REPORTS
            part = LatencyHistogram(round(latency_us) for latency_us in islice(some, count))
            slices.add(report, "total", part)
            whole.merge(part)
        for percentile in PERCENTILES:
            low, high = whole.percentile_interval_us(percentile, slices.spread("total", percentile))
            above_low = low is None or low <= truth(percentile) * (1 + _BUCKET)
            held[percentile] += above_low and (high is None or high >= truth(percentile) * (1 - _BUCKET))
            bounded[percentile] += low is not None or high is not None
    assert min(held.values()) >= 0.93 * RUNS, held
    assert bounded == dict.fromkeys(PERCENTILES, RUNS)


@pytest.mark.slow
@in_pairs(("memory", [0.0, 0.99]), ("users, window_s", [(1, 60), (10, 60), (1, 300)]))
def test_intervals_of_the_rate_of_users_hold_the_truth_in_93_of_100_runs(
    users: int, window_s: int, memory: float
) -> None:
    held = 0
    true_rate = users / (_MEDIAN_US / 1e6 * exp(_SIGMA**2 / 2))
    for seed in range(RUNS):
        counts = counted(users, window_s, moods(Random(seed), memory))  # noqa: S311 - chance, no secrets
        count = sum(counts)
        width = rate_width(count, spread([1.0] * len(counts), counts, count))
        held += abs(log(count / window_s / true_rate)) <= 1.96 * width / sqrt(count)
    assert held >= 0.93 * RUNS, held


def counted(users: int, window_s: int, latencies_us: Iterator[float]) -> list[int]:
    """Return how many iterations of users, who begin again at once, end in each fifth second."""
    counts = [0] * (window_s // 5)
    ends = [next(latencies_us) * user / users / 1e6 for user in range(users)]
    heapify(ends)
    while (end_s := ends[0]) < window_s:
        counts[int(end_s / 5)] += 1
        heapreplace(ends, end_s + next(latencies_us) / 1e6)
    return counts
