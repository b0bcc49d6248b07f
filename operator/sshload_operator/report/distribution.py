"""Latencies by percentile, on HdrHistogram's axis: each halving of the share above has the same width."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil
from typing import Any, Final

from sshload_contract.percentiles import samples_needed
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.hdr_encoding import EncodingError, bucket_ceiling, decode
from sshload_contract.wire.report import EncodedHistogram
from sshload_contract.wire.run_summary import RunSummary

from sshload_operator.api.status.figures import milliseconds

_MOST_STEPS: Final = 30
_POINTS_PER_HALVING: Final = 5
_MOST_HALVINGS: Final = 40
_ALL: Final = 100.0
_FIRST: Final = ("total", "login", "connect", "auth")


def distributions(summary: RunSummary) -> list[dict[str, Any]]:
    """Return each measured step with its latencies by percentile, successes only; the most interesting steps first.

    A point is [percentile, ms]. The last one is the maximum. `statedTo` is the highest percentile of `points` that the
    samples bound: above it there are only a few latencies.
    """
    asked = [
        one for one in summary.histograms if (one.window, one.outcome, one.stage) == (Window.MEASURED, Outcome.OK, 0)
    ]
    asked.sort(key=lambda one: (_FIRST.index(one.step) if one.step in _FIRST else len(_FIRST), one.step))
    return [_distribution(one.step, counts) for one in asked[:_MOST_STEPS] if (counts := _counts(one))]


def _counts(histogram: EncodedHistogram) -> Mapping[int, int]:
    """Return the counts by bucket, none for a histogram that cannot be read."""
    try:
        return decode(histogram.data)
    except EncodingError:
        return {}


def _distribution(step: str, counts: Mapping[int, int]) -> dict[str, Any]:
    count = sum(counts.values())
    points = list(_points(counts, count))
    stated = (percentile for percentile, _ in points if 0 < percentile < _ALL and count >= samples_needed(percentile))
    return {
        "step": step,
        "count": count,
        "statedTo": max(stated, default=0.0),
        "points": [[percentile, milliseconds(value_us)] for percentile, value_us in points],
    }


def _points(counts: Mapping[int, int], count: int) -> Iterator[tuple[float, int]]:
    """Yield percentiles with their latencies: those that have a sample above them, and the maximum."""
    floors = iter(sorted(counts))
    floor, passed = 0, 0
    for percentile in _percentiles(count):
        rank = max(1, ceil(Fraction(str(percentile)) * count / 100))
        while passed < rank:
            floor = next(floors)
            passed += counts[floor]
        yield percentile, bucket_ceiling(floor)
    yield _ALL, bucket_ceiling(max(counts))


def _percentiles(count: int) -> Iterator[float]:
    for halving in range(_MOST_HALVINGS):
        above = _ALL / 2**halving
        if above * count < _ALL:  # less than one sample is above
            return
        for part in range(_POINTS_PER_HALVING):
            yield round(_ALL - above + part * above / 2 / _POINTS_PER_HALVING, 9)
