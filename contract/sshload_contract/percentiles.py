"""Percentiles: how they are written, how many samples one needs, and how wide its confidence interval is.

Successive latencies are correlated: a busy neighbour or a full queue slows many in a row. A thousand of them say less
than a thousand independent ones, so an interval that assumes independence is too narrow. The method of batch means
(Law, Simulation Modeling and Analysis, section 9.5.3) estimates by how much: the time is divided into slices, and the
variance between slices is compared with that of independent events. Slices that are too short hide a correlation that
lasts longer than a slice, and too few slices give an uncertain estimate. So neighbouring slices are joined repeatedly,
and the widest interval counts.
"""

from collections.abc import Sequence
from math import ceil, log, sqrt

from sshload_contract.students_t import two_sided_t

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
"""The spread of a percentile is seldom above the first value if samples are independent. The rate of a closed load
varies less than independent events do, so a smaller factor already shows correlation."""


def percentile_key(percentile: float) -> str:
    """Return a percentile in its written form: "50", "99.9"."""
    return f"{percentile:.10g}"


def samples_needed(percentile: float) -> int:
    """Return how many samples a percentile (0 to 100, both excluded) needs before it may be shown.

    With fewer, the chance that even the largest sample lies below the true percentile exceeds 5 % (Wilks 1941): 5
    for the median, 29 for p90, 299 for p99, 2,995 for p99.9.
    """
    return ceil(log(_MISSED_SHARE) / log(percentile / 100))


def spread(weights: Sequence[float], counts: Sequence[float], independent_variance: float) -> float:
    """Return the factor, at least 1, by which to widen a 95 % interval that assumes independent events.

    `counts` are the events of each slice of time, in order. They are expected to be proportional to `weights`.
    `independent_variance` is the variance of their sum if they were independent. The factor includes Student's t for
    the small number of slices. It is 1 for fewer than FEWEST_SLICES slices. More than MOST_SLICES are joined first.
    """
    widest = 1.0
    while len(counts) > MOST_SLICES:
        weights, counts = _joined(weights), _joined(counts)
    while len(counts) >= FEWEST_SLICES and independent_variance > 0:
        widest = max(widest, sqrt(_seen_variance(weights, counts) / independent_variance))
        weights, counts = _joined(weights), _joined(counts)
    return widest


def variance_of_sum(weights: Sequence[float], counts: Sequence[float]) -> float:
    """Return the variance of the sum of counts over time, estimated from FEWEST_SLICES slices or a few more.

    Only deviations from the common rate per weight count as variance. The result includes Student's t for the small
    number of slices: 1.96 times its square root is half of a 95 % interval. Raises ValueError for fewer slices.
    """
    if len(counts) < FEWEST_SLICES:
        raise ValueError(f"{len(counts)} slices tell no variance: {FEWEST_SLICES} do")
    while len(counts) >= 2 * FEWEST_SLICES:
        weights, counts = _joined(weights), _joined(counts)
    return _seen_variance(weights, counts)


def failures_width(count: int, spread: float) -> float:
    """Return the factor by which to widen the 95 % interval of a number of failures, which come in bursts.

    A few bursts say little about the length of bursts, so the spread is then doubled. With these limits the intervals
    of `completedRate` contain the true value in 93 % of simulated runs of 1,000 arrivals that have bursts.
    """
    return spread if spread < _IS_ALIKE_OF_RATE or count / spread**2 >= _FEWEST_BURSTS else 2 * spread


def _seen_variance(weights: Sequence[float], counts: Sequence[float]) -> float:
    rate = sum(counts) / sum(weights)
    strays = sum((count - rate * weight) ** 2 for weight, count in zip(weights, counts, strict=True))
    return strays * len(counts) / (len(counts) - 1) * (two_sided_t(0.95, len(counts) - 1) / _Z_95) ** 2


def percentile_width(count: int, share: float, spread: float) -> float:
    """Return the factor by which to widen the 95 % interval of the percentile of a share.

    Correlated samples are worth their number divided by the square of the spread in independent samples. If that is
    few, the correlation lasts so long that the spread itself is uncertain, and it is doubled. With these limits the
    intervals of at least 300 samples contain the true value in 93 % of simulated runs.
    """
    worth = count / spread**2
    is_known = worth >= _FEWEST_LIKE_INDEPENDENT and worth * min(share, 1 - share) >= _FEWEST_BEYOND
    return spread if spread < _IS_ALIKE or is_known else 2 * spread


def rate_width(count: float, spread: float) -> float:
    """Return the factor by which to widen the 95 % interval of a closed load's rate, in the same way."""
    return spread if spread < _IS_ALIKE_OF_RATE or count / spread**2 >= _FEWEST_OF_RATE else 2 * spread


def _joined(values: Sequence[float]) -> list[float]:
    """Return the sums of pairs of neighbours; with an odd number of values the first is not paired."""
    odd = len(values) % 2
    return [*values[:odd], *(values[at] + values[at + 1] for at in range(odd, len(values), 2))]
