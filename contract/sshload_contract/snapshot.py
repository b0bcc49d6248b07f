"""Snapshot: the run as it stands, printed by the master once a second in a line of 4 kB at most."""

from dataclasses import dataclass
from enum import StrEnum, unique

SNAPSHOT_VERSION = 4


@unique
class Stage(StrEnum):
    """Where a run stands, as its master sees it. `SETTLING`: between two trials, until the target is idle."""

    WAITING_FOR_WORKERS = "waitingForWorkers"
    WARM_UP = "warmUp"
    MEASURING = "measuring"
    DRAINING = "draining"
    SETTLING = "settling"


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """How far a search for the capacity has come: the trial under way, its amount of load, and the bounds so far."""

    trial: int
    amount: float
    lower: float | None
    upper: float | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The last second of a run, and what is left of it. Rates are per second; `p99_us` is of successful totals.

    In a search the figures are the trial's, and `search` says where it stands; it is None in any other run.
    `elapsed_s` is then since the start of the first trial, and `remaining_s` the longest that trials can still take.
    """

    version: int
    run_id: str
    stage: Stage
    elapsed_s: float
    remaining_s: float
    workers_connected: int
    users: int
    held: int
    in_flight: int
    offered_rate: float
    completed_rate: float
    iterations: int
    failures: int
    p99_us: int | None
    search: SearchProgress | None
