"""The histograms of reports, as `hdr_encoding.decode` reads them.

Input: `text` and a line end, then the base64 text; or `payload` and a line end, then the numbers inside, which are
packed here as an encoder packs them.
Oracle: only EncodingError is raised. Each key is the lowest value of a bucket of the histogram's range, each count is
positive, and the table is the same when it is encoded and decoded again.
"""

import base64
import struct
import zlib
from collections.abc import Iterator

from sshload_worker.recording.histogram import (
    _COMPRESSED_COOKIE,
    _PAYLOAD_COOKIE,
    HIGHEST_US,
    LOWEST_US,
    SIGNIFICANT_DIGITS,
    EncodingError,
    LatencyHistogram,
    decode,
    encode,
)


def seeds() -> Iterator[bytes]:
    """Yield histograms of few and of many values, whole and their payloads."""
    for values in ([], [1], [900, 1_000, 70_000], [HIGHEST_US] * 70, list(range(1, 9_000, 7))):
        text = LatencyHistogram(values).encode()
        yield b"text\n" + text.encode()
        yield b"payload\n" + zlib.decompress(base64.b64decode(text)[8:])[40:]


def check(data: bytes) -> None:
    """Decode a histogram, and what was read of it once more."""
    kind, _, said = data.partition(b"\n")
    try:
        counts = decode(_packed(said) if kind == b"payload" else said.decode("utf-8", "replace"))
    except EncodingError:
        return
    for floor, count in counts.items():
        assert count > 0
        assert LOWEST_US <= floor <= HIGHEST_US
        assert LatencyHistogram([floor]).counts == {floor: 1}
    assert decode(encode(counts)) == counts


def _packed(payload: bytes) -> str:
    header = struct.pack(">iiiiqqd", _PAYLOAD_COOKIE, len(payload), 0, SIGNIFICANT_DIGITS, LOWEST_US, HIGHEST_US, 1.0)
    packed = zlib.compress(header + payload)
    return base64.b64encode(struct.pack(">ii", _COMPRESSED_COOKIE, len(packed)) + packed).decode("ascii")
