"""A burst against MaxStartups: connection by connection, by how many of those before it were not dropped."""

from dataclasses import dataclass

from sshload_operator.decision.max_startups.setting import MaxStartups

_NEGLIGIBLE = 1e-15


@dataclass(frozen=True, slots=True)
class BurstDrops:
    """The share of a burst's connections that is dropped, on average, and its variance from burst to burst."""

    dropped: float
    variance: float


def burst_drops(connections: int, setting: MaxStartups) -> BurstDrops:
    """Return what becomes of `connections` at one instant: none is logged in before the last is accepted or dropped.

    The time is as `connections` times the width of the distribution.
    """
    certain = min(setting.start, connections)
    accepted = {certain: 1.0}
    for _ in range(connections - certain):
        accepted = _one_more(accepted, setting)
        if set(accepted) == {setting.full}:
            break
    mean = sum(count * share for count, share in accepted.items())
    variance = sum(share * (count - mean) ** 2 for count, share in accepted.items())
    return BurstDrops(1 - mean / connections, variance / connections**2)


def _one_more(accepted: dict[int, float], setting: MaxStartups) -> dict[int, float]:
    after: dict[int, float] = {}
    for count, share in accepted.items():
        drop = setting.drop_share(count)
        if drop > 0:
            after[count] = after.get(count, 0.0) + share * drop
        if drop < 1:
            after[count + 1] = after.get(count + 1, 0.0) + share * (1 - drop)
    return {count: share for count, share in after.items() if share > _NEGLIGIBLE}
