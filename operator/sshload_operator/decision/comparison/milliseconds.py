"""The difference of a latency from the first variant's in milliseconds, over the rounds as for the ratio.

The ratio says how much slower a variant is. The milliseconds say how much it adds, which stays the same if the rest
becomes slower or faster. The difference is the mean of the rounds' differences. Its interval is over the rounds too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sshload_operator.decision.comparison.interval import interval

RESOLUTION = 0.001
"""The relative resolution of a latency: latencies are kept with three digits."""


@dataclass(frozen=True, slots=True)
class Milliseconds:
    """The mean of the rounds' differences in milliseconds, with the bounds of its 95 % interval; None if none is."""

    mean: float
    low: float | None
    high: float | None


def milliseconds_more(pairs: Sequence[tuple[float, float]], seed: int) -> Milliseconds | None:
    """Return by how many milliseconds the first latency of each round is longer than the second; None for no rounds."""
    if not pairs:
        return None
    differences = [our - their for our, their in pairs]
    mean = sum(differences) / len(differences)
    found = interval(differences, seed)
    if found is None:
        return Milliseconds(mean, None, None)
    least = RESOLUTION * max(sum(side) / len(pairs) for side in zip(*pairs, strict=True))
    return Milliseconds(mean, min(found.low, mean - least), max(found.high, mean + least))
