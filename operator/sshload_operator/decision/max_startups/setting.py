"""MaxStartups of sshd_config(5), and sshd's rule for dropping a connection."""

from dataclasses import dataclass

from sshload_operator.api.sshd import Sshd

_PERCENT = 100
_NEGLIGIBLE = 1e-15


@dataclass(frozen=True, slots=True)
class MaxStartups:
    """`start:rate:full`: from `start` unauthenticated connections on, sshd drops `rate` % of the new ones.

    The share increases linearly to 100 % at `full`. `start` is at most `full`, `rate` is 1 to 100.
    """

    start: int
    rate: int
    full: int

    def __str__(self) -> str:
        return f"{self.start}:{self.rate}:{self.full}"

    def drop_percent(self, unauthenticated: int) -> int:
        """Return the probability, in whole percent, that a connection is dropped which finds so many others.

        This is should_drop_connection in sshd.c of OpenSSH, which is the same in 8.4 to 10.5: it computes with
        integers, so the quotient is truncated, and compares with a random number from 0 to 99.
        """
        if unauthenticated < self.start:
            return 0
        if unauthenticated >= self.full or self.rate == _PERCENT:
            return _PERCENT
        grown = (_PERCENT - self.rate) * (unauthenticated - self.start) // (self.full - self.start)
        return grown + self.rate

    def drop_share(self, unauthenticated: int) -> float:
        """Return the same probability as a fraction of 1."""
        return self.drop_percent(unauthenticated) / _PERCENT


DEFAULT = MaxStartups(10, 30, 100)
"""fill_default_server_options in servconf.c."""


def setting_of(sshd: Sshd) -> MaxStartups:
    """Return the MaxStartups setting of a managed sshd."""
    return DEFAULT if sshd.max_startups is None else read(sshd.max_startups)


def read(text: str) -> MaxStartups:
    """Return the setting of a text such as 10:30:100 that the parser of specs has accepted."""
    start, rate, full = (int(number) for number in text.split(":"))
    return MaxStartups(start, rate, full)


@dataclass(frozen=True, slots=True)
class BurstDrops:
    """The average share of a burst's connections that are dropped, and its variance between bursts."""

    dropped: float
    variance: float


def burst_drops(connections: int, setting: MaxStartups) -> BurstDrops:
    """Return the drops of a burst of `connections`: none is logged in before the last is accepted or dropped.

    The time complexity is `connections` times the width of the distribution.
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
