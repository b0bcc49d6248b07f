"""Load: how many iterations begin when. Totals are over all workers.

Each model says the same of itself:

- `unit`: what its amount counts; `amount`, and `at` for the same load with another amount, as a search tries them (of a
  load of one stage)
- `lasts_s`: the seconds of its measured part, with the last interval of a burst and the ramp of held sessions
- `begins_together`: whether many iterations begin at once, so that a lag of the generator reshapes the load
- `iterations`: how many the measured part begins, None if the server's speed decides
- `warm_up_iterations`: how many the warm-up adds: at the first stage's rate, or one burst at its start
- `most_at_once`: how many iterations may be in flight, None where nothing limits them; `most_connections` at once
- `offered_rate`: iterations begun per second in the first stage, None if the server's speed decides; `most_rate`: the
  most iterations or logins that it asks for per second, 0 where it asks for connections
"""

# ruff: noqa: D102 - the module describes once what each model says of itself
from dataclasses import dataclass, replace
from enum import StrEnum, unique
from typing import Annotated, ClassVar, Final, TypeAlias

from sshload_contract.declared import Default, Duration, Items, Number, Rule, Whole, exactly_one

MOST: Final = 100_000
"""The most users, arrivals per second, connections of a burst and held sessions."""


@unique
class ArrivalProcess(StrEnum):
    """How open arrivals are spaced: evenly, or memoryless at the same mean rate."""

    CONSTANT = "constant"
    POISSON = "poisson"


LoadDuration: TypeAlias = Annotated[float, Duration("1s", "24h")]
_THINK_TIME = Duration("0s", "1h", example="1s")
_STAGES = Items(least=1, most=50)


@dataclass(frozen=True, slots=True)
class UsersStage:
    """One stage: hold `users` concurrent users for `duration_s`, ramping to them at the spawn rate."""

    users: Annotated[int, Whole(1, MOST), "Concurrent users, over all workers."]
    duration_s: Annotated[LoadDuration, "How long the stage lasts."]


