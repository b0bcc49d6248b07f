"""How much wider than those of independent events the intervals of correlated ones are."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshload_contract.percentiles import (
    FEWEST_SLICES,
    MOST_SLICES,
    failures_width,
    percentile_width,
    rate_width,
    spread,
    variance_of_sum,
)

EVENTS = 100
SLICES = 32

counts = st.lists(st.integers(min_value=0, max_value=1_000), min_size=1, max_size=40)


def independent(random: Random, slices: int) -> list[int]:
    """Return how many of EVENTS happened in each slice, each by a coin of its own."""
    return [random.getrandbits(EVENTS).bit_count() for _ in range(slices)]


def of(found: list[int], weight: int = EVENTS) -> float:
    return spread([weight] * len(found), found, weight * len(found) / 4)


def test_independent_events_are_hardly_widened() -> None:
    random = Random(1)  # noqa: S311 - samples, no secrets
    found = sorted(of(independent(random, SLICES)) for _ in range(400))
    assert found[200] < 1.3
    assert found[380] < 2.0


@pytest.mark.parametrize("alike", [2, 4])
def test_slices_that_are_alike_in_groups_are_widened_as_if_there_were_that_many_fewer(alike: int) -> None:
    random = Random(2)  # noqa: S311 - samples, no secrets
    runs = (independent(random, SLICES // alike) for _ in range(200))
    found = sorted(of([count for count in once for _ in range(alike)]) for once in runs)
    assert alike**0.5 < found[100] < 2 * alike**0.5


def test_events_that_all_come_at_once_are_widened_by_the_root_of_their_number() -> None:
    assert of([EVENTS, 0] * 4) == pytest.approx((EVENTS * 8 / 7) ** 0.5 * 1.207, rel=0.01)


@given(counts)
def test_no_interval_is_ever_narrowed(found: list[int]) -> None:
    assert spread([1_000] * len(found), found, 1.0) >= 1


@given(counts, st.integers(min_value=2, max_value=5))
def test_the_unit_of_the_weights_does_not_matter(found: list[int], times: int) -> None:
    once = spread([1.0] * len(found), found, 10.0)
    assert spread([float(times)] * len(found), found, 10.0) == pytest.approx(once)


def test_more_slices_than_the_limit_are_joined_first() -> None:
    """So that what comes and goes within less than a slice is left out."""
    assert spread([1] * 2 * MOST_SLICES, [0, 2] * MOST_SLICES, 64.0) == 1
    assert spread([1] * 33, [*[0, 2] * 16, 0], 16.0) == 1
    assert spread([1] * 32, [0, 2] * 16, 16.0) > 1.4


@pytest.mark.parametrize("found", [[], [0] * 40, [7], [0, EVENTS] * 2])
def test_where_there_is_nothing_to_find_out_the_factor_is_one(found: list[int]) -> None:
    assert len(found) < FEWEST_SLICES or not any(found)
    assert spread([EVENTS] * len(found), found, sum(found) / 4) == 1


def test_the_factor_for_few_slices_is_students() -> None:
    """With eight slices that vary just as independent events do, what is left is t(7) over z: 2.365 over 1.960."""
    assert spread([1] * 8, [1, *[0] * 7], 1.0) == pytest.approx(2.365 / 1.960, rel=0.005)


@pytest.mark.parametrize("slices", range(FEWEST_SLICES, 3 * MOST_SLICES))
def test_the_median_of_a_trend_is_bounded_on_both_sides(slices: int) -> None:
    """A server that is overloaded from the start gets slower and slower: its median is still bounded on both sides."""
    half = slices // 2
    found = of([EVENTS] * half + [0] * (slices - half))
    assert 1.96 * found * (slices * EVENTS / 4) ** 0.5 < slices * EVENTS / 2


STUDENTS = {7: 2.364624, 8: 2.306004, 9: 2.262157, 10: 2.228139, 12: 2.178813, 14: 2.144787}
"""The 97.5 % quantiles of Student's t, by degrees of freedom."""


@pytest.mark.parametrize("degrees", STUDENTS)
def test_half_of_an_interval_of_few_slices_is_students_quantile_of_their_deviations(degrees: int) -> None:
    """One event in one slice: the slices deviate by 1 from their common rate, squared and summed as by a sample."""
    slices = degrees + 1
    found = variance_of_sum([1] * slices, [1, *[0] * degrees])
    assert 1.96 * found**0.5 == pytest.approx(STUDENTS[degrees], rel=1e-6)


def test_counts_that_are_proportional_to_their_slices_do_not_vary() -> None:
    assert variance_of_sum(range(1, 9), range(10, 90, 10)) == pytest.approx(0)
    assert spread(range(1, 9), range(10, 90, 10), 1.0) == 1


@pytest.mark.parametrize(("slices", "are_joined"), [(15, False), (16, True)])
def test_twice_the_fewest_slices_are_joined(slices: int, *, are_joined: bool) -> None:
    found = variance_of_sum([1] * slices, [0, 2] * (slices // 2) + [1] * (slices % 2))
    assert (found == 0) is are_joined


def test_of_an_odd_number_of_slices_none_is_left_out() -> None:
    assert variance_of_sum([1] * 17, [1, *[0] * 16]) > 0


def test_fewer_slices_tell_no_variance() -> None:
    with pytest.raises(ValueError, match="7 slices tell no variance: 8 do"):
        variance_of_sum([1] * 7, [1] * 7)


def of_a_median(count: int, spread: float) -> float:
    return percentile_width(count, 0.5, spread)


@pytest.mark.parametrize(
    ("width", "alike_below", "known_from"),
    [(of_a_median, 1.8, 100), (failures_width, 1.3, 10), (rate_width, 1.3, 250)],
    ids=["median", "failures", "rate"],
)
def test_a_spread_is_doubled_where_its_samples_are_worth_too_few_independent_ones_to_know_it(
    width: Callable[[int, float], float], alike_below: float, known_from: int
) -> None:
    just_below = alike_below - 0.001
    assert width(1, just_below) == just_below
    assert width(1, alike_below) == 2 * alike_below
    assert width(4 * known_from - 1, 2.0) == 4.0
    assert width(4 * known_from, 2.0) == 2.0


@pytest.mark.parametrize(("share", "factor"), [(0.04, 4.0), (0.05, 2.0), (0.5, 2.0), (0.95, 2.0), (0.96, 4.0)])
def test_a_percentile_needs_five_of_them_on_its_rare_side_besides(share: float, factor: float) -> None:
    assert percentile_width(400, share, 2.0) == factor
