from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from math import exp, sqrt
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshload_contract.percentiles import MOST_SLICES
from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.summary.totals import Slices, _bucket_at

additions = st.lists(
    st.tuples(
        st.integers(min_value=1, max_value=500),
        st.sampled_from(["login", "total"]),
        st.lists(st.integers(min_value=1, max_value=10**7), max_size=5),
    ),
    max_size=60,
)
Addition = tuple[int, str, list[int]]


def sliced(done: Sequence[Addition]) -> Slices:
    slices = Slices()
    for sequence, step, latencies in done:
        slices.add(sequence, step, LatencyHistogram(latencies))
    return slices


def run(random: Random, correlation: float, reports: int = 60, each: int = 20) -> list[Addition]:
    """Return a run whose logarithms of latencies are an AR(1) process."""
    done, state = [], random.gauss(0, 1)
    for sequence in range(1, reports + 1):
        latencies = []
        for _ in range(each):
            state = correlation * state + sqrt(1 - correlation**2) * random.gauss(0, 1)
            latencies.append(round(100_000 * exp(0.5 * state)))
        done.append((sequence, "total", latencies))
    return done


@given(additions, st.randoms(use_true_random=False))
def test_the_order_of_the_additions_changes_nothing(done: list[Addition], random: Random) -> None:
    shuffled = list(done)
    random.shuffle(shuffled)
    assert sliced(shuffled) == sliced(done)


@given(additions)
def test_there_are_never_more_slices_than_their_limit_and_nothing_is_lost(done: list[Addition]) -> None:
    slices = sliced(done)
    assert len(slices._slices) <= MOST_SLICES
    kept = sum(counts.total() for found in slices._slices.values() for counts in found.values())
    assert kept == sum(len(latencies) for _, _, latencies in done)


@pytest.mark.parametrize("percentile", [50.0, 90.0, 99.0])
def test_independent_latencies_are_hardly_widened(percentile: float) -> None:
    random = Random(1)  # noqa: S311 - samples, no secrets
    found = sorted(sliced(run(random, 0.0)).spread("total", percentile) for _ in range(60))
    assert found[0] >= 1
    assert found[30] < 1.4


@pytest.mark.parametrize("percentile", [50.0, 90.0])
def test_latencies_that_follow_each_other_alike_are_widened_as_far_as_they_say_less(percentile: float) -> None:
    """At a correlation of 0.98 the standard error of the median is about six times that of independent latencies."""
    random = Random(1)  # noqa: S311 - samples, no secrets
    found = sorted(sliced(run(random, 0.98)).spread("total", percentile) for _ in range(60))
    assert found[6] > 2.5
    assert found[30] < 12


def test_each_step_is_held_against_itself() -> None:
    slices = sliced([*run(Random(1), 0.98), *[(at, "login", [1_000 + at % 7]) for at in range(1, 61)]])  # noqa: S311
    assert slices.spread("total", 50) > 2
    assert slices.spread("login", 50) < 1.5
    assert slices.spread("unheard of", 50) == 1


@pytest.mark.slow
def test_the_intervals_hold_the_truth_in_95_of_100_runs_of_latencies_that_are_alike() -> None:
    random = Random(3)  # noqa: S311 - samples, no secrets
    plain = widened = 0
    for _ in range(200):
        done = run(random, 0.9)
        whole = LatencyHistogram(latency for _, _, latencies in done for latency in latencies)
        factor = sliced(done).spread("total", 50)
        for holds, interval in (
            (0, whole.percentile_interval_us(50, 1.0)),
            (1, whole.percentile_interval_us(50, factor)),
        ):
            low_us, high_us = interval
            assert low_us is not None
            assert high_us is not None
            inside = low_us <= 100_000 <= high_us
            plain, widened = plain + (inside and not holds), widened + (inside and holds)
    assert plain < 140
    assert widened >= 190


def test_all_orders_of_joining_agree() -> None:
    many = [(sequence, "total", [sequence]) for sequence in (1, 40, 41, 80, 300)]
    many += [(sequence, "total", [7]) for sequence in range(100, 100 + MOST_SLICES)]
    assert all(sliced([*order, *many[5:]]) == sliced(many) for order in permutations(many[:5]))


def test_joined_slices_hold_what_both_their_parts_held() -> None:
    """A slice has the latencies of one report; after joining once, those of two that follow each other."""
    sequences = range(MOST_SLICES + 1)
    slices = sliced([(sequence, step, [sequence % 60 + 1]) for sequence in sequences for step in ("login", "total")])
    expected = {
        index: Counter(sequence % 60 + 1 for sequence in (2 * index, 2 * index + 1) if sequence in sequences)
        for index in range(MOST_SLICES // 2 + 1)
    }
    for step in ("login", "total"):
        assert {index: found[step] for index, found in slices._slices.items()} == expected


def test_slices_are_joined_only_once_there_are_too_many() -> None:
    assert len(sliced([(sequence, "total", [1]) for sequence in range(MOST_SLICES)])._slices) == MOST_SLICES


def test_reports_that_come_after_joining_belong_to_the_joined_slices() -> None:
    slices = sliced([(sequence, "total", [1]) for sequence in range(MOST_SLICES + 1)])
    slices.add(3, "total", LatencyHistogram([2]))
    assert slices._slices[1]["total"] == Counter({1: 2, 2: 1})


@pytest.mark.parametrize(
    ("latencies", "share", "bucket"),
    [
        pytest.param({}, 0.5, 0, id="none"),
        pytest.param({10: 1, 20: 1, 30: 2}, 0.5, 20, id="just there"),
        pytest.param({10: 1, 20: 1, 30: 2}, 0.3, 10, id="the nearest below"),
        pytest.param({10: 1, 20: 1, 30: 2}, 0.45, 20, id="the nearest above"),
        pytest.param({30: 1, 10: 3}, 1.0, 30, id="the last"),
        pytest.param({10: 1, 20: 2, 30: 1}, 0.5, 10, id="of two as near, the lower"),
    ],
)
def test_the_bucket_of_a_share_is_the_one_at_whose_end_the_share_is_nearest(
    latencies: dict[int, int], share: float, bucket: int
) -> None:
    assert _bucket_at(Counter(latencies), share) == bucket


def test_a_step_without_latencies_is_not_widened() -> None:
    assert Slices().spread("total", 50.0) == 1.0


def test_a_slice_tells_latencies_apart_to_a_thirty_second_of_them() -> None:
    slices = sliced([(1, "total", [31, 63, 64, 65, 127, 128, 131])])
    assert slices._slices[1]["total"] == Counter({31: 1, 63: 1, 64: 2, 126: 1, 128: 2})
