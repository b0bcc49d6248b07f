"""Snapshot: the run as it stands, printed by the master once a second in a line of 4 kB at most."""

from dataclasses import dataclass
from enum import StrEnum, unique

from sshload_contract.bounds import Amount, Count
from sshload_contract.vocabulary import Outcome

SNAPSHOT_VERSION = 5
PROBLEM_LIMIT_CHARACTERS = 200
MOST_FAILURE_KINDS = 3


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

    trial: Count
    amount: Amount
    lower: Amount | None
    upper: Amount | None


@dataclass(frozen=True, slots=True)
class FailureKind:
    """How often steps have ended in one outcome other than `ok`."""

    outcome: Outcome
    count: Count


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How a run stands by its workers' last reports, and what is left of it. Percentiles are of successful totals.

    `recent_p50_us` is of the time that the rates are of. `failure_kinds` are the most frequent ones. All three last
    fields are missing in the snapshots of an older release.

    Rates are per second of the load that was reported last: of half a second at least, and mostly of one or two.

    In a search the figures are the trial's, and `search` says where it stands; it is None in any other run.
    `elapsed_s` is then since the start of the first trial, and `remaining_s` the longest that trials can still take.
    `problem` says why the target cannot be reached yet, in at most PROBLEM_LIMIT_CHARACTERS, and is empty otherwise.
    """

    version: int
    run_id: str
    stage: Stage
    elapsed_s: Amount
    remaining_s: Amount
    workers_connected: Count
    users: Count
    held: Count
    in_flight: Count
    offered_rate: Amount
    completed_rate: Amount
    iterations: Count
    failures: Count
    p99_us: Count | None
    search: SearchProgress | None
    problem: str
    p50_us: Count | None = None
    recent_p50_us: Count | None = None
    failure_kinds: tuple[FailureKind, ...] = ()
