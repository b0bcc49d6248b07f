"""How often a run is called slower that is not, and one that is, is found out: by simulated servers.

The latencies go the way that they go in a run: histograms, slices, summary, status, judgement. They follow each other
the more alike, the longer the server's moods last: their logarithms are an AR(1) process, whose correlation falls to
1/e within that share of the run. docs/design/20261121-comparisons.md has the table.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from math import exp, sqrt
from random import Random

import pytest
from _pytest.mark import ParameterSet
from circles import in_pairs
from plans import plan
from reports import course
from run_configs import NOWHERE, arrivals, run_config
from runs import retold, summary
from sshload_contract.vocabulary import Outcome, Timing, Verdict, Window
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.thresholds import RelativeLatency
from sshload_operator.decision.baseline.judge import judge_relative
from sshload_operator.decision.baseline.measured import latency_ms
from sshload_operator.decision.load_test.results import results_status
from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.summary.run_summary import run_summary
from sshload_worker.summary.totals import Slices, Totals

Latencies = Callable[[Random, int], Iterator[float]]

PLAN = plan()
CONFIG = replace(run_config(NOWHERE, arrivals(1, 30)), warm_up_s=0.0, percentiles=(50.0, 90.0, 99.0))
COURSE = course(30.0)
REPORTS = 60
PAIRS, PAIRS_OF_LONG_RUNS, LONG = 60, 40, 3_000
"""How many pairs of runs a share is of, fewer where the runs have LONG iterations or more.

