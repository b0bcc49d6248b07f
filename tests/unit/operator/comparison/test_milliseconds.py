"""What a variant adds in milliseconds: the mean of the rounds' differences, in an interval that covers the truth."""

from collections.abc import Callable
from math import exp
from random import Random

import pytest
from sshload_contract.vocabulary import Verdict
from sshload_operator.api.status.compared import milliseconds_text
from sshload_operator.api.status.comparison import TestRun
from sshload_operator.decision.comparison.compare import compare
from sshload_operator.decision.comparison.milliseconds import Milliseconds, milliseconds_more

Noise = Callable[[Random], float]
SIMULATED = 1_000
DIRECT_MS, ADDED_MS = 40.0, 3.0


def lognormal(random: Random) -> float:
    """Return the factor of a latency that varies by 5 % from run to run."""
    return exp(random.gauss(0, 0.05))


def skewed(random: Random) -> float:
    """Return the factor of a latency of which some runs are much slower, as a busy machine makes them."""
    return 1 + random.expovariate(10)


def spiky(random: Random) -> float:
    """Return the factor of a latency of which one run in seven is out by half."""
    return exp(random.gauss(0, 0.03)) + (random.expovariate(2) if random.random() < 1 / 7 else 0)


def simulated(random: Random, rounds: int, noise: Noise, added_ms: float, drift: float) -> list[tuple[float, float]]:
    """Return each round's latencies with and without what is added. Both sides of a round drift alike."""
    pairs, drifted = [], 0.0
    for _ in range(rounds):
        drifted += random.gauss(0, drift)
        ours, theirs = (DIRECT_MS * exp(drifted) * noise(random) for _ in range(2))
        pairs.append((ours + added_ms, theirs))
    return pairs


def share_that_contains(true_ms: float, rounds: int, noise: Noise, drift: float = 0.0) -> float:
    """Return of how many simulated comparisons the interval contains what is added in truth."""
    random, hits = Random(20261125), 0  # noqa: S311 - a simulation
    for seed in range(SIMULATED):
        found = milliseconds_more(simulated(random, rounds, noise, true_ms, drift), seed % 2)
        hits += found.low <= true_ms <= found.high
    return hits / SIMULATED


@pytest.mark.parametrize("noise", [lognormal, skewed, spiky])
@pytest.mark.parametrize("rounds", [3, 4, 5])
@pytest.mark.parametrize("true_ms", [0.0, ADDED_MS])
def test_of_intervals_more_than_nine_in_ten_contain_what_is_added(true_ms: float, rounds: int, noise: Noise) -> None:
    assert share_that_contains(true_ms, rounds, noise) >= 0.93


@pytest.mark.slow
def test_it_holds_for_more_rounds_where_resamples_are_drawn() -> None:
    assert share_that_contains(ADDED_MS, 10, lognormal) >= 0.93


def test_it_holds_while_both_sides_drift_by_more_than_their_noise() -> None:
    assert share_that_contains(ADDED_MS, 5, lognormal, drift=0.3) >= 0.93


def test_an_overhead_of_four_times_the_noise_is_nearly_always_found_with_five_rounds() -> None:
    random = Random(1)  # noqa: S311 - a simulation
    pairs = (simulated(random, 5, lognormal, 4 * 0.05 * DIRECT_MS, 0.0) for _ in range(SIMULATED))
    assert sum(milliseconds_more(one, 1).low > 0 for one in pairs) >= 0.95 * SIMULATED


def test_two_rounds_have_a_difference_and_no_interval_and_none_has_neither() -> None:
    assert milliseconds_more([(12.0, 10.0), (13.0, 10.0)], 1) == Milliseconds(2.5, None, None)
    assert milliseconds_more([], 1) is None


def test_a_difference_below_the_resolution_of_latencies_is_not_told_from_none() -> None:
    found = milliseconds_more([(1000.5, 1000.0)] * 3, 1)
    assert found.low < 0 < found.high
    assert milliseconds_more([(1010.0, 1000.0)] * 3, 1).low > 0


@pytest.mark.parametrize(
    ("key", "is_stated"),
    [
        ("total.p50Ms", True),
        ("login.meanMs", True),
        ("cpuPerLoginMs", False),
        ("generatorCpuPerIterationMs", False),
        ("errorPercent", False),
        ("completedRate", False),
    ],
)
def test_latencies_are_stated_in_milliseconds_and_nothing_else_is(key: str, *, is_stated: bool) -> None:
    runs = [
        TestRun(test=f"{variant}{number}", round=number, variant=variant, verdict=Verdict.PASSED, figures={key: value})
        for variant, value in (("a", 10.0), ("b", 14.0))
        for number in (1, 2, 3)
    ]
    (found,) = compare(runs, "a", "b", 1)
    assert (found.in_ms is not None) == is_stated
    assert found.in_ms is None or found.in_ms.mean == 4.0


def test_a_latency_that_was_nought_has_no_ratio_and_a_difference_in_milliseconds() -> None:
    runs = [
        TestRun(test=f"{variant}{number}", round=number, variant=variant, verdict=Verdict.PASSED, figures=figures)
        for variant, figures in (("a", {"startDelay.p50Ms": 0.0}), ("b", {"startDelay.p50Ms": 0.5}))
        for number in (1, 2, 3)
    ]
    (found,) = compare(runs, "a", "b", 1)
    assert found.mean is None
    assert found.in_ms.mean == 0.5


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (1120.4, "+1,120"),
        (-100.0, "-100"),
        (-41.25, "-41.2"),
        (10.0, "+10.0"),
        (3.247, "+3.25"),
        (1.0, "+1.00"),
        (0.0414, "+0.041"),
        (0.0, "+0.000"),
    ],
)
def test_a_difference_is_printed_with_its_sign_to_three_digits(ms: float, text: str) -> None:
    assert milliseconds_text(ms) == text
