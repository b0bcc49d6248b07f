"""Search: the search for the capacity, the highest load that meets all thresholds, as the load of a run."""

from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, log, log2, sqrt
from typing import TYPE_CHECKING, ClassVar, Final, Literal, Self

from sshload_contract.load.kinds import SearchedLoad

if TYPE_CHECKING:
    from sshload_contract.load.replay import TraceRef

# Of docs/design/20261121-the-search.md: how the loads grow until one fails, and how near neighbours are.
GROWTH: Final = 8.0
STEPS_PER_PRECISION: Final = 2


@dataclass(frozen=True, slots=True)
class Search:
    """One trial after another, from the load `least` to the amount `most` of it, both included.

    The amount is arrivals per second, an amplification, users, connections of a burst or held sessions; all but the
    first two are whole numbers. The search ends when the bounds differ by at most `precision` (0.05: 5 %) and each is
    confirmed by `confirm` further trials. No trial is started that would end later than `budget_s` after the start of
    the first.

    It answers what a run asks of its load as a fixed load does (`LoadModel`).
    """

    kind: ClassVar[str] = "capacity"
    is_search: ClassVar[Literal[True]] = True
    largest_words: ClassVar[str] = "the largest trial of spec.load.capacity"
    lower_words: ClassVar[str] = "lower its max"
    can_end_early: ClassVar[bool] = False
    least: SearchedLoad
    most: float
    precision: float
    confirm: int
    budget_s: float

    @property
    def field(self) -> str:
        """The field of a spec that states it."""
        return f"load.{self.kind}.{self.least.kind}"

    @property
    def unit(self) -> str:
        """What the amount counts."""
        return self.least.unit

    @property
    def largest(self) -> SearchedLoad:
        """The load of its largest trial."""
        return self.trial_at(self.most)

    @property
    def recorded(self) -> "TraceRef | None":
        """The trace that its trials play, None if they play none."""
        return self.least.recorded

    @property
    def identity(self) -> str:
        """What two searches have in common whose capacities can be compared."""
        return f"a search by trials such as {self.trial_at(1).words}"

    @property
    def likely_trials(self) -> int:
        """How many trials it takes if they never contradict each other, but for a few at most."""
        grown = [self.least.amount]
        while grown[-1] < self.most:
            grown.append(min(grown[-1] * GROWTH ** len(grown), self.most))
        gaps = [self._steps(low, high) for low, high in pairwise(grown)]
        halves = ceil(log2(max([1.0, *gaps])))
        bounds = 2 if gaps else 1
        return len(grown) + halves + bounds * self.confirm

    def _steps(self, low: float, high: float) -> float:
        """Return how many steps it may tell apart between two amounts; whole ones are at least 1 apart."""
        ratio = (1 + self.precision) ** (1 / STEPS_PER_PRECISION)
        dense = max(low, min(high, 1 / (ratio - 1))) if self.least.is_whole else low
        return dense - low + log(high / dense) / log(ratio)

    @property
    def likely_trial_s(self) -> float:
        """How long a trial halfway up lasts after its warm-up: of held sessions the ramp grows with them."""
        return self.trial_at(sqrt(self.least.amount * self.most)).lasts_s

    def trial_at(self, amount: float) -> SearchedLoad:
        """Return the load of a trial."""
        return self.least.at(amount)

    def reading(self, path: str) -> Self:
        """Return the same search for workers that have the trace in this file."""
        return replace(self, least=self.least.reading(path))

    def running_words(self, warm_up_s: float) -> str:
        """Return what a run does, in words."""
        del warm_up_s
        return f"the capacity is searched from {self.least.amount:.6g} to {self.most:.6g} {self.unit}"

    def longest_s(self, warm_up_s: float, deadline_s: float) -> float:
        """Return how long a run may make load."""
        del warm_up_s
        return deadline_s
