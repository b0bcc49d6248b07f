"""Turns at something that costs: who asks for many of them takes only their own."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

_LINES_KEPT: Final = 1_000


@dataclass(slots=True)
class _Line:
    """Those of one party, who wait for one another."""

    free: asyncio.Lock = field(default_factory=asyncio.Lock)
    length: int = 0
    rests_until_s: float = 0.0


class Turns:
    """Each party has one turn at a time, and `at_once` of them have one. A party rests for `rest_s` after each turn."""

    def __init__(self, at_once: int, rest_s: float = 0.0) -> None:
        self._at_once = asyncio.Semaphore(at_once)
        self._rest_s = rest_s
        self._lines: dict[Hashable, _Line] = {}

    def waiting(self, party: Hashable) -> int:
        """Return how many of a party wait, or have their turn."""
        line = self._lines.get(party)
        return 0 if line is None else line.length

    @asynccontextmanager
    async def turn(self, party: Hashable) -> AsyncIterator[None]:
        """Wait for a turn, and have it. Since a party waits for itself first, parties take turns with one another."""
        if len(self._lines) >= _LINES_KEPT:
            self._forget_rested()
        line = self._lines.setdefault(party, _Line())
        line.length += 1
        try:
            async with line.free:
                await asyncio.sleep(max(0.0, line.rests_until_s - time.monotonic()))
                try:
                    async with self._at_once:
                        yield
                finally:
                    line.rests_until_s = time.monotonic() + self._rest_s
        finally:
            line.length -= 1

    def _forget_rested(self) -> None:
        now_s = time.monotonic()
        idle = [party for party, line in self._lines.items() if not line.length and line.rests_until_s <= now_s]
        for party in idle:
            del self._lines[party]


class SharedRoom:
    """Room for `at_once` at a time. A party may have all of it, but what is freed goes from party to party."""

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._lines: dict[Hashable, deque[asyncio.Future[None]]] = {}  # the party whose turn is next is first

    @property
    def is_full(self) -> bool:
        """Whether whoever comes now has to wait."""
        return not self._free

    @asynccontextmanager
    async def place(self, party: Hashable) -> AsyncIterator[None]:
        """Wait for a place, and have it: behind all of the same party, and of each other one behind one at most."""
        if self._free:
            self._free -= 1
        else:
            await self._wait(party)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, party: Hashable) -> None:
        given = asyncio.get_running_loop().create_future()
        self._lines.setdefault(party, deque()).append(given)
        try:
            await given
        except asyncio.CancelledError:
            if not given.cancelled():  # it was given before
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        while self._lines:
            party = next(iter(self._lines))
            line = self._lines.pop(party)
            given = line.popleft()
            if line:
                self._lines[party] = line
            if not given.done():
                given.set_result(None)
                return
        self._free += 1
