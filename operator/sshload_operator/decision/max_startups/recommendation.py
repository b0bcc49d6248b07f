"""The smallest MaxStartups that loses nothing of a load, with room to spare."""

from dataclasses import replace
from math import ceil

from sshload_operator.decision.max_startups.arrivals import Burst, Steady, Users
from sshload_operator.decision.max_startups.fit import fitted
from sshload_operator.decision.max_startups.measured import Logins
from sshload_operator.decision.max_startups.occupancy import most_found, occupancy
from sshload_operator.decision.max_startups.setting import DEFAULT, MaxStartups

HEADROOM = 0.25
LOST_SHARE = 1e-6
"""`start` is so high that no more than this share of connections find as many unauthenticated ones."""


def needed(logins: tuple[Logins, ...], setting: MaxStartups | None) -> int | None:
    """Return the least `start` that loses nothing, without headroom; None where no setting does that.

    `setting` is the one under which the logins were measured, None if it is not known.
    """
    each = [_needed(one, setting) for one in logins]
    found = [one for one in each if one is not None]
    return max(found) if len(found) == len(each) else None


def recommended(start: int) -> MaxStartups:
    """Return the setting for a `start` that is needed: with headroom, and else as sshd's default.

    `full` is only raised where `start` is above it: so many processes can be held by those who connect and do not log
    in.
    """
    raised = max(DEFAULT.start, ceil(start * (1 + HEADROOM)))
    return MaxStartups(raised, DEFAULT.rate, max(DEFAULT.full, raised))


def _needed(logins: Logins, setting: MaxStartups | None) -> int | None:
    if isinstance(logins.arrivals, Burst):
        return logins.arrivals.connections
    arrivals = logins.arrivals if setting is not None else _accepted(logins.arrivals, logins)
    service = fitted(arrivals, setting, logins.alone_s, logins.time_s)
    found = occupancy(logins.arrivals, service, None)
    return None if found is None else most_found(found, LOST_SHARE)


def _accepted(arrivals: Steady, logins: Logins) -> Steady:
    """Return the arrivals without those that were dropped, as if they had not come at all."""
    kept = 1 - logins.drop_share
    if isinstance(arrivals, Users):
        return replace(arrivals, away_s=(arrivals.away_s + logins.time_s * kept) / kept - logins.time_s)
    return replace(arrivals, per_s=arrivals.per_s * kept)
