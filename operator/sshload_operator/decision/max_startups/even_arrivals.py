"""Evenly spaced connections: how many others each one finds, as a Markov chain from one connection to the next.

Between two of them every unauthenticated connection ends with the same probability, which is exact if logins do not
slow each other down. The count increases by at most one, so the balance across each number gives the probability of the
next lower one as a sum of positive terms: without iteration, and without loss of precision.
"""

from itertools import accumulate
from math import exp
from typing import Final

from sshload_operator.decision.max_startups.arrivals import LoginService

_NEGLIGIBLE: Final = 1e-18
_SCALED_FROM: Final = 1e200
_HALF: Final = 0.5


def seen_by_even_arrivals(drops: list[float], gap_s: float, service: LoginService) -> list[float]:
    """Return the share of connections that find each number of others; `drops[n]` is the probability of a drop then.

    The last index of `drops` is taken as the largest number that is ever found.
    """
    top = len(drops) - 1
    ended = [_tails(count, _end_probability(count, gap_s, service)) for count in range(top + 2)]
    weights = [0.0] * (top + 1)
    weights[top] = 1.0
    for count in range(top, 0, -1):
        rises = (1 - drops[count - 1]) * (1 - _at(ended[count], 1))
        if rises <= _NEGLIGIBLE:
            # Nothing comes up here from below, so what is above is never reached.
            weights[count - 1 :] = [1.0, *[0.0] * (top + 1 - count)]
            continue
        weights[count - 1] = _falling(count, weights, drops, ended) / rises
        # Only their ratios count.
        if weights[count - 1] > _SCALED_FROM:
            weights = [weight / weights[count - 1] for weight in weights]
    total = sum(weights)
    return [weight / total for weight in weights]


def unauthenticated_between(count: int, gap_s: float, service: LoginService) -> float:
    """Return the average number of unauthenticated connections over a gap that begins with `count`."""
    if count == 0:
        return 0.0
    ends_per_s = service.logins_per_s(count) / count
    return count * (1 - exp(-ends_per_s * gap_s)) / (ends_per_s * gap_s)


def _falling(count: int, weights: list[float], drops: list[float], ended: list[list[float]]) -> float:
    """Return the flow from `count` and above to below it."""
    flow = 0.0
    for above in range(count, len(weights)):
        fall = above - count + 1
        stays, comes = _at(ended[above], fall), _at(ended[above + 1], fall + 1)
        if stays <= _NEGLIGIBLE and comes <= _NEGLIGIBLE:
            break
        flow += weights[above] * (drops[above] * stays + (1 - drops[above]) * comes)
    return flow


def _end_probability(count: int, gap_s: float, service: LoginService) -> float:
    return 1 - exp(-gap_s * service.logins_per_s(count) / count) if count else 0.0


def _tails(count: int, probability: float) -> list[float]:
    """Return for k from 0 on the probability that at least k of `count` end, as far as it is not negligible."""
    if probability > _HALF:
        left = _masses(count, 1 - probability)
        masses = [0.0] * (count + 1)
        masses[count + 1 - len(left) :] = reversed(left)
    else:
        masses = _masses(count, probability)
    return list(accumulate(reversed(masses)))[::-1]


def _masses(count: int, probability: float) -> list[float]:
    """Return the binomial probabilities of 0, 1, ... of `count`, up to where they are negligible."""
    odds = probability / (1 - probability)
    masses = [(1 - probability) ** count]
    for k in range(count):
        masses.append(masses[-1] * odds * (count - k) / (k + 1))
        if masses[-1] < _NEGLIGIBLE and k > count * probability:
            break
    return masses


def _at(tails: list[float], k: int) -> float:
    return tails[k] if k < len(tails) else 0.0