@dataclass(frozen=True, slots=True)
class ThinkTime:
    """How long a user waits between two iterations: a time drawn evenly from min to max."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "duration(self.min) <= duration(self.max)",
            "must not be less than min",
            lambda time: time.min_s <= time.max_s,
            at=".max",
        ),
    )
    min_s: Annotated[float, _THINK_TIME, Default("0s"), "The shortest wait."]
    max_s: Annotated[float, _THINK_TIME, Default("0s"), "The longest wait."]


NO_THINK_TIME: Final = Default({"min": "0s", "max": "0s"})


@dataclass(frozen=True, slots=True)
class UsersLoad:
    """Closed model: each user iterates, waits, and iterates again."""

    kind: ClassVar[str] = "users"
    unit: ClassVar[str] = "users"
    begins_together: ClassVar[bool] = True
    iterations: ClassVar[None] = None
    offered_rate: ClassVar[None] = None
    most_rate: ClassVar[float] = 0.0
    stages: Annotated[tuple[UsersStage, ...], _STAGES, "How many users for how long, in order."]
    spawn_rate: Annotated[
        float,
        Number(0, MOST),
        Default(0),
        "Users started per second until the stage has its number. 0 starts them all at once.",
    ]
    think_time: Annotated[ThinkTime, NO_THINK_TIME]

    @property
    def lasts_s(self) -> float:
        return sum(stage.duration_s for stage in self.stages)

    @property
    def amount(self) -> float:
        return self.stages[0].users

    def at(self, amount: float) -> "UsersLoad":
        return replace(self, stages=(replace(self.stages[0], users=round(amount)),))

    def warm_up_iterations(self, _warm_up_s: float) -> float:
        return 0.0

    @property
    def most_at_once(self) -> int:
        return max(stage.users for stage in self.stages)

    @property
    def most_connections(self) -> int:
        return self.most_at_once


_RATE = Number(0, MOST, above=True)


@dataclass(frozen=True, slots=True)
class ArrivalsStage:
    """One stage: start `rate` iterations per second for `duration_s`."""

    rate: Annotated[float, _RATE, "Iterations begun per second, over all workers."]
    duration_s: Annotated[LoadDuration, "How long the stage lasts."]


Process: TypeAlias = Annotated[
    ArrivalProcess,
    Default("constant"),
    "How arrivals are spaced. constant is evenly, poisson is memoryless at the same mean rate.",
]
MaxInFlight: TypeAlias = Annotated[
    int,
    Whole(1, MOST),
    Default(10_000),
    "Iterations that may be in flight at once, over all workers. An arrival that finds so many is dropped and counted.",
]
Seed: TypeAlias = Annotated[
    int, Whole(0, 2**32 - 1), Default(1), "The seed of poisson's randomness. The same seed makes the same arrivals."
]


@dataclass(frozen=True, slots=True)
class _WrittenArrivals:
    """Open model: iterations begin when they are due, however long the earlier ones take.

    Latency is measured from when an iteration was due. Either stages, or rate and duration for a single stage.
    """

    rules: ClassVar[tuple[Rule, ...]] = (
        exactly_one(stages="stages", rate="rate"),
        Rule(
            "has(self.rate) == has(self.duration)",
            "is required with rate, and only then",
            lambda arrivals: (arrivals.rate is None) == (arrivals.duration_s is None),
            at=".duration",
        ),
    )
    rate: Annotated[float | None, _RATE, "Iterations begun per second, over all workers: short for a single stage."]
    duration_s: Annotated[float | None, Duration("1s", "24h"), "How long the single stage lasts."]
    stages: Annotated[
        tuple[ArrivalsStage, ...] | None, _STAGES, "How many iterations per second for how long, in order."
    ]
    process: Process
    max_in_flight: MaxInFlight
    seed: Seed

    def value(self) -> "ArrivalsLoad":
        """Return the load, whose stages are those that are written, or the single one."""
        stages = self.stages or (ArrivalsStage(self.rate or 0.0, self.duration_s or 0.0),)
        return ArrivalsLoad(stages, self.process, self.max_in_flight, self.seed)


@dataclass(frozen=True, slots=True)
class ArrivalsLoad:
    """Open model: iterations begin when they are due, however long the earlier ones take.

    Latency is measured from when an iteration was due. An arrival that finds `max_in_flight` iterations under way is
    counted as dropped and not started.
    """

    kind: ClassVar[str] = "arrivals"
    written_as: ClassVar[type] = _WrittenArrivals
    unit: ClassVar[str] = "arrivals/s"
    begins_together: ClassVar[bool] = False
    stages: Annotated[tuple[ArrivalsStage, ...], _STAGES, "How many iterations per second for how long, in order."]
    process: Process
    max_in_flight: MaxInFlight
    seed: Seed

    @property
    def lasts_s(self) -> float:
        return sum(stage.duration_s for stage in self.stages)

    @property
    def amount(self) -> float:
        return self.stages[0].rate

    def at(self, amount: float) -> "ArrivalsLoad":
        return replace(self, stages=(replace(self.stages[0], rate=amount),))

    @property
    def iterations(self) -> float:
        return sum(stage.rate * stage.duration_s for stage in self.stages)

    def warm_up_iterations(self, warm_up_s: float) -> float:
        return self.stages[0].rate * warm_up_s

    @property
    def most_at_once(self) -> int:
        return self.max_in_flight

    @property
    def most_connections(self) -> int:
        return self.max_in_flight

    @property
    def offered_rate(self) -> float:
        return self.stages[0].rate

    @property
    def most_rate(self) -> float:
        return max(stage.rate for stage in self.stages)


Repeat: TypeAlias = Annotated[int, Whole(1, 1000, read_by_rule=True), Default(1)]
Interval: TypeAlias = Annotated[
    float,
    Duration("1s", "24h", whole_seconds=True),
    Default("30s"),
    "The time between two bursts, in whole seconds.",
]


@dataclass(frozen=True, slots=True)
class BurstLoad:
    """Many connections at one instant."""

    kind: ClassVar[str] = "burst"
    unit: ClassVar[str] = "connections"
    begins_together: ClassVar[bool] = True
    most_rate: ClassVar[float] = 0.0
    connections: Annotated[int, Whole(1, MOST), "Iterations begun at the instant, over all workers."]
    repeat: Annotated[Repeat, "How many bursts."]
    interval_s: Interval

    @property
    def lasts_s(self) -> float:
        return self.repeat * self.interval_s

    @property
    def amount(self) -> float:
        return self.connections

    def at(self, amount: float) -> "BurstLoad":
        return replace(self, connections=round(amount))

    @property
    def iterations(self) -> float:
        return float(self.connections * self.repeat)

    def warm_up_iterations(self, warm_up_s: float) -> float:
        return float(self.connections) if warm_up_s > 0 else 0.0

    @property
    def most_at_once(self) -> int:
        return self.connections

    @property
    def most_connections(self) -> int:
        return self.connections

    @property
    def offered_rate(self) -> float:
        return self.connections / self.interval_s


KeepAlive: TypeAlias = Annotated[
    float,
    Duration("0s", "1h"),
    Default("30s"),
    "How often each held session checks that the server answers. 0s is never.",
]
ProbeRate: TypeAlias = Annotated[
    float,
    Number(0, MOST, above=True),
    Default(1),
    "Probes begun per second, over all workers, from the end of the ramp on.",
]


@dataclass(frozen=True, slots=True)
class HoldLoad:
    """Many idle sessions, while a few fresh iterations of the scenario (probes) show how the server responds meanwhile.

    The sessions log in evenly within `ramp_up_s` and are held for `duration_s` after that. Only the probes count as
    iterations. They begin in the warm-up too, with nothing held yet. The held sessions' logins are timed under the name
    `held`, the checks as `held.keepAlive`, and how long each was held as `held.hold`, which a lost one fails.
    """

    kind: ClassVar[str] = "hold"
    unit: ClassVar[str] = "sessions"
    begins_together: ClassVar[bool] = False
    most_at_once: ClassVar[None] = None
    sessions: Annotated[int, Whole(1, MOST), "Sessions that are logged in and held, over all workers."]
    ramp_up_s: Annotated[float, Duration("0s", "24h"), "The time over which the logins of the held sessions spread."]
    duration_s: Annotated[LoadDuration, "How long the sessions are held after that."]
    keep_alive_s: KeepAlive
    probe_rate: ProbeRate

    @property
    def lasts_s(self) -> float:
        return self.ramp_up_s + self.duration_s

    @property
    def amount(self) -> float:
        return self.sessions

    def at(self, amount: float) -> "HoldLoad":
        # The sessions log in at the same rate as before.
        ramp_up_s = self.ramp_up_s * round(amount) / self.sessions
        return replace(self, sessions=round(amount), ramp_up_s=ramp_up_s)

    @property
    def iterations(self) -> float:
        return self.probe_rate * self.duration_s

    def warm_up_iterations(self, _warm_up_s: float) -> float:
        return 0.0

    @property
    def most_connections(self) -> int:
        return self.sessions

    @property
    def offered_rate(self) -> float:
        return self.probe_rate

    @property
    def most_rate(self) -> float:
        return max(self.probe_rate, self.sessions / self.ramp_up_s if self.ramp_up_s else self.sessions)


Load = UsersLoad | ArrivalsLoad | BurstLoad | HoldLoad
