"""LatencyHistogram: exact counts of latencies in HDR buckets, 1 us to 100 h, 3 digits, merged without loss.

The wire form is the V2 compressed encoding of every HdrHistogram library. Theirs for Python walks all 30,720 counters
of 1 us to 100 h at each encoding and decoding; a worker's second fills some dozens of them, and its event loop must not
stand still for the rest. So the text is made straight from a sparse table of counts, and read into one.
"""

import base64
import struct
import zlib
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil, sqrt
from math import floor as round_down
from typing import Final

from sshload_contract.percentiles import percentile_width, samples_needed

LOWEST_US = 1
HIGHEST_US = 360_000_000_000
"""100 hours: sessions may be held for a day, and come up within another."""

SIGNIFICANT_DIGITS = 3

_SUB_BUCKETS = 2_048
_SUB_BUCKET_BITS = 11
_HALF = _SUB_BUCKETS // 2
_PAYLOAD_COOKIE = 0x1C849303 | 0x10
_COMPRESSED_COOKIE = 0x1C849304 | 0x10
_HEADER = struct.Struct(">iiiiqqd")
_ENVELOPE = struct.Struct(">ii")
_SEVEN_BITS = 0x7F
_MOST_IN_A_BYTE = 63
_MOST_NEGATIVE_IN_A_BYTE = 64
_MORE = 0x80
_LAST_BYTE_SHIFT = 56
_BUCKETS = (HIGHEST_US.bit_length() - _SUB_BUCKET_BITS) * _HALF + _SUB_BUCKETS
_COUNT_LIMIT = 2**62 - 1
_LONGEST_NUMBER_BYTES = 9
_UNPACKED_LIMIT_BYTES = _HEADER.size + _LONGEST_NUMBER_BYTES * _BUCKETS
"""The largest size of a histogram: no more is unpacked of what a worker sends."""

_Z_95: Final = 1.96
"""How many standard deviations around its mean hold 95 % of a normal distribution."""


class EncodingError(ValueError):
    """A text is no V2 compressed histogram of the range and precision used here."""


def bucket_ceiling(floor: int) -> int:
    """Return the highest value of the bucket that `floor` identifies."""
    shift = floor.bit_length() - _SUB_BUCKET_BITS
    return floor if shift <= 0 else floor + (1 << shift) - 1


def encode(counts: Mapping[int, int]) -> str:
    """Return the base64 text of a table of counts by bucket floor."""
    payload = bytearray()
    expected = 0
    for floor in sorted(counts):
        # What is short is written out here: a report has thousands of buckets, and the loop stands still meanwhile.
        shift = floor.bit_length() - _SUB_BUCKET_BITS
        index = floor if shift <= 0 else shift * _HALF + (floor >> shift)
        zeros = index - expected
        if zeros:
            if zeros <= _MOST_NEGATIVE_IN_A_BYTE:
                payload.append(2 * zeros - 1 if zeros > 1 else 0)
            else:
                payload += _varint(-zeros)
        count = counts[floor]
        if count <= _MOST_IN_A_BYTE:
            payload.append(2 * count)
        else:
            payload += _varint(count)
        expected = index + 1
    header = _HEADER.pack(_PAYLOAD_COOKIE, len(payload), 0, SIGNIFICANT_DIGITS, LOWEST_US, HIGHEST_US, 1.0)
    packed = zlib.compress(header + bytes(payload))
    return base64.b64encode(_ENVELOPE.pack(_COMPRESSED_COOKIE, len(packed)) + packed).decode("ascii")


def decode(text: str) -> dict[int, int]:
    """Return the table of counts by bucket floor that `text` encodes; raises EncodingError where it does not."""
    try:
        raw = base64.b64decode(text, validate=True)
        cookie, length = _ENVELOPE.unpack_from(raw)
        unpacking = zlib.decompressobj()
        unpacked = unpacking.decompress(raw[_ENVELOPE.size : _ENVELOPE.size + length], _UNPACKED_LIMIT_BYTES)
        header = _HEADER.unpack_from(unpacked)
    except (ValueError, zlib.error, struct.error) as error:
        raise EncodingError(f"no HDR histogram: {error}") from error
    expected = (_PAYLOAD_COOKIE, header[1], 0, SIGNIFICANT_DIGITS, LOWEST_US, HIGHEST_US, 1.0)
    if cookie != _COMPRESSED_COOKIE or header != expected:
        raise EncodingError("the HDR histogram has another version, range or precision")
    if not unpacking.eof:
        raise EncodingError("the HDR histogram is cut short, or larger than one of this range can be")
    payload = unpacked[_HEADER.size :]
    if len(payload) != header[1]:
        raise EncodingError("the HDR histogram's payload is cut short")
    return _read_counts(payload)


