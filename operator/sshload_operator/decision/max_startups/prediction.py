"""Prediction: the share of a run's connections that sshd's rule drops, and how much a run may differ from it."""

from dataclasses import dataclass, replace
from math import inf, sqrt

from sshload_operator.decision.max_startups.arrivals import (
    Burst,
    LoginService,
    Steady,
)
from sshload_operator.decision.max_startups.fit import service_of
from sshload_operator.decision.max_startups.measured import Logins
from sshload_operator.decision.max_startups.occupancy import occupancy
from sshload_operator.decision.max_startups.setting import MaxStartups, burst_drops

SHORTEST, LONGEST = 1 / 1.5, 1.25
"""The least and the most time for which sshd counts a connection, relative to the login time that clients measure.

The clients' time begins in sshd's listen queue and includes their own delays; sshd learns of a login after the client.
"""
STANDARD_DEVIATIONS = 4.0
FLOOR = 0.01
"""A difference in the share of drops that is too small to mention."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """The expected share of drops, and the bounds outside which sshd's rule does not explain the observed share."""

    dropped: float
    lowest: float
    highest: float

    def explains(self, observed: float) -> bool:
        """Return whether sshd's rule explains this share of drops."""
        return self.lowest <= observed <= self.highest


def predicted(logins: tuple[Logins, ...], setting: MaxStartups) -> Prediction | None:
    """Return the prediction for all logins together; None if the load has no steady state under this setting."""
    parts = [_one(one, setting) for one in logins]
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    weights = [one.attempted / sum(one.attempted for one in logins) for one in logins]
    sums = [
        sum(weight * getattr(part, name) for weight, part in zip(weights, found, strict=True))
        for name in ("dropped", "lowest", "highest")
    ]
    return Prediction(*sums)


def _one(logins: Logins, setting: MaxStartups) -> Prediction | None:
    match logins.arrivals:
        case Burst() as burst:
            return _of_bursts(burst, setting)
        case arrivals:
            found = _of_steady(logins, arrivals, setting, shared=True)
    if found is None:
        return None
    others = [
        _of_steady(replace(logins, time_s=logins.time_s * factor), arrivals, setting, shared=shared)
        for factor, shared in ((SHORTEST, False), (1, False), (LONGEST, False), (LONGEST, True))
    ]
    bounds = [found, *(other for other in others if other is not None)]
    return Prediction(found.dropped, min(one.lowest for one in bounds), max(one.highest for one in bounds))


def _of_bursts(burst: Burst, setting: MaxStartups) -> Prediction:
    drops = burst_drops(burst.connections, setting)
    return _with_noise(drops.dropped, drops.variance / burst.repeat)


def _of_steady(logins: Logins, arrivals: Steady, setting: MaxStartups, *, shared: bool) -> Prediction | None:
    """Return the prediction for a steady load, with the noise of single drops and that of the number of connections."""
    service = service_of(logins, arrivals, setting) if shared else LoginService(logins.time_s, inf)
    found = occupancy(arrivals, service, setting)
    if found is None:
        return None
    decisions = found.dropped * (1 - found.dropped) / logins.attempted
    numbers = found.dropped_variance * min(1.0, 2 * logins.time_s / logins.lasted_s)
    return _with_noise(found.dropped, decisions + numbers)


def _with_noise(dropped: float, variance: float) -> Prediction:
    reach = STANDARD_DEVIATIONS * sqrt(variance) + FLOOR
    return Prediction(dropped, dropped - reach, dropped + reach)
