"""BurstLoad: many connections at one instant."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Self, TypeAlias

from sshload_contract.declared import Default, Duration, Whole
from sshload_contract.load.model import AMOUNT, GREATEST, LEAST, MOST, LoadModel, SearchModel
from sshload_contract.load.stats import LoadStats

Repeat: TypeAlias = Annotated[int, Whole(1, 1000, read_by_rule=True), Default(1)]
Interval: TypeAlias = Annotated[
    float,
    Duration("1s", "24h", whole_seconds=True),
    Default("30s"),
    "The time between two bursts, in whole seconds.",
]


@dataclass(frozen=True, slots=True)
class BurstLoad(LoadModel):
    """Many connections at one instant."""

    kind: ClassVar[str] = "burst"
    fits_in_cel: ClassVar[str] = "time.getSeconds() >= duration(load.interval).getSeconds() * load.repeat"
    unit: ClassVar[str] = "connections"
    begins_together: ClassVar[bool] = True
    connections: Annotated[int, Whole(1, MOST), "Iterations begun at the instant, over all workers."]
    repeat: Annotated[Repeat, "How many bursts."]
    interval_s: Interval

    @property
    def lasts_s(self) -> float:
        """One interval per burst."""
        return self.repeat * self.interval_s

    @property
    def bursts(self) -> int:
        """As many as are asked for."""
        return self.repeat

    @property
    def amount(self) -> float:
        """The connections of one burst."""
        return self.connections

    def at(self, amount: float) -> Self:
        """Return the same load with another number of connections."""
        return replace(self, connections=round(amount))

    @property
    def words(self) -> str:
        """The connections and their interval."""
        return f"{self.connections} connections each {self.interval_s:g} s"

    @property
    def most_connections(self) -> int:
        """The connections of one burst."""
        return self.connections

    @property
    def iterations(self) -> float:
        """Those of all bursts."""
        return float(self.connections * self.repeat)

    @property
    def most_due(self) -> float:
        """Those of all bursts."""
        return self.iterations

    def warm_up_iterations(self, warm_up_s: float) -> float:
        """Return the connections of one burst at the beginning of the warm-up, 0 without a warm-up."""
        return float(self.connections) if warm_up_s > 0 else 0.0

    @property
    def offered_rate(self) -> float:
        """The connections of a burst per second of its interval."""
        return self.connections / self.interval_s

    def completed_amount(self, stats: LoadStats) -> float:
        """Return the average number of completed iterations per burst."""
        return stats.succeeded / self.repeat

    def due(self, warm_up_s: float) -> Iterator[float]:
        """Yield the instant of each burst once for each of its connections."""
        for instant in self._instants(warm_up_s):
            for _ in range(self.connections):
                yield instant

    def most_begun_within(self, warm_up_s: float, stretch_s: float) -> int:
        """Return the largest number of connections that begin within any `stretch_s` seconds."""
        instants = list(self._instants(warm_up_s))
        bursts = max(sum(first <= instant < first + stretch_s for instant in instants) for first in instants)
        return self.connections * bursts

    def _instants(self, warm_up_s: float) -> Iterator[float]:
        if warm_up_s > 0:
            yield 0.0
        for repetition in range(self.repeat):
            yield warm_up_s + repetition * self.interval_s


@dataclass(frozen=True, slots=True)
class BurstSearch(SearchModel):
    """The highest number of connections at one instant."""

    kind: ClassVar[str] = "burst"
    lasts_ms_in_cel: ClassVar[str] = "load.repeat * duration(load.interval).getMilliseconds()"
    min: Annotated[int, AMOUNT, LEAST]
    max: Annotated[int, AMOUNT, GREATEST]
    repeat: Annotated[Repeat, "How many bursts a trial has."]
    interval_s: Interval

    def least_load(self) -> BurstLoad:
        """Return the load of the least trial."""
        return BurstLoad(self.min, self.repeat, self.interval_s)