def _read_counts(payload: bytes) -> dict[int, int]:
    """Return the counts that a payload of varints says: a count for each bucket, below zero for so many empty ones."""
    counts = {}
    index = begun = shift = 0
    for byte in payload:
        # What is short is written out here: the master reads some ten thousand numbers in the reports of a second.
        if byte & _MORE and shift < _LAST_BYTE_SHIFT:
            begun |= (byte & _SEVEN_BITS) << shift
            shift += 7
            continue
        value = begun | byte << shift
        begun = shift = 0
        if value & 1:
            index += (value + 1) >> 1
        else:
            if value:
                scale = max(index // _HALF - 1, 0)
                counts[(index - scale * _HALF) << scale] = value >> 1
            index += 1
        if index > _BUCKETS or value >> 1 > _COUNT_LIMIT:
            raise EncodingError("the HDR histogram goes beyond its range")
    if shift:
        raise EncodingError("the HDR histogram ends within a number")
    if counts and not LOWEST_US <= min(counts) <= max(counts) <= HIGHEST_US:
        raise EncodingError("the HDR histogram goes beyond its range")
    return counts


def _varint(number: int) -> bytes:
    value = (number << 1) ^ (number >> 63)
    out = bytearray()
    while value > _SEVEN_BITS:
        out.append(value & _SEVEN_BITS | _MORE)
        value >>= 7
    out.append(value)
    return bytes(out)


class LatencyHistogram:
    """How many latencies fell into each bucket. A bucket is at most 1/1,024 of its values wide.

    `counts` is keyed by the lowest value of each bucket. A latency above HIGHEST_US counts as that, and in `overflows`.
    """

    __slots__ = ("counts", "overflows")

    def __init__(self, latencies_us: Iterable[int] = ()) -> None:
        self.counts: dict[int, int] = {}
        self.overflows = 0
        for latency_us in latencies_us:
            self.record(latency_us)

    @classmethod
    def decode(cls, data: str) -> "LatencyHistogram":
        """Return the histogram that `data` encodes; raises EncodingError where it does not."""
        histogram = cls()
        histogram.counts = decode(data)
        return histogram

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LatencyHistogram) and self.counts == other.counts

    __hash__ = None  # type: ignore[assignment] # it changes, so it has no hash

    @property
    def count(self) -> int:
        """How many latencies there are: added up when asked for, because `record` is called far more often."""
        return sum(self.counts.values())

    def encode(self) -> str:
        """Return the V2 compressed base64 text."""
        return encode(self.counts)

    def record(self, latency_us: int) -> None:
        """Count one latency."""
        if not LOWEST_US <= latency_us <= HIGHEST_US:
            self.overflows += latency_us > HIGHEST_US
            latency_us = min(max(latency_us, LOWEST_US), HIGHEST_US)
        shift = latency_us.bit_length() - _SUB_BUCKET_BITS  # the bits that its bucket does not tell apart
        floor = latency_us if shift <= 0 else latency_us >> shift << shift
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
        """Return the percentile with so many more latencies below all of these, None where it would be one of those."""
        rank = ceil(Fraction(str(percentile)) * (self.count + more) / 100) - more
        return bucket_ceiling(self._bucket_at(rank)) if rank >= 1 else None

    def percentile_interval_us(self, percentile: float, spread: float = 1.0) -> tuple[int | None, int | None]:
        """Return the 95 % confidence interval of a percentile, each end None where the samples do not bound it there.

        By order statistics: the number of samples below the true percentile is binomial, so that two ranks enclose it
        whatever the distribution is (Hahn and Meeker, Statistical Intervals, section 5.2; normal approximation). That
        holds for independent samples; of others, by their `spread` (`Slices.spread`), the ranks lie further apart.
        """
        count, share = self.count, percentile / 100
        if count < samples_needed(percentile):
            return None, None
        middle, deviation = count * share, _Z_95 * sqrt(count * share * (1 - share))
        width = percentile_width(count, share, spread)
        low_rank, high_rank = round_down(middle - width * deviation), ceil(middle + width * deviation) + 1
        if round_down(middle - spread * deviation) >= 1:  # what is added for a spread that is known badly
            low_rank = max(low_rank, 1)
        low_us = self._bucket_at(low_rank) if low_rank >= 1 else None
        return low_us, bucket_ceiling(self._bucket_at(high_rank)) if high_rank <= count else None

    def _bucket_at(self, rank: int) -> int:
        """Return the lowest value of the bucket that the sample of this rank, counted from 1, lies in."""
        passed = 0
        for lowest in sorted(self.counts):
            passed += self.counts[lowest]
            if passed >= rank:
                return lowest
        raise AssertionError("a rank lies within the count")

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
        """Return for each limit how many latencies lie in buckets that end at or below it."""
        ends = [(bucket_ceiling(floor), count) for floor, count in self.counts.items()]
        return tuple(sum(count for end, count in ends if end <= limit) for limit in limits_us)
