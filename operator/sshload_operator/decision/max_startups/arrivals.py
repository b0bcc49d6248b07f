"""How connections come to sshd: the load's own manner, and its rate as it was measured."""

from dataclasses import dataclass
from itertools import accumulate
from math import exp

_NEGLIGIBLE = 1e-18
_SCALED_FROM = 1e200
_HALF = 0.5


@dataclass(frozen=True, slots=True)
class Memoryless:
    """A Poisson process of `per_s` connections per second."""

    per_s: float


@dataclass(frozen=True, slots=True)
class Even:
    """Connections that are all `1 / per_s` seconds apart."""

    per_s: float


@dataclass(frozen=True, slots=True)
class Users:
    """`users` of whom each comes again `away_s` seconds after it was logged in or dropped, on average."""

    users: int
    away_s: float


@dataclass(frozen=True, slots=True)
class Burst:
    """`connections` at one instant, `repeat` times: none logs in before the last of them is accepted or dropped."""

    connections: int
    repeat: int


Steady = Memoryless | Even | Users
Arrivals = Steady | Burst


@dataclass(frozen=True, slots=True)
class LoginService:
    """A login takes `alone_s` by itself, and all of them together end at most at `most_per_s` logins per second.

    That is a server whose CPUs the logins share fairly. It is infinite for one that no number of logins slows down.
    """

    alone_s: float
    most_per_s: float

    def logins_per_s(self, unauthenticated: int) -> float:
        """Return how many logins end per second while so many are under way."""
        return min(unauthenticated / self.alone_s, self.most_per_s)


def seen_by_even_arrivals(drops: list[float], gap_s: float, service: LoginService) -> list[float]:
    """Return the share of connections that find each number; `drops[n]` is the probability of a drop there.

    The last of `drops` is taken to be the most that is ever found.
    """
    top = len(drops) - 1
    ended = [_tails(count, _end_probability(count, gap_s, service)) for count in range(top + 2)]
    weights = [0.0] * (top + 1)
    weights[top] = 1.0
    for count in range(top, 0, -1):
        rises = (1 - drops[count - 1]) * (1 - _at(ended[count], 1))
        if rises <= _NEGLIGIBLE:
            weights[count:] = [0.0] * (top + 1 - count)
            weights[count - 1] = 1.0
            continue
        weights[count - 1] = _falling(count, weights, drops, ended) / rises
        if weights[count - 1] > _SCALED_FROM:
            weights = [weight / weights[count - 1] for weight in weights]
    total = sum(weights)
    return [weight / total for weight in weights]


def unauthenticated_between(count: int, gap_s: float, service: LoginService) -> float:
    """Return how many there are on average over a gap that begins with `count`."""
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
