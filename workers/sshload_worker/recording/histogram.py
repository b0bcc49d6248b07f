"""LatencyHistogram: exact counts of latencies in HDR buckets, 1 us to 100 h, 3 digits, merged without loss."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from itertools import accumulate
from math import ceil, sqrt
from math import floor as round_down
from typing import Final

from sshload_contract.percentiles import percentile_width, samples_needed
from sshload_contract.wire.hdr_encoding import (
    HIGHEST_US,
    LOWEST_US,
    SUB_BUCKET_BITS,
    bucket_ceiling,
    decode,
    encode,
)

_EXACT_BELOW_US: Final = 2**SUB_BUCKET_BITS
"""Below this, each latency is a bucket of its own."""

_Z_95: Final = 1.96
"""How many standard deviations around its mean hold 95 % of a normal distribution."""


class LatencyHistogram:
    """The number of latencies in each bucket. The width of a bucket is at most 1/1,024 of its values.

    `counts` is keyed by the lowest value of each bucket. A latency above HIGHEST_US counts as HIGHEST_US, and in
    `overflows`.
    """

    __slots__ = ("counts", "overflows")

    def __init__(self, latencies_us: Iterable[int] = ()) -> None:
        self.counts: Counter[int] = Counter()
        self.overflows = 0
        for latency_us in latencies_us:
            self.record(latency_us)

    @classmethod
    def decode(cls, data: str) -> "LatencyHistogram":
        """Return the histogram that `data` encodes; raises EncodingError if it encodes none."""
        histogram = cls()
        histogram.counts = Counter(decode(data))
        return histogram

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LatencyHistogram) and self.counts == other.counts

    __hash__ = None  # type: ignore[assignment] # it changes, so it has no hash

    @property
    def count(self) -> int:
        """How many latencies there are. It is added up here, because `record` is called far more often."""
        return sum(self.counts.values())

    def encode(self) -> str:
        """Return the V2 compressed base64 text."""
        return encode(self.counts)

    def record(self, latency_us: int) -> None:
        """Count one latency."""
        floor = latency_us
        if latency_us >= _EXACT_BELOW_US:
            if latency_us > HIGHEST_US:
                self.overflows += 1
                latency_us = HIGHEST_US
            shift = latency_us.bit_length() - SUB_BUCKET_BITS  # the low bits, which its bucket does not distinguish
            floor = latency_us >> shift << shift
        elif latency_us < LOWEST_US:
            floor = LOWEST_US
        counts = self.counts
        counts[floor] = counts.get(floor, 0) + 1

    def merge(self, other: "LatencyHistogram") -> None:
        """Add the other's counts to these."""
        counts = self.counts
        for floor, count in other.counts.items():
            counts[floor] = counts.get(floor, 0) + count
        self.overflows += other.overflows

    def minus(self, earlier: "LatencyHistogram") -> "LatencyHistogram":
        """Return the latencies recorded since `earlier`, which is an older state of this histogram."""
        difference = LatencyHistogram()
        for floor, count in self.counts.items():
            added = count - earlier.counts.get(floor, 0)
            if added:
                difference.counts[floor] = added
        return difference

    def percentile_us(self, percentile: float) -> int | None:
        """Return the nearest-rank percentile, rounded up to its bucket's end, or None with too few samples."""
        count = self.count
        if count < samples_needed(percentile):
            return None
        return bucket_ceiling(self._bucket_at(ceil(Fraction(str(percentile)) * count / 100)))

    def percentile_below_more_us(self, percentile: float, more: int) -> int | None:
        """Return the percentile with `more` further latencies below all others, None if it would be one of these."""
        rank = ceil(Fraction(str(percentile)) * (self.count + more) / 100) - more
        return bucket_ceiling(self._bucket_at(rank)) if rank >= 1 else None

    def percentile_interval_us(self, percentile: float, spread: float) -> tuple[int | None, int | None]:
        """Return the 95 % confidence interval of a percentile. An end is None if the samples do not bound it.

        It is computed by order statistics: the number of samples below the true percentile is binomial, so two ranks
        enclose it for any distribution (Hahn and Meeker, Statistical Intervals, section 5.2; normal approximation).
        This holds for independent samples. For others, `spread` (`Slices.spread`) moves the ranks further apart.
        """
        count, share = self.count, percentile / 100
        if count < samples_needed(percentile):
            return None, None
        middle, deviation = count * share, _Z_95 * sqrt(count * share * (1 - share))
        width = percentile_width(count, share, spread)
        low_rank, high_rank = round_down(middle - width * deviation), ceil(middle + width * deviation) + 1
        if round_down(middle - spread * deviation) >= 1:  # below 1 only because the spread is uncertain
            low_rank = max(low_rank, 1)
        low_us = self._bucket_at(low_rank) if low_rank >= 1 else None
        return low_us, bucket_ceiling(self._bucket_at(high_rank)) if high_rank <= count else None

    def _bucket_at(self, rank: int) -> int:
        """Return the lowest value of the bucket of the sample with this rank, counted from 1."""
        floors = sorted(self.counts)
        passed = list(accumulate(map(self.counts.__getitem__, floors)))
        return floors[bisect_left(passed, rank)]

    def min_us(self) -> int | None:
        """Return the lowest value of the first bucket, None without samples."""
        return min(self.counts) if self.counts else None

    def max_us(self) -> int | None:
        """Return the highest value of the last bucket, None without samples."""
        return bucket_ceiling(max(self.counts)) if self.counts else None

    def mean_us(self) -> float | None:
        """Return the mean of the buckets' middles, None without samples."""
        if not self.counts:
            return None
        total = sum((floor + bucket_ceiling(floor)) * count for floor, count in self.counts.items())
        return total / 2 / self.count

    def count_up_to(self, limits_us: tuple[int, ...]) -> tuple[int, ...]:
        """Return for each limit the number of latencies in buckets that end at or below it."""
        ends = [(bucket_ceiling(floor), count) for floor, count in self.counts.items()]
        return tuple(sum(count for end, count in ends if end <= limit) for limit in limits_us)
