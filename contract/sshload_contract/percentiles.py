"""Percentiles: how they are written, how many samples one needs, and how wide its confidence interval is.

Latencies that follow each other are alike: a busy neighbour or a full queue slows many in a row. A thousand such say
less than a thousand independent ones, so that an interval which takes them for independent is too narrow. Batch means
(Law, Simulation Modeling and Analysis, section 9.5.3) find out by how much: the time is cut into slices, and how the
slices differ is compared with how independent events would differ. Slices that are too short hide a dependence that
lasts longer than they do, and too few of them leave it to chance. So neighbours are joined again and again, and the
widest interval counts.
"""

from collections.abc import Sequence
from math import ceil, log, sqrt

_MISSED_SHARE = 0.05

FEWEST_SLICES = 8
MOST_SLICES = 32
_Z_95 = 1.96
_FEWEST_LIKE_INDEPENDENT = 100
_FEWEST_BEYOND = 5
_FEWEST_OF_RATE = 250
_FEWEST_BURSTS = 10
_IS_ALIKE = 1.8
_IS_ALIKE_OF_RATE = 1.3
"""A percentile's spread is seldom above the first without dependence. A closed load's rate varies less than events that
are independent, so a smaller factor already shows dependence."""


def percentile_key(percentile: float) -> str:
    """Return a percentile as it is written: "50", "99.9"."""
    return f"{percentile:.10g}"


def samples_needed(percentile: float) -> int:
    """Return how many samples a percentile (0 to 100, both excluded) needs before it may be shown.

    With fewer, the chance that even the largest sample lies below the true percentile exceeds 5 % (Wilks 1941): 5
    for the median, 29 for p90, 299 for p99, 2,995 for p99.9.
    """
    return ceil(log(_MISSED_SHARE) / log(percentile / 100))


def spread(weights: Sequence[float], counts: Sequence[float], independent_variance: float) -> float:
    """Return by what factor to widen a 95 % interval that takes events for independent; 1 at least.

    `counts` are the events of each slice of time, in their order, of `weights` that they are expected to be
    proportional to; `independent_variance` is that of their sum if they were independent. The factor holds Student's t
    for the few slices that there are; it is 1 for fewer than FEWEST_SLICES slices. More than
    MOST_SLICES are joined beforehand.
    """
    widest = 1.0
    while len(counts) > MOST_SLICES:
        weights, counts = _joined(weights), _joined(counts)
    while len(counts) >= FEWEST_SLICES and independent_variance > 0:
        widest = max(widest, sqrt(_seen_variance(weights, counts) / independent_variance))
        weights, counts = _joined(weights), _joined(counts)
    return widest


def variance_of_sum(weights: Sequence[float], counts: Sequence[float]) -> float:
    """Return the variance of the sum of counts over time, as FEWEST_SLICES slices of them or some more show it.

    What the counts have in common per weight is no variance. The result holds Student's t for the few slices, so that
    1.96 of its roots are a 95 % interval. Raises ValueError for fewer slices.
    """
    if len(counts) < FEWEST_SLICES:
        raise ValueError(f"{len(counts)} slices tell no variance: {FEWEST_SLICES} do")
    while len(counts) >= 2 * FEWEST_SLICES:
        weights, counts = _joined(weights), _joined(counts)
    return _seen_variance(weights, counts)


def failures_width(count: int, spread: float) -> float:
    """Return by what factor to widen the 95 % interval of a number of failures, which come in bursts.

    A few bursts show little of how long bursts are, so the spread is doubled. The limits are those at which the
    intervals of `completedRate` hold the truth in 93 % of simulated runs of 1,000 arrivals that see bursts.
    """
    return spread if spread < _IS_ALIKE_OF_RATE or count / spread**2 >= _FEWEST_BURSTS else 2 * spread


def _seen_variance(weights: Sequence[float], counts: Sequence[float]) -> float:
    rate = sum(counts) / sum(weights)
    strays = sum((count - rate * weight) ** 2 for weight, count in zip(weights, counts, strict=True))
    return strays * len(counts) / (len(counts) - 1) * _t_over_z(len(counts) - 1) ** 2


def percentile_width(count: int, share: float, spread: float) -> float:
    """Return by what factor to widen the 95 % interval of the percentile of a share.

    Where samples are alike, they are worth as many independent ones as the spread's square divides them to. If these
    are few, what is alike lasts so long that the spread itself is known badly, and is doubled. The limits are those at
    which intervals of 300 samples or more hold the truth in 93 % of simulated runs.
    """
    worth = count / spread**2
    is_known = worth >= _FEWEST_LIKE_INDEPENDENT and worth * min(share, 1 - share) >= _FEWEST_BEYOND
    return spread if spread < _IS_ALIKE or is_known else 2 * spread


def rate_width(count: float, spread: float) -> float:
    """Return by what factor to widen the 95 % interval of a closed load's rate, in the same way."""
    return spread if spread < _IS_ALIKE_OF_RATE or count / spread**2 >= _FEWEST_OF_RATE else 2 * spread


def _joined(values: Sequence[float]) -> list[float]:
    """Return the sums of neighbours; the first stands alone where there is an odd number."""
    odd = len(values) % 2
    return [*values[:odd], *(values[at] + values[at + 1] for at in range(odd, len(values), 2))]


def _t_over_z(degrees: int) -> float:
    """Return the 97.5 % quantile of Student's t over that of the normal distribution (Abramowitz and Stegun 26.7.5)."""
    z = _Z_95
    first = (z**2 + 1) / 4
    second = (5 * z**4 + 16 * z**2 + 3) / 96
    third = (3 * z**6 + 19 * z**4 + 17 * z**2 - 15) / 384
    return 1 + first / degrees + second / degrees**2 + third / degrees**3
