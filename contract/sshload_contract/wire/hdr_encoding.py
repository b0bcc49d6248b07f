"""The wire form of a histogram of latencies: HDR buckets, 1 us to 100 h, 3 digits, in the V2 compressed encoding.

Every HdrHistogram library reads and writes it. The one for Python iterates over all 30,720 counters of 1 us to 100 h
whenever it encodes or decodes. A worker fills a few dozen of them per second, and its event loop must not be blocked
for the rest. So this module encodes directly from a sparse table of counts, and decodes into one.
"""

import base64
import struct
import zlib
from collections.abc import Mapping

LOWEST_US = 1
HIGHEST_US = 360_000_000_000
"""100 hours: sessions may be held for a day, and their ramp-up may take another."""

SIGNIFICANT_DIGITS = 3

_SUB_BUCKETS = 2_048
SUB_BUCKET_BITS = 11
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
_BUCKETS = (HIGHEST_US.bit_length() - SUB_BUCKET_BITS) * _HALF + _SUB_BUCKETS
_COUNT_LIMIT = 2**62 - 1
_LONGEST_NUMBER_BYTES = 9
_UNPACKED_LIMIT_BYTES = _HEADER.size + _LONGEST_NUMBER_BYTES * _BUCKETS
"""The largest size of a histogram: no more of a worker's text is decompressed."""


class EncodingError(ValueError):
    """A text is not a V2 compressed histogram of the range and precision used here."""


def bucket_ceiling(floor: int) -> int:
    """Return the highest value of the bucket that `floor` identifies."""
    shift = floor.bit_length() - SUB_BUCKET_BITS
    return floor if shift <= 0 else floor + (1 << shift) - 1


def encode(counts: Mapping[int, int]) -> str:
    """Return a table of counts by bucket floor as base64 text."""
    payload = bytearray()
    expected = 0
    for floor in sorted(counts):
        # Short functions are inlined here: a report has thousands of buckets, and encoding blocks the event loop.
        shift = floor.bit_length() - SUB_BUCKET_BITS
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
    """Return the table of counts by bucket floor that `text` encodes; raises EncodingError if it does not."""
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
    """Return the counts in a payload of varints: the count of a bucket each, or if negative, a number of empty ones."""
    counts = {}
    index = begun = shift = 0
    for byte in payload:
        # Short functions are inlined here: the master reads some ten thousand numbers in the reports of each second.
        # ZigZag LEB128-64b9B: the ninth byte is the last, and all of its eight bits belong to the number.
        if byte & _MORE and shift < _LAST_BYTE_SHIFT:
            begun |= (byte & _SEVEN_BITS) << shift
            shift += 7
            continue
        value = begun | byte << shift
        begun = shift = 0
        # ZigZag: an odd value is negative, a run of empty buckets.
        if value & 1:
            index += (value + 1) >> 1
        else:
            if value:
                # Above the first _SUB_BUCKETS, each power of two has _HALF buckets.
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
