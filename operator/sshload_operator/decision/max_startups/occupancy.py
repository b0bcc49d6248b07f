"""Occupancy: how many unauthenticated connections a new connection finds, and whether it is dropped.

sshd counts the connections that it has accepted and that are not logged in yet. It drops a new one with a probability
that depends only on this count, so the count is a birth-death process: births are the connections that are not dropped,
deaths the logins.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import accumulate
from math import exp, inf, log

from sshload_operator.decision.max_startups.arrivals import LoginService, Steady
from sshload_operator.decision.max_startups.even_arrivals import seen_by_even_arrivals, unauthenticated_between
from sshload_operator.decision.max_startups.setting import MaxStartups

_NEGLIGIBLE_LOG = log(1e-12)
_MOST_STATES = 50_000


@dataclass(frozen=True, slots=True)
class Occupancy:
    """`seen[n]` is the share of connections that find n others; `time_s` is how long an accepted one takes to log in.

    `dropped` is the share of connections that are dropped. `dropped_variance` is the variance of the drop probability
    between connections, and `mean` the average number of unauthenticated connections over time.
    """

    seen: tuple[float, ...]
    dropped: float
    dropped_variance: float
    mean: float
    time_s: float


def occupancy(arrivals: Steady, service: LoginService, setting: MaxStartups | None) -> Occupancy | None:
    """Return the occupancy in the steady state; with the setting None nothing is dropped.

    None if there is no steady state: more connections come than can be logged in, and too few are dropped to limit
    their number.
    """
    at_times = _birth_death(arrivals.born_per_s, service, setting)
    if at_times is None:
        return None
    if arrivals.is_even:
        return _found_evenly(len(at_times) - 1, arrivals.born_per_s(0), service, setting)
    seen, per_s = arrivals.seen(at_times)
    return _found(seen, at_times, per_s, setting)


def _birth_death(
    born_per_s: Callable[[int], float], service: LoginService, setting: MaxStartups | None
) -> list[float] | None:
    """Return the probability of each number of unauthenticated connections, from 0 on, at any time.

    This is the closed formula of a birth-death process: each probability is proportional to the product of the ratios
    of births to deaths up to its number. As in Erlang's loss system it holds for any distribution of login times.
    """
    if setting is None and born_per_s(_MOST_STATES) >= service.most_per_s:
        return None
    logs = [0.0]
    peak = 0.0
    while len(logs) <= _MOST_STATES:
        count = len(logs) - 1
        births = born_per_s(count) * (1 - _drop_share(setting, count))
        # The more there are, the fewer come and the more go: behind the peak all falls, to less than negligible.
        if births <= 0 or logs[-1] < peak + _NEGLIGIBLE_LOG:
            break
        logs.append(logs[-1] + log(births / service.logins_per_s(count + 1)))
        peak = max(peak, logs[-1])
    else:
        return None
    return _normalised([exp(value - peak) for value in logs])


def _found(seen: list[float], at_times: list[float], per_s: float, setting: MaxStartups | None) -> Occupancy:
    mean = sum(count * share for count, share in enumerate(at_times))
    drops = [_drop_share(setting, count) for count in range(len(seen))]
    dropped = sum(share * drop for share, drop in zip(seen, drops, strict=True))
    variance = sum(share * (drop - dropped) ** 2 for share, drop in zip(seen, drops, strict=True))
    accepted_per_s = per_s * (1 - dropped)
    return Occupancy(tuple(seen), dropped, variance, mean, mean / accepted_per_s if accepted_per_s > 0 else inf)


def _found_evenly(top: int, per_s: float, service: LoginService, setting: MaxStartups | None) -> Occupancy:
    """Return the occupancy for even arrivals, with numbers limited by those of a Poisson process of the same rate."""
    drops = [_drop_share(setting, count) for count in range(top + 1)]
    seen = seen_by_even_arrivals(drops, 1 / per_s, service)
    mean = sum(
        share * ((1 - drop) * unauthenticated_between(count + 1, 1 / per_s, service))
        + share * drop * unauthenticated_between(count, 1 / per_s, service)
        for count, (share, drop) in enumerate(zip(seen, drops, strict=True))
    )
    found = _found(seen, seen, per_s, setting)
    accepted_per_s = per_s * (1 - found.dropped)
    return Occupancy(found.seen, found.dropped, found.dropped_variance, mean, mean / accepted_per_s)


def most_found(found: Occupancy, share: float) -> int:
    """Return one more than the most that all but `share` of the connections find: drops may start at that number."""
    reversed_tails = accumulate(reversed(found.seen))
    beyond = sum(1 for tail in reversed_tails if tail <= share)
    return len(found.seen) - beyond


def _drop_share(setting: MaxStartups | None, count: int) -> float:
    return 0.0 if setting is None else setting.drop_share(count)


def _normalised(weights: Iterable[float]) -> list[float]:
    listed = list(weights)
    total = sum(listed)
    return [weight / total for weight in listed]
