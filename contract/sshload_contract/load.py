"""Load: how many iterations begin when. Totals are over all workers."""

from dataclasses import dataclass
from enum import StrEnum, unique
from typing import ClassVar


@unique
class ArrivalProcess(StrEnum):
    """How open arrivals are spaced: evenly, or memoryless at the same mean rate."""

    CONSTANT = "constant"
    POISSON = "poisson"


@dataclass(frozen=True, slots=True)
class UsersStage:
    """Hold `users` concurrent users for `duration_s`, ramping to them at the spawn rate."""

    users: int
    duration_s: float


@dataclass(frozen=True, slots=True)
class UsersLoad:
    """Closed model: each user iterates, thinks, iterates. `spawn_rate` is users per second, 0 for all at once."""

    kind: ClassVar[str] = "users"
    stages: tuple[UsersStage, ...]
    spawn_rate: float
    think_time_min_s: float
    think_time_max_s: float


@dataclass(frozen=True, slots=True)
class ArrivalsStage:
    """Start `rate` iterations per second for `duration_s`."""

    rate: float
    duration_s: float


@dataclass(frozen=True, slots=True)
class ArrivalsLoad:
    """Open model: iterations start when they are due, whatever became of the earlier ones.

    An arrival that finds `max_in_flight` iterations under way is counted as dropped and not started.
    """

    kind: ClassVar[str] = "arrivals"
    stages: tuple[ArrivalsStage, ...]
    process: ArrivalProcess
    max_in_flight: int
    seed: int


@dataclass(frozen=True, slots=True)
class BurstLoad:
    """`connections` iterations at one instant, `repeat` times, the instants `interval_s` apart."""

    kind: ClassVar[str] = "burst"
    connections: int
    repeat: int
    interval_s: float


@dataclass(frozen=True, slots=True)
class HoldLoad:
    """Log `sessions` in, evenly within `ramp_up_s`, and hold them idle for `duration_s` after that.

    A held session asks for a sign of life each `keep_alive_s`, 0 for never. Meanwhile, from the end of the ramp on,
    `probe_rate` fresh iterations of the scenario begin per second, as open arrivals; in the warm-up too, with nothing
    held yet. They alone count in `total`. The held sessions' logins are timed under the name `held`, the signs of life
    as `held.keepAlive`, and how long each was held as `held.hold`, which a lost one fails.
    """

    kind: ClassVar[str] = "hold"
    sessions: int
    ramp_up_s: float
    duration_s: float
    keep_alive_s: float
    probe_rate: float


Load = UsersLoad | ArrivalsLoad | BurstLoad | HoldLoad
