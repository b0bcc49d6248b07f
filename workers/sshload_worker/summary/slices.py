"""Slices: the latencies of the measured window by time, as far as it takes to see whether neighbours are alike."""

from collections import Counter
from dataclasses import dataclass, field

from sshload_contract.percentiles import MOST_SLICES, spread

from sshload_worker.recording.histogram import LatencyHistogram

_KEPT_BITS = 6

Slice = dict[str, Counter[int]]


@dataclass(slots=True)
class Slices:
    """The latencies of each step in up to MOST_SLICES slices of equal length; more become half as many.

    The time is counted in reports, because all workers report at the same pace. Buckets are 1/32 of their values wide
    at most, which is enough to count how many lie below a percentile. The order of the additions does not matter.
    """

    _slices: dict[int, Slice] = field(default_factory=dict)
    _joins: int = 0

    def add(self, sequence: int, step: str, latencies: LatencyHistogram) -> None:
        """Add latencies that a worker's report of this number brought."""
        _add_coarse(self._slice(sequence >> self._joins, step), latencies)
        while len(self._slices) > MOST_SLICES:
            self._join()

    def spread(self, step: str, percentile: float) -> float:
        """Return by what factor to widen the interval of a step's percentile that takes its latencies for independent.

        It is 1 at least, and 1 where there are too few latencies or slices to tell.
        """
        counted = [found[step] for _, found in sorted(self._slices.items()) if step in found]
        weights = [sum(latencies.values()) for latencies in counted]
        all_latencies: Counter[int] = Counter()
        for latencies in counted:
            all_latencies.update(latencies)
        bucket = _bucket_at(all_latencies, percentile / 100)
        below = [sum(count for floor, count in latencies.items() if floor <= bucket) for latencies in counted]
        whole, share = sum(weights), sum(below) / sum(weights) if counted else 0.0
        return spread(weights, below, whole * share * (1 - share))

    def _join(self) -> None:
        before, self._slices = self._slices, {}
        self._joins += 1
        for index, found in before.items():
            for step, latencies in found.items():
                self._slice(index >> 1, step).update(latencies)

    def _slice(self, index: int, step: str) -> Counter[int]:
        return self._slices.setdefault(index, {}).setdefault(step, Counter())


def _add_coarse(counts: Counter[int], latencies: LatencyHistogram) -> None:
    for floor, count in latencies.counts.items():
        shift = floor.bit_length() - _KEPT_BITS
        coarse = floor >> shift << shift if shift > 0 else floor
        counts[coarse] = counts.get(coarse, 0) + count  # what Counter itself would do takes three times as long


def _bucket_at(latencies: Counter[int], share: float) -> int:
    """Return the bucket at whose end the share of latencies comes nearest to this one; 0 without latencies."""
    whole, passed = latencies.total(), 0
    best, distance = 0, 1.0
    for floor in sorted(latencies):
        passed += latencies[floor]
        if abs(passed / whole - share) < distance:
            best, distance = floor, abs(passed / whole - share)
    return best
