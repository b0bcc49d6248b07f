"""The search for the capacity: between which amounts of a load model it looks, how closely, and how long it takes."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, TypeAlias

from sshload_contract.declared import Default, Inline, Number, Percentage, Rule, Whole
from sshload_contract.load import (
    FACTOR,
    MOST,
    NO_THINK_TIME,
    ArrivalsLoad,
    ArrivalsStage,
    BurstLoad,
    CopySeed,
    HoldLoad,
    Interval,
    KeepAlive,
    Load,
    LoadDuration,
    MaxInFlight,
    MaxRate,
    ProbeRate,
    Process,
    Repeat,
    ReplayLoad,
    Search,
    Seed,
    Speed,
    ThinkTime,
    TraceRef,
    UsersLoad,
    UsersStage,
)

ENDING_RESERVE_S: Final = 90.0
"""What is kept of the deadline for what follows the last trial: its drain (a minute at most), reports and results."""

CONFIRM_MOST = 5
_SLOWEST_LOGIN_RATE = 0.01

_MIN = "The smallest amount, with which the search starts."
_MAX = "The largest amount."
_Whole: TypeAlias = Annotated[int, Whole(1, MOST, read_by_rule=True)]
_Rate: TypeAlias = Annotated[float, Number(0, MOST, above=True)]
_Factor: TypeAlias = Annotated[float, FACTOR]
_ORDER = Rule("self.min <= self.max", "must not be less than min", at=".max")


@dataclass(frozen=True, slots=True)
class UsersSearch:
    """The highest number of concurrent users."""

    kind: ClassVar[str] = "users"
    rules: ClassVar[tuple[Rule, ...]] = (_ORDER,)
    min: Annotated[_Whole, _MIN]
    max: Annotated[_Whole, _MAX]
    duration_s: Annotated[LoadDuration, "How long each trial lasts, after its warm-up."]
    spawn_rate: Annotated[
        float,
        Number(0, MOST),
        Default(0),
        "Users started per second until the trial has its number of users. 0 starts them all at once.",
    ]
    think_time: Annotated[ThinkTime, NO_THINK_TIME]

    def least_load(self) -> Load:
        """Return the load of the least trial."""
        return UsersLoad((UsersStage(self.min, self.duration_s),), self.spawn_rate, self.think_time)


@dataclass(frozen=True, slots=True)
class ArrivalsSearch:
    """The highest rate of arrivals, in iterations begun per second."""

    kind: ClassVar[str] = "arrivals"
    rules: ClassVar[tuple[Rule, ...]] = (
        _ORDER,
        Rule(
            "self.min * double(duration(self.duration).getMilliseconds()) >= 1000.0",
            "must be high enough for one iteration in a trial's duration: raise it, or lengthen the duration",
            at=".min",
        ),
    )
    min: Annotated[_Rate, _MIN]
    max: Annotated[_Rate, _MAX]
    duration_s: Annotated[LoadDuration, "How long each trial lasts, after its warm-up."]
    process: Process
    max_in_flight: MaxInFlight
    seed: Seed

    def least_load(self) -> Load:
        """Return the load of the least trial."""
        stage = ArrivalsStage(self.min, self.duration_s)
        return ArrivalsLoad((stage,), self.process, self.max_in_flight, self.seed)


@dataclass(frozen=True, slots=True)
class BurstSearch:
    """The highest number of connections at one instant."""

    kind: ClassVar[str] = "burst"
    rules: ClassVar[tuple[Rule, ...]] = (_ORDER,)
    min: Annotated[_Whole, _MIN]
    max: Annotated[_Whole, _MAX]
    repeat: Annotated[Repeat, "How many bursts a trial has."]
    interval_s: Interval

    def least_load(self) -> Load:
        """Return the load of the least trial."""
        return BurstLoad(self.min, self.repeat, self.interval_s)


@dataclass(frozen=True, slots=True)
class HoldSearch:
    """The highest number of idle sessions, while probes show how the server responds. Only probes are iterations."""

    kind: ClassVar[str] = "hold"
    rules: ClassVar[tuple[Rule, ...]] = (_ORDER,)
    min: Annotated[_Whole, _MIN]
    max: Annotated[_Whole, _MAX]
    login_rate: Annotated[
        float,
        Number(0, MOST, above=True),
        # No `minimum`: the API server compares it with a whole number after cutting it to 0.
        Rule(
            f"self >= {_SLOWEST_LOGIN_RATE}",
            f"must be at least {_SLOWEST_LOGIN_RATE}",
        ),
        "Sessions logged in per second, over all workers, until the trial holds all of its sessions.",
    ]
    duration_s: Annotated[LoadDuration, "How long each trial holds them after that."]
    keep_alive_s: KeepAlive
    probe_rate: ProbeRate

    def least_load(self) -> Load:
        """Return the load of the least trial."""
        ramp_up_s = self.min / self.login_rate
        return HoldLoad(self.min, ramp_up_s, self.duration_s, self.keep_alive_s, self.probe_rate)


@dataclass(frozen=True, slots=True)
class ReplaySearch:
    """The highest amplification of recorded arrivals. Each trial replays the trace from its beginning."""

    kind: ClassVar[str] = "replay"
    rules: ClassVar[tuple[Rule, ...]] = (_ORDER,)
    min: Annotated[_Factor, _MIN]
    max: Annotated[_Factor, _MAX]
    trace: TraceRef
    duration_s: Annotated[LoadDuration, "How long each trial lasts, after its warm-up."]
    speed: Speed
    max_rate: MaxRate
    max_in_flight: MaxInFlight
    seed: CopySeed

    def least_load(self) -> Load:
        """Return the load of the least trial."""
        rest = (self.max_rate, self.max_in_flight, self.seed)
        return ReplayLoad(self.trace, self.duration_s, self.speed, self.min, *rest, trace_path="")


@dataclass(frozen=True, slots=True)
class WrittenSearch:
    """The search for the capacity: the highest load that meets every threshold.

    sshload runs one trial after another, each with its own warmUp and amount of load, until it knows the limit with the
    requested precision. Exactly one of users, arrivals, burst, hold and replay sets what the amount counts.
    """

    kind: ClassVar[str] = "capacity"
    precision: Annotated[
        float,
        Percentage("0.1%", "50%"),
        Default("5%"),
        "The precision of the capacity, in percent of it. A finer precision needs more trials.",
    ]
    confirm: Annotated[
        int,
        Whole(0, CONFIRM_MOST, read_by_rule=True),
        Default(2),
        "How many further trials must confirm each bound. Trials near the limit can contradict each other: with 0,"
        " chance may decide a bound.",
    ]
    model: Annotated[UsersSearch | ArrivalsSearch | BurstSearch | HoldSearch | ReplaySearch, Inline()]

    def search(self, budget_s: float) -> Search:
        """Return the search of a run that has so many seconds for all trials."""
        return Search(
            least=self.model.least_load(),
            most=self.model.max,
            precision=self.precision,
            confirm=self.confirm,
            budget_s=budget_s,
        )


def search_budget_s(deadline_s: float, start_timeout_s: float) -> float:
    """Return how long all trials together may take, though the start takes as long as it may; never below 0."""
    return max(0.0, deadline_s - start_timeout_s - ENDING_RESERVE_S)


def least_trials(confirm: int) -> int:
    """Return how many trials a search that finds both bounds takes at least: each of them, and what confirms it."""
    return 2 * (confirm + 1)
