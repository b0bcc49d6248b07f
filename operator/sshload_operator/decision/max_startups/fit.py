"""Fit the LoginService that explains how long logins took under a load."""

from functools import lru_cache
from math import inf, sqrt
from typing import Final

from sshload_operator.decision.max_startups.arrivals import (
    LoginService,
    Steady,
)
from sshload_operator.decision.max_startups.measured import Logins
from sshload_operator.decision.max_startups.occupancy import occupancy
from sshload_operator.decision.max_startups.setting import MaxStartups

_PRECISION: Final = 0.002
_CPU_IN_DOUBT: Final = 0.8
_FASTEST: Final = 1_000_000
_FINEST: Final = 1e-6
_KEPT: Final = 16


def service_of(logins: Logins, arrivals: Steady, setting: MaxStartups | None) -> LoginService:
    """Return the service that explains how long these logins took.

    If the fitted service would be saturated before the target's CPU, logins took longer than the shortest one because
    they waited for something else (PAM, LDAP, distance), which no number of logins slows down.
    """
    shared = fitted(arrivals, setting, logins.alone_s, logins.time_s)
    if logins.cpu_allows_per_s is None or shared.most_per_s >= logins.cpu_allows_per_s * _CPU_IN_DOUBT:
        return shared
    return LoginService(logins.time_s, inf)


@lru_cache(maxsize=_KEPT)
def fitted(arrivals: Steady, setting: MaxStartups | None, alone_s: float, time_s: float) -> LoginService:
    """Return the service that takes `alone_s` for a login by itself, and on average `time_s` under this load.

    If a login alone took as long, sharing does not explain it: it is a service that takes `time_s`, and that no number
    of logins slows down.
    """
    if alone_s >= time_s * (1 - _PRECISION):
        return LoginService(time_s, inf)
    fast = slow = LoginService(alone_s, _FASTEST / alone_s)
    while _time_s(arrivals, setting, slow) < time_s:
        slow, fast = LoginService(alone_s, slow.most_per_s / 4), slow
    return _between(arrivals, setting, time_s, (slow, fast))


def _between(
    arrivals: Steady, setting: MaxStartups | None, time_s: float, bounds: tuple[LoginService, LoginService]
) -> LoginService:
    """Return the service whose logins take `time_s`, by bisection between two services."""
    slow, fast = bounds
    while slow.most_per_s < fast.most_per_s * (1 - _FINEST):
        middle = LoginService(slow.alone_s, sqrt(slow.most_per_s * fast.most_per_s))
        took_s = _time_s(arrivals, setting, middle)
        if abs(took_s - time_s) <= time_s * _PRECISION:
            return middle
        slow, fast = (middle, fast) if took_s > time_s else (slow, middle)
    return fast


def _time_s(arrivals: Steady, setting: MaxStartups | None, service: LoginService) -> float:
    found = occupancy(arrivals, service, setting)
    return inf if found is None else found.time_s
