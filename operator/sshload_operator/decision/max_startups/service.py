"""LoginService: how fast a server logs in those that it has accepted."""

from dataclasses import dataclass


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
