"""WaveLoad: arrivals at a rate that rises and falls again, in waves: the days of a week, or shifts in an hour."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, cos, pi, sin
from typing import Annotated, ClassVar, Final

from sshload_contract.declared import Duration, Number, Rule
from sshload_contract.load.arrivals import (
    ArrivalsStage,
    MaxInFlight,
    Process,
    Seed,
    SpacedArrivals,
    staged_arrivals,
)
from sshload_contract.load.burst import Repeat
from sshload_contract.load.model import MOST

_PIECES: Final = 64
"""A wave is so many straight ramps, whose ends are on the cosine: the rate is off by less than 0.13 % of its swing."""

_DIGITS: Final = 6


@dataclass(frozen=True, slots=True)
class WaveLoad(SpacedArrivals):
    """Open model: iterations begin at a rate that swings from rate to toRate and back, as a cosine does.

    The warm-up has the rate of the beginning. No search varies it: the limit of a server is that of a steady rate.
    """

    kind: ClassVar[str] = "wave"
    rules: ClassVar[tuple[Rule, ...]] = (Rule("self.rate < self.toRate", "must be above rate", at=".toRate"),)
    fits_in_cel: ClassVar[str] = "time.getSeconds() >= duration(load.period).getSeconds() * load.repeat"
    rate: Annotated[float, Number(0, MOST), "Iterations begun per second at the beginning and the end of each wave."]
    to_rate: Annotated[float, Number(0, MOST, above=True), "Those in the middle of each wave, more than rate."]
    period_s: Annotated[
        float, Duration("10s", "24h", whole_seconds=True), "How long each wave lasts, in whole seconds."
    ]
    repeat: Annotated[Repeat, "How many waves."]
    process: Process
    max_in_flight: MaxInFlight
    seed: Seed

    @property
    def amount(self) -> float:
        """The average rate."""
        return self.offered_rate

    @property
    def lasts_s(self) -> float:
        """All waves."""
        return self.repeat * self.period_s

    @property
    def words(self) -> str:
        """The rates and the waves."""
        waves = "1 wave" if self.repeat == 1 else f"{self.repeat} waves"
        rates = f"{self.rate:g} to {self.to_rate:g} arrivals/s and back"
        return f"{rates} in {waves} of {self.period_s:g} s, {self.process}"

    @property
    def offered_rate(self) -> float:
        """The average rate."""
        return (self.rate + self.to_rate) / 2

    @property
    def most_rate(self) -> float:
        """The rate in the middle of a wave."""
        return self.to_rate

    @property
    def iterations(self) -> float:
        """Those of the average rate."""
        return self.offered_rate * self.lasts_s

    def warm_up_iterations(self, warm_up_s: float) -> float:
        """Return the iterations of a warm-up at the lowest rate."""
        return self.rate * warm_up_s

    @property
    def is_steady(self) -> bool:
        """False: the rate changes."""
        return False

    def due(self, warm_up_s: float) -> Iterator[float]:
        """Yield the offset of each iteration. The seed decides those of a poisson process."""
        yield from staged_arrivals(self._ramps(warm_up_s), self.process, self.seed)

    def most_begun_within(self, warm_up_s: float, stretch_s: float) -> int:
        """Return the average number of iterations of the `stretch_s` seconds around the middle of a wave.

        What is longer than all waves has some of the warm-up too.
        """
        within_s = min(stretch_s, self.lasts_s)
        swing = (self.to_rate - self.rate) / 2
        above_average = swing * self.period_s / pi * abs(sin(pi * within_s / self.period_s))
        before = self.warm_up_iterations(min(warm_up_s, stretch_s - within_s))
        return ceil(self.offered_rate * within_s + above_average + before)

    def _ramps(self, warm_up_s: float) -> Iterator[ArrivalsStage]:
        yield ArrivalsStage(self.rate, warm_up_s)
        swing = (self.to_rate - self.rate) / 2
        # Rounded away from the average, so that what falls below it is again above it, exactly.
        away = [round(swing * cos(2 * pi * piece / _PIECES), _DIGITS) for piece in range(_PIECES + 1)]
        rates = [round(self.offered_rate - one, _DIGITS) for one in away]
        for _ in range(self.repeat):
            for first, last in pairwise(rates):
                yield ArrivalsStage(first, self.period_s / _PIECES, last)
