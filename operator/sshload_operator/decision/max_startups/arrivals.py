"""How connections arrive at sshd: the process of the load, with the measured rate."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self


@dataclass(frozen=True, slots=True)
class Memoryless:
    """A Poisson process of `per_s` connections per second."""

    is_even: ClassVar[bool] = False
    per_s: float

    def born_per_s(self, unauthenticated: int) -> float:
        """Return how many connections come per second while so many are unauthenticated."""
        del unauthenticated
        return self.per_s

    def seen(self, at_times: list[float]) -> tuple[list[float], float]:
        """Return the share of connections that find each number of others, which has a probability at any time.

        Also return how many connections come per second on average.
        """
        return at_times, self.per_s

    def without_drops(self, kept: float) -> Self:
        """Return the arrivals without the dropped ones, as if only the share `kept` had come."""
        return replace(self, per_s=self.per_s * kept)


@dataclass(frozen=True, slots=True)
class Even(Memoryless):
    """Connections that are all `1 / per_s` seconds apart."""

    is_even: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Users:
    """`users` users, each of whom connects again on average `away_s` seconds after it was logged in or dropped."""

    is_even: ClassVar[bool] = False
    per_s: ClassVar[None] = None
    users: int
    away_s: float

    def born_per_s(self, unauthenticated: int) -> float:
        """Return how many connections the users who are away begin per second."""
        return max(self.users - unauthenticated, 0) / self.away_s

    def seen(self, at_times: list[float]) -> tuple[list[float], float]:
        """Return each number weighted by the users who are left to find it, and the average rate."""
        weights = [share * self.born_per_s(count) for count, share in enumerate(at_times)]
        total = sum(weights)
        return [weight / total for weight in weights], total

    def without_drops(self, kept: float) -> Self:
        """Return users who are away for the whole time between two connections that are not dropped."""
        return replace(self, away_s=self.away_s / kept)


@dataclass(frozen=True, slots=True)
class Burst:
    """`connections` at one instant, `repeat` times: none logs in before the last of them is accepted or dropped."""

    connections: int
    repeat: int


Steady = Memoryless | Users
Arrivals = Steady | Burst


@dataclass(frozen=True, slots=True)
class LoginService:
    """A login takes `alone_s` by itself, and the server completes at most `most_per_s` logins per second.

    This is a server whose CPUs the logins share fairly. `most_per_s` is infinite if no number of logins slows it down.
    """

    alone_s: float
    most_per_s: float

    def logins_per_s(self, unauthenticated: int) -> float:
        """Return how many logins end per second while so many are in progress."""
        return min(unauthenticated / self.alone_s, self.most_per_s)
