"""LoadModel: the properties of every load model. Amounts, rates and numbers are totals over all workers."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from math import inf
from random import Random
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal, Protocol, Self, TypeAlias

from sshload_contract.bounds import MOST_STAGES
from sshload_contract.declared import Duration, Items, Rule, Whole
from sshload_contract.load.stats import LoadStats

if TYPE_CHECKING:
    from sshload_contract.load.replay import Trace, TraceRef
    from sshload_contract.load.users import UserChange

MOST: Final = 100_000
"""The most users, arrivals per second, connections of a burst and held sessions."""

LoadDuration: TypeAlias = Annotated[float, Duration("1s", "24h")]
STAGES: Final = Items(least=1, most=MOST_STAGES)

# What the searches of the capacity have in common.
AMOUNT: Final = Whole(1, MOST, read_by_rule=True)
LEAST: Final = "The smallest amount, with which the search starts."
GREATEST: Final = "The largest amount."


class LoadModel(ABC):
    """How many iterations begin when. The defaults are those of an open model that holds no sessions.

    Offsets are in seconds from the start of the load, warm-up included, and never decrease.
    """

    __slots__ = ()
    kind: ClassVar[str]
    fits_in_cel: ClassVar[str] = "time >= duration(load.duration)"
    """Whether `load` ends within `time`, a duration: a condition in CEL."""
    unit: ClassVar[str]
    """What the amount counts."""
    is_whole: ClassVar[bool] = True
    """Whether the amount is a whole number."""
    begins_together: ClassVar[bool] = False
    """Whether many iterations begin at once, so that a lag of the generator changes the shape of the load."""
    drops_arrivals: ClassVar[bool] = False
    """Whether an arrival that finds `most_at_once` iterations in flight is dropped."""
    is_search: ClassVar[Literal[False]] = False
    """Whether the amount is searched; of a fixed load a run is one trial."""
    largest_words: ClassVar[str] = "spec.load"
    """What the load of the largest trial is called in a message."""
    lower_words: ClassVar[str] = "lower the load"
    """What makes the largest trial smaller."""
    likely_trials: ClassVar[int] = 1
    """How many trials a run may have."""
    budget_s: ClassVar[float] = 0.0
    """For how long after the start of the first trial others may run."""

    @property
    def field(self) -> str:
        """The field of a spec that states it."""
        return f"load.{self.kind}"

    @property
    def least(self) -> Self:
        """The load of a run's smallest trial."""
        return self

    @property
    def largest(self) -> Self:
        """The load of a run's largest trial."""
        return self

    @property
    def identity(self) -> str:
        """What two loads have in common whose figures can be compared."""
        return self.words

    @property
    def can_end_early(self) -> bool:
        """Whether the load may end as soon as a threshold is broken: held sessions are judged when they end."""
        return not self.held_sessions

    @property
    @abstractmethod
    def amount(self) -> float:
        """The amount of a load of one stage, as a search varies it."""

    @property
    @abstractmethod
    def lasts_s(self) -> float:
        """How long the measured part lasts, with the last interval of a burst and the ramp of held sessions."""

    @property
    def stage_durations_s(self) -> tuple[float, ...]:
        """How long each stage of a load with several stages lasts; empty for any other load."""
        return ()

    @property
    def bursts(self) -> int:
        """How often iterations begin at one instant, and the time until the next instant is theirs; 0 if never."""
        return 0

    @property
    @abstractmethod
    def most_connections(self) -> int:
        """The most connections open at once."""

    @property
    @abstractmethod
    def words(self) -> str:
        """The load in words. The words of a steady load do not include its duration."""

    @property
    def most_at_once(self) -> int | None:
        """The most iterations in flight, None if nothing limits them."""
        return self.most_connections

    @property
    def most_users(self) -> int:
        """The most users who iterate, 0 in an open model."""
        return 0

    @property
    def recorded(self) -> "TraceRef | None":
        """The trace that it plays, None if it plays none."""
        return None

    def reading(self, path: str) -> Self:
        """Return the same load for workers that have the trace in this file."""
        del path
        return self

    @property
    def trace_path(self) -> str:
        """Where a worker finds the trace, empty if it plays none."""
        return ""

    def problem(self, trace: "Trace", warm_up_s: float) -> str:
        """Return why it cannot play the trace, and what to change; empty if it can."""
        del trace, warm_up_s
        return ""

    def users_of(self, stage: int) -> tuple[int | None, int | None]:
        """Return the users of a stage, counted from 1, and those at its end if they differ; None in an open model."""
        del stage
        return None, None

    @property
    def least_pause_s(self) -> float | None:
        """The shortest wait of a user between two iterations, None in an open model."""
        return None

    @property
    def mean_pause_s(self) -> float | None:
        """The average wait of a user between two iterations, None in an open model."""
        return None

    def pause_s(self, random: Random) -> float:
        """Return how long a user waits this time between two iterations."""
        del random
        return 0.0

    def held_samples(self, timing: str) -> float:
        """Return how many samples of a timing the held sessions make."""
        del timing
        return 0

    @property
    def held_sessions(self) -> int:
        """Sessions that are held beside the iterations."""
        return 0

    @property
    def before_iterations_s(self) -> float:
        """The time of the measured part before iterations begin: the ramp of held sessions."""
        return 0.0

    @property
    def iterations(self) -> float | None:
        """How many iterations the measured part begins, None if the spec does not tell."""
        return None

    @property
    def most_due(self) -> float:
        """An upper bound of the number of iterations in the measured part, including random variation."""
        return inf

    @property
    def offered_rate(self) -> float | None:
        """Iterations begun per second in the first stage, None if the spec does not tell."""
        return None

    @property
    def most_rate(self) -> float:
        """The most iterations or logins per second that the load asks for, 0 if it asks for connections."""
        return 0.0

    @property
    def is_steady(self) -> bool:
        """Whether the load is the same all the time."""
        return True

    @property
    def is_even(self) -> bool:
        """Whether iterations are due at evenly spaced instants."""
        return False

    @property
    def is_memoryless(self) -> bool:
        """Whether iterations are due at random instants, so that their number is random."""
        return False

    def trial_at(self, amount: float) -> Self:
        """Return the load of a trial. Only a search has trials of other amounts."""
        del amount
        return self

    def running_words(self, warm_up_s: float) -> str:
        """Return what a run does, in words."""
        return f"the load runs for {warm_up_s + self.lasts_s:g} s"

    def longest_s(self, warm_up_s: float, deadline_s: float) -> float:
        """Return how long a run may make load."""
        del deadline_s
        return warm_up_s + self.lasts_s

    def most_iterations(self, pause_s: float) -> float | None:
        """Return the most iterations of the measured part if each takes at least `pause_s`; None if unknown."""
        del pause_s
        return self.iterations

    def warm_up_iterations(self, warm_up_s: float) -> float:
        """Return how many iterations the warm-up adds."""
        del warm_up_s
        return 0.0

    def most_begun_within(self, warm_up_s: float, stretch_s: float) -> int:
        """Return how many connections the load begins, if nothing fails, in the busiest `stretch_s` seconds.

        A lower bound if the spec does not tell.
        """
        del warm_up_s, stretch_s
        return self.most_connections

    def due(self, warm_up_s: float) -> Iterator[float]:
        """Yield the offset of each iteration of an open model that plays no trace."""
        del warm_up_s
        return iter(())

    def replayed(self, trace: "Trace | None", warm_up_s: float) -> Iterator[float]:
        """Yield the offset of each iteration of an open model, with the trace that it plays."""
        del trace
        return self.due(warm_up_s)

    def changes(self, warm_up_s: float) -> Iterator["UserChange"]:
        """Yield which user begins or leaves when, in order, in a closed model."""
        del warm_up_s
        return iter(())

    def logins(self, warm_up_s: float) -> Iterator[float]:
        """Yield the offset at which each of the held sessions is to log in."""
        del warm_up_s
        return iter(())

    def keep_alives(self, warm_up_s: float) -> Iterator[tuple[float, int]]:
        """Yield when each held session (counted over all workers) sends a keep-alive request: in turn, evenly."""
        del warm_up_s
        return iter(())

    def completed_amount(self, stats: LoadStats) -> float | None:
        """Return the amount that the server completed in a trial, None if its figures do not tell."""
        del stats
        return None


class SearchModel:
    """What the searches of the capacity have in common."""

    __slots__ = ()
    rules: ClassVar[tuple[Rule, ...]] = (Rule("self.min <= self.max", "must not be less than min", at=".max"),)
    lasts_ms_in_cel: ClassVar[str] = "duration(load.duration).getMilliseconds()"
    """How long the least trial of `load` lasts, without its warm-up: milliseconds in CEL."""


class LoadStage(Protocol):
    """A part of a load."""

    @property
    def duration_s(self) -> float:
        """How long it lasts."""


class StagedLoad(LoadModel):
    """A load of stages that follow each other."""

    __slots__ = ()
    fits_in_cel: ClassVar[str] = "time >= load.stages.map(s, duration(s.duration)).sum()"
    stages: tuple[LoadStage, ...]

    @property
    def lasts_s(self) -> float:
        """The time of all stages."""
        return sum(stage.duration_s for stage in self.stages)

    @property
    def stage_durations_s(self) -> tuple[float, ...]:
        """How long each stage lasts; empty for a single one."""
        return tuple(stage.duration_s for stage in self.stages) if len(self.stages) > 1 else ()
