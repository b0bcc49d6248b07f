"""ArrivalsLoad: an open model. Iterations begin when they are due, however long the earlier ones take."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum, unique
from fractions import Fraction
from itertools import accumulate, count, repeat
from math import ceil, nextafter, sqrt
from random import Random
from typing import Annotated, ClassVar, Final, Self, TypeAlias

from sshload_contract.declared import Default, Duration, Number, Rule, Whole, exactly_one
from sshload_contract.load.model import (
    GREATEST,
    LEAST,
    MOST,
    STAGES,
    LoadDuration,
    LoadModel,
    SearchModel,
    StagedLoad,
)
from sshload_contract.load.stats import LoadStats

_CERTAIN_DEVIATIONS: Final = 6.0

_RATE = Number(0, MOST)
_SOME_RATE: Final = Rule(
    "!has(self.rate) || self.rate > 0.0 || (has(self.toRate) && self.toRate > 0.0)",
    "must be above 0, or toRate must be",
    at=".rate",
)
_ToRate: TypeAlias = Annotated[
    float | None,
    _RATE,
    "Iterations begun per second at the end. It changes evenly from rate to this one (a linear ramp).",
]
MaxInFlight: TypeAlias = Annotated[
    int,
    Whole(1, MOST),
    Default(10_000),
    "Iterations that may be in flight at once, over all workers. An arrival beyond that is dropped and counted.",
]
Seed: TypeAlias = Annotated[
    int, Whole(0, 2**32 - 1), Default(1), "The seed of poisson's randomness. The same seed makes the same arrivals."
]


@unique
class ArrivalProcess(StrEnum):
    """How open arrivals are spaced: evenly, or memoryless at the same mean rate."""

    CONSTANT = "constant"
    POISSON = "poisson"


@dataclass(frozen=True, slots=True)
class ArrivalsStage:
    """One stage: iterations begun at one rate, or with toRate at one that changes evenly over the stage."""

    rules: ClassVar[tuple[Rule, ...]] = (_SOME_RATE,)
    rate: Annotated[float, _RATE, "Iterations begun per second, over all workers. With toRate, those at the beginning."]
    duration_s: Annotated[LoadDuration, "How long the stage lasts."]
    to_rate: _ToRate = None

    @property
    def most_rate(self) -> float:
        """The highest rate of the stage."""
        return max(self.rate, self.to_rate or 0.0)

    @property
    def words(self) -> str:
        """The rates and the time."""
        rates = f"{self.rate:g}" if self.to_rate is None else f"{self.rate:g} to {self.to_rate:g}"
        return f"{rates} arrivals/s for {self.duration_s:g} s"

    @property
    def slope(self) -> float:
        """The change of the rate per second."""
        return 0.0 if self.to_rate is None or not self.duration_s else (self.to_rate - self.rate) / self.duration_s

    def begun(self, after_s: float) -> float:
        """Return how many iterations the stage has begun, on average, `after_s` seconds after its beginning."""
        after_s = min(max(after_s, 0.0), self.duration_s)
        return self.rate * after_s + self.slope * after_s**2 / 2

    @property
    def whole(self) -> Fraction:
        """How many iterations the stage begins on average, exactly as the rates and the duration are written."""
        first, last = (Fraction(str(rate)) for rate in (self.rate, self.rate if self.to_rate is None else self.to_rate))
        return (first + last) / 2 * Fraction(str(self.duration_s))

    def due(self, number: float) -> float:
        """Return how many seconds after its beginning the stage has begun `number` iterations, fewer than `whole`.

        This inverts `begun`: the root of rate t + slope t²/2 = number, in the form that is stable for small slopes.
        """
        divisor = self.rate + sqrt(max(self.rate**2 + 2 * self.slope * number, 0.0))
        return min(2 * number / divisor, self.duration_s) if divisor else 0.0


Process: TypeAlias = Annotated[
    ArrivalProcess,
    Default("constant"),
    "How arrivals are spaced. constant is evenly, poisson is memoryless at the same mean rate.",
]


@dataclass(frozen=True, slots=True)
class _WrittenArrivals:
    """Open model: iterations begin when they are due, however long the earlier ones take.

    Latency is measured from when an iteration was due. Either stages, or rate and duration for a single stage.
    """

    rules: ClassVar[tuple[Rule, ...]] = (
        exactly_one("stages", "rate"),
        Rule(
            "has(self.rate) == has(self.duration)",
            "is required with rate, and only then",
            at=".duration",
        ),
        Rule(
            "!has(self.toRate) || has(self.rate)",
            "is for a single stage, with rate: a stage of stages has a toRate of its own",
            at=".toRate",
        ),
        _SOME_RATE,
    )
    rate: Annotated[float | None, _RATE, "Iterations begun per second, over all workers: short for a single stage."]
    duration_s: Annotated[float | None, Duration("1s", "24h"), "How long the single stage lasts."]
    stages: Annotated[
        tuple[ArrivalsStage, ...] | None, STAGES, "How many iterations per second for how long, in order."
    ]
    process: Process
    max_in_flight: MaxInFlight
    seed: Seed
    to_rate: _ToRate = None

    def value(self) -> "ArrivalsLoad":
        """Return the load, with the given stages or the single one."""
        stages = self.stages or (ArrivalsStage(self.rate or 0.0, self.duration_s or 0.0, self.to_rate),)
        return ArrivalsLoad(stages, self.process, self.max_in_flight, self.seed)


class SpacedArrivals(LoadModel):
    """What all loads answer whose iterations begin at given rates, evenly or at random."""

    __slots__ = ()
    unit: ClassVar[str] = "arrivals/s"
    is_whole: ClassVar[bool] = False
    drops_arrivals: ClassVar[bool] = True
    process: ArrivalProcess
    max_in_flight: int
    seed: int

    @property
    def most_connections(self) -> int:
        """One for each iteration that may be in flight."""
        return self.max_in_flight

    @property
    @abstractmethod
    def iterations(self) -> float:
        """How many iterations the measured part begins on average."""

    @property
    def most_due(self) -> float:
        """As many as the rates give, one more for a fraction, and a margin for random variation."""
        expected = self.iterations + 1
        return expected + (_CERTAIN_DEVIATIONS * (sqrt(expected) + 1) if self.is_memoryless else 0.0)

    @property
    def is_even(self) -> bool:
        """Whether the process is constant."""
        return self.process is ArrivalProcess.CONSTANT

    @property
    def is_memoryless(self) -> bool:
        """Whether the process is poisson."""
        return self.process is ArrivalProcess.POISSON

    def completed_amount(self, stats: LoadStats) -> float | None:
        """Return the completed iterations per second."""
        return stats.completed_rate


@dataclass(frozen=True, slots=True)
class ArrivalsLoad(StagedLoad, SpacedArrivals):
    """Open model: iterations begin when they are due, however long the earlier ones take.

    Latency is measured from when an iteration was due. An arrival that finds `max_in_flight` iterations under way is
    counted as dropped and not started.
    """

    kind: ClassVar[str] = "arrivals"
    written_as: ClassVar[type] = _WrittenArrivals
    fits_in_cel: ClassVar[str] = (
        f"has(load.stages) ? {StagedLoad.fits_in_cel} : time >= duration(load.?duration.orValue('0s'))"
    )
    stages: Annotated[tuple[ArrivalsStage, ...], STAGES, "How many iterations per second for how long, in order."]
    process: Process
    max_in_flight: MaxInFlight
    seed: Seed

    @property
    def amount(self) -> float:
        """The rate of the first stage."""
        return self.stages[0].rate

    def at(self, amount: float) -> Self:
        """Return the same load at another rate."""
        return replace(self, stages=(replace(self.stages[0], rate=amount),))

    @property
    def words(self) -> str:
        """The rate of each stage."""
        first, *others = self.stages
        if others or first.to_rate is not None:
            return f"{', '.join(stage.words for stage in self.stages)}, {self.process}"
        return f"{first.rate:g} arrivals/s, {self.process}"

    @property
    def iterations(self) -> float:
        """The iterations of all stages, on average."""
        return sum(stage.begun(stage.duration_s) for stage in self.stages)

    def warm_up_iterations(self, warm_up_s: float) -> float:
        """Return the iterations of a warm-up at the initial rate of the first stage."""
        return self.stages[0].rate * warm_up_s

    @property
    def offered_rate(self) -> float:
        """The initial rate of the first stage."""
        return self.stages[0].rate

    @property
    def most_rate(self) -> float:
        """The highest rate of all stages."""
        return max(stage.most_rate for stage in self.stages)

    @property
    def is_steady(self) -> bool:
        """Whether all rates are the same."""
        return len({rate for stage in self.stages for rate in (stage.rate, stage.to_rate) if rate is not None}) == 1

    def due(self, warm_up_s: float) -> Iterator[float]:
        """Yield the offset of each iteration. The seed decides those of a poisson process."""
        yield from staged_arrivals(self._with_warm_up(warm_up_s), self.process, self.seed)

    def most_begun_within(self, warm_up_s: float, stretch_s: float) -> int:
        """Return the largest average number of iterations that begin within any `stretch_s` seconds.

        The derivative of that number by the start of the interval is the difference of the rates at its two ends. So
        the number is largest where one end is at the boundary of a stage, or where both rates are equal.
        """
        stages = self._with_warm_up(warm_up_s)
        starts = list(accumulate((stage.duration_s for stage in stages), initial=0.0))
        candidates = [start for edge in starts for start in (edge, edge - stretch_s)]
        for first, first_s in zip(stages, starts, strict=False):
            for last, last_s in zip(stages, starts, strict=False):
                if first.slope != last.slope:
                    # first.rate + first.slope (s - first_s) = last.rate + last.slope (s + stretch_s - last_s)
                    constant = last.rate - first.rate + last.slope * (stretch_s - last_s) + first.slope * first_s
                    candidates.append(constant / (first.slope - last.slope))

        def begun_by(offset_s: float) -> float:
            return sum(stage.begun(offset_s - start) for stage, start in zip(stages, starts, strict=False))

        return max(ceil(begun_by(max(start, 0.0) + stretch_s) - begun_by(max(start, 0.0))) for start in candidates)

    def _with_warm_up(self, warm_up_s: float) -> tuple[ArrivalsStage, ...]:
        return (ArrivalsStage(self.stages[0].rate, warm_up_s), *self.stages)


@dataclass(frozen=True, slots=True)
class ArrivalsSearch(SearchModel):
    """The highest rate of arrivals, in iterations begun per second."""

    kind: ClassVar[str] = "arrivals"
    rules: ClassVar[tuple[Rule, ...]] = (
        *SearchModel.rules,
        Rule(
            "self.min * double(duration(self.duration).getMilliseconds()) >= 1000.0",
            "must be high enough for one iteration in a trial's duration: raise it, or lengthen the duration",
            at=".min",
        ),
    )
    min: Annotated[float, Number(0, MOST, above=True), LEAST]
    max: Annotated[float, Number(0, MOST, above=True), GREATEST]
    duration_s: Annotated[LoadDuration, "How long each trial lasts, after its warm-up."]
    process: Process
    max_in_flight: MaxInFlight
    seed: Seed

    def least_load(self) -> ArrivalsLoad:
        """Return the load of the least trial."""
        stage = ArrivalsStage(self.min, self.duration_s)
        return ArrivalsLoad((stage,), self.process, self.max_in_flight, self.seed)


def staged_arrivals(stages: Iterable[ArrivalsStage], process: ArrivalProcess, seed: int) -> Iterator[float]:
    """Yield the offset of each arrival of consecutive stages.

    An arrival is due when the average number of begun iterations, over all stages, equals its number: 0, 1, 2 and so
    on. So a fraction of an arrival that is left at the end of a stage is carried into the next one, and no stage rounds
    by itself. Which stage an arrival is in is decided exactly, not by a rounded sum of seconds.

    A Poisson process with a changing rate is one of rate 1 on a transformed time scale: the number of its k-th arrival
    is the sum of k exponential draws (Çinlar 1975).
    """
    numbers = _numbers(process, seed)
    number = next(numbers)
    begun, start_s = Fraction(0), 0.0
    for stage in stages:
        until, end_s = begun + stage.whole, start_s + stage.duration_s
        below = ceil(until) if process is ArrivalProcess.CONSTANT else float(until)
        last_s = nextafter(end_s, start_s)
        while number < below:
            yield min(start_s + stage.due(max(number - float(begun), 0.0)), last_s)
            number = next(numbers)
        begun, start_s = until, end_s


def _numbers(process: ArrivalProcess, seed: int) -> Iterator[float]:
    if process is ArrivalProcess.CONSTANT:
        yield from count()
    random = Random(seed)  # noqa: S311 - spacing, no secrets
    yield from accumulate(random.expovariate(1.0) for _ in repeat(None))
