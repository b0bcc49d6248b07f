import base64
import struct
import zlib
from fractions import Fraction
from math import ceil, log
from random import Random

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st
from sshload_contract.percentiles import samples_needed
from sshload_contract.wire.hdr_encoding import HIGHEST_US, EncodingError, bucket_ceiling
from sshload_worker.recording.histogram import LatencyHistogram

latencies = st.integers(min_value=1, max_value=HIGHEST_US)
percentiles = st.sampled_from([50.0, 90.0, 95.0, 99.0, 99.9])


def by_the_library(samples: list[int]) -> HdrHistogram:
    histogram = HdrHistogram(1, HIGHEST_US, 3)
    for sample in samples:
        assert histogram.record_value(sample)
    return histogram


@given(st.lists(latencies, max_size=200))
def test_the_encoding_is_read_by_the_hdrhistogram_library(samples: list[int]) -> None:
    theirs = HdrHistogram.decode(LatencyHistogram(samples).encode())
    expected = by_the_library(samples)
    assert theirs.get_total_count() == len(samples)
    for sample in samples:
        assert theirs.get_count_at_value(sample) == expected.get_count_at_value(sample)


@given(st.lists(latencies, min_size=1, max_size=200))
def test_the_hdrhistogram_librarys_encoding_is_read(samples: list[int]) -> None:
    theirs = by_the_library(samples).encode().decode("ascii")
    assert LatencyHistogram.decode(theirs) == LatencyHistogram(samples)


@given(st.lists(latencies, max_size=200), st.integers(min_value=1, max_value=2**60))
def test_encoding_loses_nothing(samples: list[int], many: int) -> None:
    histogram = LatencyHistogram(samples)
    histogram.counts[1] = histogram.counts.get(1, 0) + many
    assert LatencyHistogram.decode(histogram.encode()) == histogram


@pytest.mark.parametrize(
    ("latency_us", "floor_us", "overflows"),
    [
        (-1, 1, 0),
        (0, 1, 0),
        (1, 1, 0),
        (2_047, 2_047, 0),
        (2_048, 2_048, 0),
        (2_049, 2_048, 0),
        (HIGHEST_US, HIGHEST_US >> 28 << 28, 0),
        (HIGHEST_US + 1, HIGHEST_US >> 28 << 28, 1),
    ],
)
def test_a_latency_is_counted_by_the_lowest_of_its_bucket(latency_us: int, floor_us: int, overflows: int) -> None:
    histogram = LatencyHistogram()
    histogram.record(latency_us)
    assert (histogram.counts, histogram.overflows) == ({floor_us: 1}, overflows)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("?", id="no base64"),
        pytest.param("AAAA", id="too short"),
        pytest.param(HdrHistogram(1, 1_000, 2).encode().decode("ascii"), id="another range"),
        pytest.param(LatencyHistogram([5]).encode()[:-8], id="cut"),
    ],
)
def test_what_is_no_histogram_of_ours_is_refused(text: str) -> None:
    with pytest.raises(EncodingError):
        LatencyHistogram.decode(text)


@given(latencies)
def test_a_bucket_is_at_most_a_thousandth_of_its_values_wide(latency_us: int) -> None:
    (floor,) = LatencyHistogram([latency_us]).counts
    assert floor <= latency_us <= bucket_ceiling(floor)
    assert bucket_ceiling(floor) - floor <= floor / 1_000


@given(st.lists(latencies, min_size=1, max_size=4_000), percentiles)
def test_percentiles_are_within_a_thousandth_of_the_sorted_truth_and_never_below(
    samples: list[int], percentile: float
) -> None:
    found = LatencyHistogram(samples).percentile_us(percentile)
    if len(samples) < samples_needed(percentile):
        assert found is None
    else:
        truth = sorted(samples)[ceil(Fraction(str(percentile)) * len(samples) / 100) - 1]
        assert found is not None
        assert truth <= found <= truth * 1.001


