"""The 95 % confidence interval of the mean of a few differences: the bootstrap, corrected for their small number.

Each difference is that of one round: of two logarithms for a ratio, or of two shares. The rounds are resampled. With
few rounds the plain percentile bootstrap is too narrow: with three rounds, resampled means are always within the range
of the three differences, which covers the true value in 75 % of all cases and not in 95 %. That holds for every
interval that only takes other quantiles of the same distribution (BCa; the expanded percentiles of Hesterberg 2015). So
the interval is stretched about the mean instead, by the factor that would make it Student's if the differences were
normal: the root of n/(n-1), because the resampled spread is too small by that, times t over z. This keeps the skew of
the differences. Its coverage is tested by simulation (docs/design/20261121-comparisons.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, combinations_with_replacement
from math import comb, factorial, prod, sqrt
from operator import mul
from random import Random
from statistics import NormalDist

from sshload_contract.students_t import two_sided_t

CONFIDENCE = 0.95
FEWEST_ROUNDS = 3
_DRAWN = 1_000
_TAIL = (1 - CONFIDENCE) / 2
Resample = tuple[tuple[int, ...], float]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, and the bounds of its 95 % confidence interval."""

    mean: float
    low: float
    high: float


def interval(differences: Sequence[float], seed: int) -> Interval | None:
    """Return the interval of the mean of the differences; None for fewer than three, which say nothing.

    The same differences and seed give the same interval. For up to six rounds every possible resample is used, so the
    seed does not matter.
    """
    rounds = len(differences)
    if rounds < FEWEST_ROUNDS:
        return None
    mean = sum(differences) / rounds
    means = sorted((sum(map(mul, differences, counts)) / rounds, share) for counts, share in _resamples(rounds, seed))
    stretch = _stretch(rounds)
    low, high = _quantile(means), _quantile(means[::-1])
    return Interval(mean, mean + stretch * min(0.0, low - mean), mean + stretch * max(0.0, high - mean))


def _stretch(rounds: int) -> float:
    z = NormalDist().inv_cdf(1 - _TAIL)
    return sqrt(rounds / (rounds - 1)) * two_sided_t(CONFIDENCE, rounds - 1) / z


@lru_cache(maxsize=2)
def _resamples(rounds: int, seed: int) -> tuple[Resample, ...]:
    """Return for each resample how often it takes each round, and its share of all resamples."""
    if comb(2 * rounds - 1, rounds) > _DRAWN:
        random = Random(seed)  # noqa: S311 - repeatable, and nothing secret
        drawn = (random.choices(range(rounds), k=rounds) for _ in range(_DRAWN))
        return tuple((_counts(indexes, rounds), 1 / _DRAWN) for indexes in drawn)
    every = (_counts(indexes, rounds) for indexes in combinations_with_replacement(range(rounds), rounds))
    ways = factorial(rounds)
    # Multinomial: in how many of the rounds ** rounds draws each round comes so often.
    return tuple((counts, ways / prod(map(factorial, counts)) / rounds**rounds) for counts in every)


def _counts(indexes: Sequence[int], rounds: int) -> tuple[int, ...]:
    return tuple(indexes.count(index) for index in range(rounds))


def _quantile(means: Sequence[tuple[float, float]]) -> float:
    """Return the first mean, in the given order, at which the tail is reached."""
    reached = accumulate(share for _, share in means)
    return next(mean for (mean, _), share in zip(means, reached, strict=True) if share >= _TAIL)
