"""sshd's count of unauthenticated connections, played event by event with a seed: the brute force beside the formulas.

A login is an amount of work, drawn at random. All connections that are under way share the server fairly: each
advances at the same speed, which falls where there are more than the server can take at once.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from random import Random

from sshload_operator.decision.max_startups.arrivals import LoginService
from sshload_operator.decision.max_startups.setting import MaxStartups

Works = Callable[[Random], float]
"""Draws how long a login would take by itself, in units of the service's `alone_s`: 1 on average."""


def seeded(seed: str) -> Random:
    """Return a source of numbers that are the same in every run."""
    return Random(seed)  # noqa: S311 - chance, no secrets


def even_works(_: Random) -> float:
    """Return the same work for all."""
    return 1.0


def exponential_works(random: Random) -> float:
    """Return memoryless works."""
    return random.expovariate(1.0)


def uneven_works(random: Random) -> float:
    """Return works of which one in ten is long."""
    return 0.2 if random.random() < 0.9 else 8.2


@dataclass
class Played:
    """What was counted: of the connections that came, how many were dropped, and what they found."""

    attempted: int = 0
    dropped: int = 0
    found: int = 0
    logged_in: int = 0
    took_s: float = 0.0

    @property
    def drop_share(self) -> float:
        """The share that was dropped."""
        return self.dropped / self.attempted


class SshdQueue:
    """The connections under way. `now_s` moves only forwards."""

    def __init__(self, service: LoginService, setting: MaxStartups, works: Works, random: Random) -> None:
        self._service = service
        self._setting = setting
        self._works = works
        self._random = random
        self._under_way: list[tuple[float, int, float]] = []
        self._done_each = 0.0
        self._numbers = count()
        self.now_s = 0.0
        self.played = Played()

    def next_end_s(self) -> float | None:
        """Return when the next login ends, if no other connection comes before."""
        if not self._under_way:
            return None
        return self.now_s + (self._under_way[0][0] - self._done_each) / self._speed()

    def advance(self, to_s: float) -> Iterator[float]:
        """Let time pass, and yield each instant at which a login ends."""
        while (end_s := self.next_end_s()) is not None and end_s <= to_s:
            self._done_each, _, since_s = heappop(self._under_way)
            self.now_s = end_s
            self.played.logged_in += 1
            self.played.took_s += end_s - since_s
            yield end_s
        if self._under_way:
            self._done_each += (to_s - self.now_s) * self._speed()
        self.now_s = to_s

    def connect(self) -> bool:
        """Let a connection come now, and return whether it is accepted: should_drop_connection of sshd.c."""
        unauthenticated = len(self._under_way)
        self.played.attempted += 1
        self.played.found += unauthenticated
        if self._random.randrange(100) < self._setting.drop_percent(unauthenticated):
            self.played.dropped += 1
            return False
        heappush(self._under_way, (self._done_each + self._works(self._random), next(self._numbers), self.now_s))
        return True

    def _speed(self) -> float:
        under_way = len(self._under_way)
        return self._service.logins_per_s(under_way) / under_way


def play(gaps_s: Iterator[float], queue: SshdQueue) -> Played:
    """Let connections come with these gaps."""
    for gap_s in gaps_s:
        for _ in queue.advance(queue.now_s + gap_s):
            pass
        queue.connect()
    return queue.played


def play_users(users: int, away_s: Callable[[], float], connections: int, queue: SshdQueue) -> Played:
    """Let users come again each time that they were logged in or dropped, and then away, until so many have come."""
    coming: list[float] = sorted(away_s() for _ in range(users))
    while queue.played.attempted < connections:
        end_s = queue.next_end_s()
        if end_s is not None and (not coming or end_s <= coming[0]):
            for at_s in queue.advance(end_s):
                heappush(coming, at_s + away_s())
            continue
        for at_s in queue.advance(heappop(coming)):
            heappush(coming, at_s + away_s())
        if not queue.connect():
            heappush(coming, queue.now_s + away_s())
    return queue.played