@pytest.mark.parametrize(
    ("percentile", "needed"), [(50.0, 5), (90.0, 29), (95.0, 59), (99.0, 299), (99.9, 2_995)], ids=str
)
def test_a_percentile_needs_so_many_samples_that_the_largest_bounds_it(percentile: float, needed: int) -> None:
    assert samples_needed(percentile) == needed
    assert LatencyHistogram([7] * (needed - 1)).percentile_us(percentile) is None
    assert LatencyHistogram([7] * needed).percentile_us(percentile) == 7


@pytest.mark.parametrize("percentile", [0.1, 50.0, 90.0, 99.0], ids=str)
def test_a_percentile_is_the_latency_at_its_rank(percentile: float) -> None:
    assert LatencyHistogram(range(1, 2_001)).percentile_us(percentile) == 20 * percentile
    assert LatencyHistogram([*range(1, 2_001), 2_047]).percentile_us(percentile) == 20 * percentile + 1


@given(st.lists(st.integers(1, 2_047), min_size=1, max_size=50), st.integers(0, 60), percentiles)
def test_further_latencies_below_all_others_move_a_percentile_down(
    samples: list[int], more: int, percentile: float
) -> None:
    ordered = [None] * more + sorted(samples)
    rank = ceil(Fraction(str(percentile)) * len(ordered) / 100)
    assert LatencyHistogram(samples).percentile_below_more_us(percentile, more) == ordered[rank - 1]


@pytest.mark.parametrize(
    ("count", "percentile", "spread", "low", "high"),
    [
        pytest.param(100, 50.0, 1.0, 40, 61, id="half of a hundred, within 9.8"),
        pytest.param(8, 50.0, 1.0, 1, 8, id="the first and the last"),
        pytest.param(7, 50.0, 1.0, None, None, id="too few for both ends"),
        pytest.param(299, 99.0, 1.0, 292, None, id="just as many as the percentile needs"),
        pytest.param(298, 99.0, 1.0, None, None, id="too few for the percentile"),
        pytest.param(2_000, 90.0, 2.0, 1_747, 1_854, id="samples that depend on each other"),
        pytest.param(20, 50.0, 2.0, 1, None, id="below the first only because the spread is uncertain"),
        pytest.param(19, 50.0, 2.0, None, None, id="below the first by the spread itself"),
    ],
)
def test_the_ends_of_an_interval_are_the_ranks_that_enclose_the_percentile(
    count: int, percentile: float, spread: float, low: int | None, high: int | None
) -> None:
    assert LatencyHistogram(range(1, count + 1)).percentile_interval_us(percentile, spread) == (low, high)


def test_counts_up_to_a_limit_hold_what_is_at_it() -> None:
    assert LatencyHistogram([5, 7]).count_up_to((4, 5, 6, 7)) == (0, 1, 1, 2)


def test_histograms_are_equal_by_their_counts_and_equal_to_nothing_else() -> None:
    assert LatencyHistogram([1, 1]) != LatencyHistogram([1, 2])
    assert LatencyHistogram([1]) != LatencyHistogram([1]).counts


def test_overflows_of_all_that_was_merged_are_counted() -> None:
    one, other = LatencyHistogram([1, HIGHEST_US + 1]), LatencyHistogram([HIGHEST_US + 1] * 2)
    one.merge(other)
    assert (one.count, one.overflows) == (4, 3)


@given(st.lists(latencies, max_size=100), st.lists(latencies, max_size=100))
def test_merging_is_recording_all_at_once_in_any_order(first: list[int], second: list[int]) -> None:
    one, other = LatencyHistogram(first), LatencyHistogram(second)
    one.merge(LatencyHistogram(second))
    other.merge(LatencyHistogram(first))
    assert one == other == LatencyHistogram(first + second)
    assert one.count == len(first) + len(second)


@given(st.lists(latencies, max_size=100), st.lists(latencies, max_size=100))
def test_subtracting_an_older_state_leaves_what_came_since(earlier: list[int], since: list[int]) -> None:
    difference = LatencyHistogram(earlier + since).minus(LatencyHistogram(earlier))
    assert difference == LatencyHistogram(since)
    assert difference.count == len(since)


