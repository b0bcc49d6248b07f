"""Share: one worker's part of the load. TrialOrder: the trial that a load belongs to."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
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
