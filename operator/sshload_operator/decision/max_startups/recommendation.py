"""The smallest MaxStartups that loses nothing of a load, with room to spare."""

from dataclasses import dataclass, replace
from math import ceil, inf

from sshload_operator.decision.max_startups.arrivals import Burst, LoginService, Steady, Users
from sshload_operator.decision.max_startups.fit import service_of
from sshload_operator.decision.max_startups.measured import Logins
from sshload_operator.decision.max_startups.occupancy import most_found, occupancy
from sshload_operator.decision.max_startups.setting import DEFAULT, MaxStartups

HEADROOM = 0.25
LOST_SHARE = 1e-6
"""`start` is so high that no more than this share of connections find as many unauthenticated ones."""


@dataclass(frozen=True, slots=True)
class Need:
    """The least `start` that loses nothing, without headroom; None where no setting does that.

    `per_s` connections come per second, and the server logs in `most_per_s` at most. Both are None in
    bursts, and with users, who wait. `start_if_waiting` is what it takes if logins wait for something else than each
    other, None where the target's CPU tells whether they do.
    """

    start: int | None
    per_s: float | None = None
    most_per_s: float | None = None
    start_if_waiting: int | None = None

    @property
    def use(self) -> float:
        """The share of the logins that the server can make which is asked of it, 0 where that is not known."""
        return 0.0 if self.per_s is None or self.most_per_s is None else self.per_s / self.most_per_s


def needed(logins: tuple[Logins, ...], setting: MaxStartups | None) -> Need:
    """Return what the most demanding of these logins need; `setting` is the one of the run, None if it is not known."""
    return max((_needed(one, setting) for one in logins), key=_demand)


def recommended(start: int) -> MaxStartups:
    """Return the setting for a `start` that is needed: with headroom, and else as sshd's default.

    `full` is only raised where `start` is above it: so many processes can be held by those who connect and do not log
    in.
    """
    raised = max(DEFAULT.start, ceil(start * (1 + HEADROOM)))
    return MaxStartups(raised, DEFAULT.rate, max(DEFAULT.full, raised))


def _demand(need: Need) -> float:
    return inf if need.start is None else need.start


def _needed(logins: Logins, setting: MaxStartups | None) -> Need:
    if isinstance(logins.arrivals, Burst):
        return Need(logins.arrivals.connections)
    arrivals = logins.arrivals if setting is not None else _accepted(logins.arrivals, logins)
    service = service_of(logins, arrivals, setting)
    start = _start(logins.arrivals, service)
    waiting = LoginService(logins.time_s, inf)
    is_known = logins.cpu_is_limited or service == waiting
    start_if_waiting = None if is_known else _start(logins.arrivals, waiting)
    if isinstance(logins.arrivals, Users):
        return Need(start, start_if_waiting=start_if_waiting)
    return Need(start, logins.arrivals.per_s, service.most_per_s, start_if_waiting)


def _start(arrivals: Steady, service: LoginService) -> int | None:
    found = occupancy(arrivals, service, None)
    return None if found is None else most_found(found, LOST_SHARE)


def _accepted(arrivals: Steady, logins: Logins) -> Steady:
    """Return the arrivals without those that were dropped, as if they had not come at all."""
    kept = 1 - logins.drop_share
    if isinstance(arrivals, Users):
        return replace(arrivals, away_s=(arrivals.away_s + logins.time_s * kept) / kept - logins.time_s)
    return replace(arrivals, per_s=arrivals.per_s * kept)
