"""Wait in an event loop for a condition.

What has ended so far of some steps, as the client saw it: the server is a moment ahead of it, or behind.
"""

import asyncio
import time
from collections.abc import Callable, Mapping

from sshload_contract.vocabulary import Outcome

_WITHIN_S = 300.0
_LOOK_EVERY_S = 0.01


async def until(is_so: Callable[[], bool]) -> None:
    """Return once something is so; it fails where that takes longer than any machine does."""
    give_up_s = time.monotonic() + _WITHIN_S
    while not is_so():
        assert time.monotonic() < give_up_s
        await asyncio.sleep(_LOOK_EVERY_S)


class Heard:
    """Every sample of the steps that the recorder has to be told to tell (recording.recorder.Listener)."""

    def __init__(self, *steps: str) -> None:
        self.steps = self.at_once = steps
        self._latencies_us: dict[tuple[str, Outcome], list[int]] = {}

    def count(self, step: str, outcome: Outcome = Outcome.OK) -> int:
        """Return how many have ended so."""
        return len(self.latencies_us(step, outcome))

    def shortest_us(self, step: str) -> int:
        """Return the latency of the shortest that went well; raises ValueError where none has."""
        return min(self.latencies_us(step, Outcome.OK))

    def longest_us(self, step: str) -> int:
        """Return the latency of the longest that went well; raises ValueError where none has."""
        return max(self.latencies_us(step, Outcome.OK))

    def on_sample(self, step: str, outcome: Outcome, latency_us: int) -> None:
        """Note one."""
        self._latencies_us.setdefault((step, outcome), []).append(latency_us)

    def on_sum(self, step: str, outcome: Outcome, counts: Mapping[int, int]) -> None:
        """Take nothing: each was heard before."""

    def latencies_us(self, step: str, outcome: Outcome) -> list[int]:
        """Return the latencies of all that have ended so, in that order."""
        return self._latencies_us.get((str(step), outcome), [])
