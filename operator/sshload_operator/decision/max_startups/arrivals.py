"""How connections arrive at sshd: the process of the load, with the measured rate."""

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
    """`users` users, each of whom connects again on average `away_s` seconds after it was logged in or dropped."""

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
    """A login takes `alone_s` by itself, and the server completes at most `most_per_s` logins per second.

    This is a server whose CPUs the logins share fairly. `most_per_s` is infinite if no number of logins slows it down.
    """

    alone_s: float
    most_per_s: float

    def logins_per_s(self, unauthenticated: int) -> float:
        """Return how many logins end per second while so many are in progress."""
        return min(unauthenticated / self.alone_s, self.most_per_s)