@given(st.lists(latencies, min_size=1, max_size=100))
def test_extremes_and_mean_are_within_a_thousandth(samples: list[int]) -> None:
    histogram = LatencyHistogram(samples)
    assert histogram.min_us() == pytest.approx(min(samples), rel=0.001)
    assert histogram.max_us() == pytest.approx(max(samples), rel=0.001)
    assert histogram.mean_us() == pytest.approx(sum(samples) / len(samples), rel=0.001)


def test_without_samples_there_is_no_number() -> None:
    empty = LatencyHistogram()
    assert (empty.min_us(), empty.max_us(), empty.mean_us(), empty.percentile_us(50)) == (None,) * 4


def test_more_than_a_histogram_holds_is_kept_and_counted_as_an_overflow() -> None:
    histogram = LatencyHistogram([HIGHEST_US, HIGHEST_US + 1])
    assert (histogram.count, histogram.overflows) == (2, 1)


def test_a_day_of_holding_after_a_day_of_coming_up_is_stated_as_it_was() -> None:
    two_days_us = 48 * 3_600 * 1_000_000
    histogram = LatencyHistogram([two_days_us] * 5)
    assert histogram.overflows == 0
    assert histogram.percentile_us(50) == pytest.approx(two_days_us, rel=0.001)


def test_less_than_a_microsecond_counts_as_one() -> None:
    assert LatencyHistogram([0]) == LatencyHistogram([1])


@given(st.lists(latencies, max_size=100))
def test_cumulative_counts_grow_and_never_count_what_is_above_the_limit(samples: list[int]) -> None:
    limits = (1_000, 50_000, HIGHEST_US * 2)
    counts = LatencyHistogram(samples).count_up_to(limits)
    assert list(counts) == sorted(counts)
    assert counts[-1] == len(samples)
    assert all(count <= sum(sample <= limit for sample in samples) for count, limit in zip(counts, limits, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("percentile", "count"), [(50.0, 200), (90.0, 500), (99.0, 2_000)])
def test_the_interval_of_a_percentile_holds_the_truth_in_95_of_100_runs(percentile: float, count: int) -> None:
    random = Random(1)  # noqa: S311 - samples, no secrets
    truth_us = -log(1 - percentile / 100) * 100_000
    held = 0
    for _ in range(200):
        histogram = LatencyHistogram(int(random.expovariate(1 / 100_000)) + 1 for _ in range(count))
        low_us, high_us = histogram.percentile_interval_us(percentile, 1.0)
        held += low_us is not None and high_us is not None and low_us <= truth_us <= high_us
    assert held >= 186


def test_an_end_of_an_interval_that_the_samples_do_not_bound_is_not_given() -> None:
    few, enough = LatencyHistogram(range(1_000, 1_300)), LatencyHistogram(range(1_000, 3_000))
    assert LatencyHistogram([1]).percentile_interval_us(50, 1.0) == (None, None)
    assert few.percentile_interval_us(99, 1.0)[1] is None
    assert None not in enough.percentile_interval_us(99, 1.0)


def packed(payload: bytes) -> str:
    """Return a payload in the envelope of a histogram of our range."""
    header = struct.pack(">iiiiqqd", 0x1C849303 | 0x10, len(payload), 0, 3, 1, HIGHEST_US, 1.0)
    compressed = zlib.compress(header + payload)
    return base64.b64encode(struct.pack(">ii", 0x1C849304 | 0x10, len(compressed)) + compressed).decode()


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(b"\xff" * 8 + b"\x7f\x02", id="a count after very many zeros"),
        pytest.param(b"\x02", id="a count of latencies of 0 us"),
        pytest.param(b"\x01" * 20_000 + b"\x02" * 20_000, id="more buckets than there are"),
        pytest.param(b"\x00" + b"\xfe" + b"\xff" * 7 + b"\xff", id="a count of more than 62 bits"),
        pytest.param(b"\x00" * 10_000_000, id="much that is packed tightly"),
    ],
)
def test_what_no_histogram_of_this_range_holds_is_refused(payload: bytes) -> None:
    with pytest.raises(EncodingError):
        LatencyHistogram.decode(packed(payload))
