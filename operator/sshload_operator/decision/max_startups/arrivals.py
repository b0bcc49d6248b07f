"""How connections come to sshd: the load's own manner, and its rate as it was measured."""

from dataclasses import dataclass


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
