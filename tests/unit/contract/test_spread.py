from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshload_contract.percentiles import FEWEST_SLICES, MOST_SLICES, spread

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
