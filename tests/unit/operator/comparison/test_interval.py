"""The interval covers what it promises, for as few rounds as three. Every share below was counted, not calculated."""

from collections.abc import Callable
from math import log, sqrt
from random import Random
from statistics import mean, stdev

import pytest
from sshload_contract.students_t import two_sided_t
from sshload_operator.decision.comparison.interval import FEWEST_ROUNDS, interval

Noise = Callable[[Random], float]
SIMULATED = 1_000


def lognormal(random: Random) -> float:
    """Return the logarithm of a figure that varies by 5 % from run to run."""
    return random.gauss(0, 0.05)


def skewed(random: Random) -> float:
    """Return the logarithm of a figure of which some runs are much slower, as a busy machine makes them."""
    return log(1 + random.expovariate(10))


def spiky(random: Random) -> float:
    """Return the logarithm of a figure of which one run in seven is out by half."""
    return random.gauss(0, 0.03) + (random.expovariate(2) if random.random() < 1 / 7 else 0)


def rounds(random: Random, count: int, noise: Noise, effect: float, drift: float = 0.0) -> list[float]:
    """Return each round's difference of logarithms. Both sides of a round drift alike, as time passes."""
    differences, drifted = [], 0.0
    for _ in range(count):
        drifted += random.gauss(0, drift)
        differences.append((drifted + effect + noise(random)) - (drifted + noise(random)))
    return differences


def share_that_contains(value: float, count: int, noise: Noise, effect: float = 0.0, drift: float = 0.0) -> float:
    """Return of how many simulated comparisons the interval contains the value."""
    random, hits = Random(20261121), 0  # noqa: S311 - a simulation
    for seed in range(SIMULATED):
        found = interval(rounds(random, count, noise, effect, drift), seed % 2)
        hits += found.low <= value <= found.high
    return hits / SIMULATED


@pytest.mark.parametrize("noise", [lognormal, skewed, spiky])
@pytest.mark.parametrize("count", [3, 4, 5])
def test_of_comparisons_without_a_difference_nine_in_ten_and_more_say_none(count: int, noise: Noise) -> None:
    assert share_that_contains(0.0, count, noise) >= 0.93


@pytest.mark.slow
def test_it_holds_for_more_rounds_where_resamples_are_drawn() -> None:
    assert share_that_contains(0.0, 10, lognormal) >= 0.93


def test_it_holds_while_both_sides_drift_by_more_than_their_noise() -> None:
    assert share_that_contains(0.0, 5, lognormal, drift=0.5) >= 0.93


def test_it_covers_a_difference_as_well_as_none() -> None:
    assert share_that_contains(0.2, 5, skewed, effect=0.2) >= 0.93


@pytest.mark.parametrize(("count", "found"), [(3, 0.60), (5, 0.97)])
def test_a_difference_of_four_times_the_noise_is_mostly_found(count: int, found: float) -> None:
    assert 1 - share_that_contains(0.0, count, lognormal, effect=0.2) >= found


def test_a_difference_as_large_as_the_noise_is_seldom_found_with_three_rounds_and_no_promise_is_made() -> None:
    assert 0.05 < 1 - share_that_contains(0.0, 3, lognormal, effect=0.05) < 0.3


@pytest.mark.parametrize("count", range(FEWEST_ROUNDS))
def test_fewer_than_three_rounds_give_no_interval(count: int) -> None:
    assert interval([0.1] * count, 1) is None


def test_the_same_rounds_give_the_same_interval() -> None:
    random = Random(1)  # noqa: S311 - a simulation
    for count in (3, 6, 7, 50):
        differences = [random.gauss(0, 1) for _ in range(count)]
        assert interval(differences, 5) == interval(differences, 5)


def test_few_rounds_give_the_same_interval_by_any_seed() -> None:
    assert interval([0.1, 0.3, -0.2, 0.05, 0.6, 0.0], 1) == interval([0.1, 0.3, -0.2, 0.05, 0.6, 0.0], 2)


def test_from_seven_rounds_on_resamples_are_drawn_by_the_seed() -> None:
    differences = [0.1, 0.3, -0.2, 0.05, 0.6, 0.0, 0.47]
    assert interval(differences, 1) != interval(differences, 2)


@pytest.mark.parametrize("count", [7, 10, 20])
def test_drawn_resamples_of_even_differences_give_students_interval(count: int) -> None:
    differences = [number - (count - 1) / 2 for number in range(count)]
    found = [one for seed in range(20) if (one := interval(differences, seed)) is not None]
    half = two_sided_t(0.95, count - 1) * stdev(differences) / sqrt(count)
    assert {one.mean for one in found} == {0}
    assert mean(one.low for one in found) == pytest.approx(-half, rel=0.04)
    assert mean(one.high for one in found) == pytest.approx(half, rel=0.04)


def test_the_order_of_the_rounds_does_not_matter() -> None:
    one, other = interval([0.1, 0.3, -0.2], 1), interval([-0.2, 0.1, 0.3], 1)
    assert (one.low, one.high) == pytest.approx((other.low, other.high))


def test_swapping_the_sides_mirrors_the_interval() -> None:
    differences = [0.1, 0.3, -0.2, 0.15, 0.0]
    there, back = interval(differences, 1), interval([-one for one in differences], 1)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))


def test_rounds_that_are_all_alike_leave_no_doubt() -> None:
    found = interval([0.5, 0.5, 0.5], 1)
    assert (found.mean, found.low, found.high) == (0.5, 0.5, 0.5)


def test_three_symmetric_rounds_by_hand() -> None:
    # Resampled means reach -1 and 1 once in 27 times each, which is more than the tail; t is 4.3027, z 1.95996.
    found = interval([-1.0, 0.0, 1.0], 1)
    assert (found.mean, found.low, found.high) == pytest.approx((0, -2.6887, 2.6887), abs=1e-4)
