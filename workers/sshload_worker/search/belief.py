"""How likely each limit is, given the trials so far: a psychometric function, learnt by Bayes' rule.

The probability that a trial passes falls from near 1 to near 0 around the limit, over an unknown spread. In addition,
an unknown share of the trials far below the limit may fail (the lapses), and some trials have a random result. All
combinations of limit, spread and lapses are weighted together. In psychophysics this is the method of A. B. Watson,
"QUEST+" (Journal of Vision 17(3):10, 2017), with unknown lapses as in N. Prins, "The psi-marginal adaptive method"
(Journal of Vision 13(7):3, 2013).
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from math import erf, exp, log, sqrt
from operator import mul

from sshload_worker.search.ladder import Ladder

_SPREADS = ((0.1, 0.4), (0.4, 0.25), (1.0, 0.2), (2.0, 0.15))
"""Spreads in multiples of the precision, as standard deviations in log space, and their weights before any trial."""

_LARGEST_SPREAD = 0.1
"""This spread is always among those considered, however fine the precision is."""

_LAPSES = ((0.0, 0.6), (0.1, 0.2), (0.25, 0.2))
_FLAKES = 0.01
"""The share of trials that pass or fail at random, with equal probability."""

_OUTSIDE_FACTORS = (1.05, 1.2, 1.5, 2.0)
_OUTSIDE_WEIGHT = 0.1
"""The weight of all limits below the least load, and of all above the greatest. Those between have 1 together."""

_CERTAIN_AT = 4.0
"""At so many spreads from the limit, the probability is 0 or 1, apart from lapses and flakes."""


@dataclass(frozen=True, slots=True)
class Belief:
    """The probability of each of the possible limits, in ascending order. The first ones are below the least load."""

    ladder: Ladder
    limits: tuple[float, ...]
    probabilities: tuple[float, ...]

    @property
    def highest_likely(self) -> int:
        """The highest rung that is more likely below the limit than above it, -1 if not even the lowest is."""
        middle = bisect_left(tuple(accumulate(self.probabilities)), 0.5)
        return bisect_left(self.ladder.loads, self.limits[min(middle, len(self.limits) - 1)]) - 1

    def between(self, low: float, high: float) -> float:
        """Return the probability that the limit is from `low` to below `high`."""
        return sum(self.probabilities[bisect_left(self.limits, low) : bisect_left(self.limits, high)])


def believe(ladder: Ladder, precision: float, trials: Sequence[tuple[int, bool]]) -> Belief:
    """Return the belief after these trials: the rung of each, and whether it passed."""
    limits, weights = _limits(ladder), _weights(ladder, precision, tuple(trials))
    by_kind = (weights[start : start + len(limits)] for start in range(0, len(weights), len(limits)))
    by_limit = list(map(sum, zip(*by_kind, strict=True)))
    total = sum(by_limit)
    return Belief(ladder, limits, tuple(weight / total for weight in by_limit))


@lru_cache(maxsize=4)
def _weights(ladder: Ladder, precision: float, trials: tuple[tuple[int, bool], ...]) -> Sequence[float]:
    """Return the weight of each limit with the first kind of server, then with the next kind, and so on.

    This is cheap, because the previous call usually had all trials but the last one.
    """
    if not trials:
        prior = _prior(ladder)
        return [weight * of_limit for _, _, weight in _kinds(precision) for of_limit in prior]
    rung, passed = trials[-1]
    return list(map(mul, _weights(ladder, precision, trials[:-1]), _chances(ladder, precision, rung, passed=passed)))


@lru_cache(maxsize=16)
def _kinds(precision: float) -> tuple[tuple[float, float, float], ...]:
    """Return the kinds of servers: spread, share of lapses, weight."""
    finest = min(log(1 + precision), _LARGEST_SPREAD)
    spreads = [(times * finest, weight) for times, weight in _SPREADS]
    if spreads[-1][0] < _LARGEST_SPREAD:
        spreads.append((_LARGEST_SPREAD, spreads[-1][1]))
    return tuple((spread, lapses, one * other) for spread, one in spreads for lapses, other in _LAPSES)


@lru_cache(maxsize=16)
def _limits(ladder: Ladder) -> tuple[float, ...]:
    """Return one limit between each two neighbouring loads, and a few below and above all loads."""
    loads = ladder.loads
    below, above = reversed(_OUTSIDE_FACTORS), _OUTSIDE_FACTORS
    return (
        *(loads[0] / factor for factor in below),
        *(sqrt(low * high) for low, high in pairwise(loads)),
        *(loads[-1] * factor for factor in above),
    )


@lru_cache(maxsize=16)
def _prior(ladder: Ladder) -> tuple[float, ...]:
    """Return the weight of each limit before any trial: equal for equal ratios."""
    outside = [_OUTSIDE_WEIGHT / len(_OUTSIDE_FACTORS)] * len(_OUTSIDE_FACTORS)
    inside = [log(high / low) / log(ladder.loads[-1] / ladder.loads[0]) for low, high in pairwise(ladder.loads)]
    return (*outside, *inside, *outside)


@lru_cache(maxsize=32)
def _chances(ladder: Ladder, precision: float, rung: int, *, passed: bool) -> Sequence[float]:
    """Return the probability that a trial of this rung passes (or fails), for each kind of server and limit."""
    load, limits, chances = ladder.loads[rung], _limits(ladder), list[float]()
    for spread, lapses, _ in _kinds(precision):
        uncertain = exp(_CERTAIN_AT * spread)
        first, end = bisect_left(limits, load / uncertain), bisect_left(limits, load * uncertain)
        at_best = (1 - lapses) * (1 - _FLAKES)
        held = (0.5 * (1 + erf(log(limit / load) / (spread * sqrt(2)))) for limit in limits[first:end])
        passing = [share * at_best + _FLAKES / 2 for share in chain((0.0,), held, (1.0,))]
        below, *near, above = passing if passed else [1.0 - chance for chance in passing]
        chances += [below] * first + near + [above] * (len(limits) - end)
    return chances
