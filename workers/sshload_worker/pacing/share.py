"""Share: one worker's part of the load. TrialOrder: the trial that a load belongs to."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count, islice
from math import gcd
from typing import TypeVar

from sshload_contract.wire.run_config import RunConfig

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Share:
    """One worker's share: the elements `index`, `index + of`, `index + 2 * of` and so on of the whole schedule."""

    index: int
    of: int

    def take(self, items: Iterable[T]) -> Iterator[T]:
        """Yield this worker's elements of the whole schedule."""
        return islice(items, self.index, None, self.of)

    def turns(self, users: int) -> Iterator[int]:
        """Yield the numbers of this worker's iterations where they begin at its own pace, for so many users in turn.

        Those of all workers are different. Every `of`-th turn would be of the same users if their number has a divisor
        in common with `of`, and these would log in more often if this worker is faster than others. So after a lap the
        workers change places.
        """
        lap = users // gcd(users, self.of)
        return (self.of * own + (self.index + own // lap) % self.of for own in count())

    def owns(self, number: int) -> bool:
        """Return whether the element `number` of the whole schedule is this worker's."""
        return number % self.of == self.index

    def part(self, total: int) -> int:
        """Return this worker's part of `total`; the parts of all workers add up to it."""
        return total // self.of + (self.index < total % self.of)


@dataclass(frozen=True, slots=True)
class TrialOrder:
    """One trial, and the amount of its load. `number` counts the trials of a search from 1; any other trial is 0."""

    number: int
    amount: float

    def config(self, run: RunConfig) -> RunConfig:
        """Return the config of this trial: the run's, with this trial's load."""
        return replace(run, load=run.load.trial_at(self.amount))
