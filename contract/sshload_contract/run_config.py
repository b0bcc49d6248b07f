"""RunConfig: everything that a master and its workers know of a run. Totals are over all workers."""

from dataclasses import dataclass
from enum import StrEnum, unique
from typing import ClassVar

RUN_CONFIG_VERSION = 1


@unique
class ArrivalProcess(StrEnum):
    """How open arrivals are spaced: evenly, or memoryless at the same mean rate."""

    CONSTANT = "constant"
    POISSON = "poisson"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where SSH is spoken, as whom, and by which files. An empty `known_hosts_path` means: accept any host key."""

    host: str
    port: int
    user: str
    private_key_path: str
    password_path: str
    known_hosts_path: str


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The longest that each part may take, in seconds; what takes longer ends in that part's timeout outcome."""

    connect_s: float
    banner_s: float
    kex_s: float
    auth_s: float
    channel_s: float
    step_s: float


@dataclass(frozen=True, slots=True)
class Client:
    """How the client speaks SSH. Empty tuples leave the choice to the library."""

    library: str
    kex_algorithms: tuple[str, ...]
    ciphers: tuple[str, ...]
    macs: tuple[str, ...]
    host_key_algorithms: tuple[str, ...]
    quick_ack: bool
    timeouts: Timeouts


@dataclass(frozen=True, slots=True)
class ExecStep:
    """Run a command on a channel of its own. `expect_stdout` is a regular expression, empty for any output."""

    kind: ClassVar[str] = "exec"
    name: str
    command: str
    expect_exit_code: int
    expect_stdout: str


@dataclass(frozen=True, slots=True)
class SleepStep:
    """Keep the session open and idle. Counts in `total`, and has no timing of its own."""

    kind: ClassVar[str] = "sleep"
    duration_s: float


ScenarioStep = ExecStep | SleepStep


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


Load = UsersLoad | ArrivalsLoad | BurstLoad


@dataclass(frozen=True, slots=True)
class RunConfig:
    """One run, as the master and each worker read it from `--config`.

    `run_id` ties a summary to its run. `percentiles` are those to be published (50.0, 99.9). `stats_url` is the
    managed target's `/stats`, empty for an external one. `drain_s` bounds the wait for iterations in flight at the
    end of the load. `start_lead_s` is the time between the start order and the agreed start instant.
    """

    version: int
    run_id: str
    namespace: str
    test: str
    target: Endpoint
    stats_url: str
    client: Client
    steps: tuple[ScenarioStep, ...]
    load: Load
    warm_up_s: float
    workers: int
    workers_timeout_s: float
    start_lead_s: float
    drain_s: float
    percentiles: tuple[float, ...]