With 60 pairs, a true share of 20 % shows as 5 % or less with probability 0.001, one of 15 % with 0.015. The largest
true share is 1.7 % (of 300 pairs: p99 of stalls), and shows as more than 5 % with probability 0.02. With 40 pairs, a
true share of 80 % shows as 95 % or more with probability 0.008, one of 99 % as less with 0.007.
"""
# The standard error of a median over that of a mean, of normally distributed values: the root of pi over 2.
MEDIAN_FACTOR = 1.2533
SPREAD = 0.5
TYPICAL_US = 50_000
STALL_LENGTH, STALL_EVERY, STALL_US = 20, 400, 1_000_000


@cache
def moods(share: float) -> Latencies:
    """Return a server whose moods last for this share of a run; with 0 there are none."""

    def latencies(random: Random, count: int) -> Iterator[float]:
        correlation = exp(-1 / (share * count)) if share else 0.0
        novelty = sqrt(1 - correlation**2)
        mood = random.gauss(0, 1)
        while True:
            mood = correlation * mood + novelty * random.gauss(0, 1)
            yield TYPICAL_US * exp(SPREAD * mood)

    return latencies


def stalls(random: Random, _count: int) -> Iterator[float]:
    """Yield the latencies of a server that now and then stalls for a second at twenty requests a second."""
    left = 0
    while True:
        left = left - 1 if left else STALL_LENGTH * (random.random() < 1 / STALL_EVERY)
        yield TYPICAL_US * exp(SPREAD * random.gauss(0, 1)) + STALL_US * left / STALL_LENGTH


def run(server: Latencies, random: Random, count: int, slower: float) -> TestStatus:
    """Return what the status of a run of so many iterations says."""
    latencies = (round(slower * latency) for latency in islice(server(random, count), count))
    whole, slices = LatencyHistogram(), Slices()
    for number in range(1, REPORTS + 1):
        part = LatencyHistogram(islice(latencies, count // REPORTS))
        slices.add(number, Timing.TOTAL, part)
        whole.merge(part)
    totals = Totals(histograms={(Timing.TOTAL, Window.MEASURED, Outcome.OK): whole}, slices=slices)
    made = run_summary(CONFIG, totals, COURSE)
    return TestStatus(results=results_status(PLAN, retold(summary(count), steps=made.trial.steps), Verdict.PASSED))


@cache
def runs(server: Latencies, count: int, slower: float, seed: int) -> Sequence[TestStatus]:
    """Return runs of a server; another seed makes others, independent of these."""
    random = Random(seed)  # noqa: S311 - repeatable, and nothing secret
    return [run(server, random, count, slower) for _ in range(PAIRS if count < LONG else PAIRS_OF_LONG_RUNS)]


def pairs(server: Latencies, count: int, slower: float) -> Iterable[tuple[TestStatus, TestStatus]]:
    """Return pairs of runs, of which the first is slower. The second ones are the same, however slow the first are."""
    return zip(runs(server, count, slower, 1), runs(server, count, 1.0, 2), strict=True)


def shares(
    server: Latencies, count: int, threshold: RelativeLatency, slower: float = 1.0
) -> Mapping[bool | None, float]:
    """Return the shares of the pairs that are called within the tolerance (True), slower (False) and neither (None)."""
    said = [judge_relative(threshold, new, base).result.met for new, base in pairs(server, count, slower)]
    return {verdict: said.count(verdict) / len(said) for verdict in (True, False, None)}


def within(share: float, percentile: float = 50.0) -> RelativeLatency:
    return RelativeLatency("total", percentile, share)


def server_param(server: Latencies, name: str) -> ParameterSet:
    """Return a server as a parameter. Its tests share one process, and there its simulated runs."""
    return pytest.param(server, id=name, marks=pytest.mark.xdist_group(name))


SERVERS_OF_SHORT_MOODS = [
    server_param(moods(0), "without moods"),
    server_param(moods(0.002), "moods of 0.2 % of the run"),
    server_param(moods(0.01), "moods of 1 %"),
    server_param(moods(0.05), "moods of 5 %"),
    server_param(stalls, "stalls"),
]
SERVERS = [*SERVERS_OF_SHORT_MOODS, server_param(moods(0.1), "moods of 10 %")]


@pytest.mark.slow
@in_pairs(("percentile", [50.0, 90.0, 99.0]), ("server", SERVERS))
def test_equal_servers_are_called_slower_in_5_percent_of_pairs_at_most(server: Latencies, percentile: float) -> None:
    assert shares(server, 1_200, within(0.1, percentile))[False] <= 0.05


@pytest.mark.slow
@in_pairs(("percentile", [50.0, 90.0, 99.0]), ("server", SERVERS_OF_SHORT_MOODS))
def test_not_even_a_tolerance_that_leaves_all_to_the_noise_is_called_broken(
    server: Latencies, percentile: float
) -> None:
    """Where moods last for a twentieth of the run at most: of one that lasts longer, there are too few to tell."""
    assert shares(server, 1_200, within(0.02, percentile))[False] <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("server", SERVERS)
def test_a_server_slower_than_allowed_passes_in_5_percent_of_pairs_at_most(server: Latencies) -> None:
    assert shares(server, 1_200, within(0.1), slower=1.15)[True] <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("server", "percentile", "count"),
    [
        pytest.param(moods(0), 50.0, 1_200, id="the median of 1,200"),
        pytest.param(moods(0), 90.0, 3_000, id="p90 of 3,000"),
        pytest.param(moods(0.0005), 50.0, 6_000, id="the median of 6,000 that are alike for 3 each"),
    ],
)
def test_a_server_slower_by_30_percent_is_found_out_in_95_percent_of_pairs(
    server: Latencies, percentile: float, count: int
) -> None:
    assert shares(server, count, within(0.1, percentile), slower=1.3)[False] >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize(
    ("percentile", "count"), [pytest.param(50.0, 3_000, id="median"), pytest.param(90.0, 6_000, id="p90")]
)
def test_equal_servers_pass_in_95_percent_of_pairs_with_samples_enough(percentile: float, count: int) -> None:
    assert shares(moods(0), count, within(0.1, percentile))[True] >= 0.95


@pytest.mark.slow
@pytest.mark.xdist_group("moods of 5 %")
def test_taken_for_independent_moods_would_be_called_a_change() -> None:
    """So that the simulation shows what the widening is for: without it, more than one in five would be called so."""
    noise = 1.96 * MEDIAN_FACTOR * SPREAD * sqrt(2 / 1_200)
    called = 0
    for new, base in pairs(moods(0.05), 1_200, 1.0):
        ours, theirs = (latency_ms(found, "total", 50.0) for found in (new, base))
        assert ours is not None
        assert theirs is not None
        called += ours.value / theirs.value > 1.02 * exp(noise)
    assert called / PAIRS > 0.2
