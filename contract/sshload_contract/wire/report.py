"""Report: the form in which a worker sends its samples to the master."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from sshload_contract.bounds import WIRE_VERSION, Amount, Count, Ordinal, StageNumber
from sshload_contract.steal import MachineCpu
from sshload_contract.vocabulary import Outcome, Window


@dataclass(frozen=True, slots=True)
class EncodedHistogram:
    """An HDR histogram (1 us to 100 h, 3 digits) of one step and outcome, in the V2 compressed base64 encoding.

    `stage` is set for whole iterations of a load with several stages, and counts from 1; else it is 0.
    """

    step: str
    window: Window
    outcome: Outcome
    count: Count
    data: str
    stage: StageNumber = 0


@dataclass(frozen=True, slots=True)
class EndCount:
    """How many successes of one step ended in a window, whenever their iterations were due. Rates count these."""

    step: str
    window: Window
    count: Count


@dataclass(frozen=True, slots=True)
class ByteCount:
    """How many bytes of payload one step moved in a window, however it ends. The window is None for any other time."""

    step: str
    window: Window | None
    count: Count


@dataclass(frozen=True, slots=True)
class ArrivalCounts:
    """Iterations that were due in one window: due, begun, succeeded, failed, begun too late, and without room to begin.

    `completed` are those that succeeded and ended in the window, whenever they were due: the completed rate counts
    these.
    """

    scheduled: Count
    started: Count
    succeeded: Count
    failed: Count
    completed: Count
    late: Count
    dropped: Count


@dataclass(frozen=True, slots=True)
class StageCounts:
    """Iterations that were due in one stage of a load with several; `completed` are those that ended in it."""

    stage: StageNumber
    counts: ArrivalCounts


PORTS_SHARE_LIMIT: Final = 0.9
"""The share of a worker's source ports above which connections wait for one."""


@dataclass(frozen=True, slots=True)
class Health:
    """How far a worker's figures can be trusted: its own lag and shortages, since the start of the run.

    `cpu_share` is CPU time over wall time of the busiest second: of the worker's one thread, or of it and the programs
    that it starts (OpenSSH's) as a share of all CPUs on which they may run, whichever is more; None before the first
    whole second. `cpu_cores` is the CPU time of all of them over wall time of their busiest second. `run_delay_share`
    is the share of time in which the thread was runnable but did not run (schedstat in proc(5)), and `stolen_share` the
    share of the machine's CPU time that its host gave to others; both are None if the kernel does not report them. They
    also cover a process that the worker needs to measure, such as the relay of client.networkDelay: the worse of the
    two figures is reported.
    `loop_lag_mean_us`, `loop_lag_p50_us`, `loop_lag_p99_us`, `loop_lag_p999_us` and `loop_lag_max_us` are how late the
    event loop woke; a percentile with too few samples is the maximum. `machine_cpu` is the time of the machine's CPUs
    since the start of the run, None if the kernel does not report it. `cpu_s` is the CPU time since then of the
    worker's process and of the programs that it started and that have ended. `memory_peak_bytes` is the peak resident
    memory of the process since it began, without such programs, None if the kernel does not report it.
    """

    cpu_share: Amount | None
    run_delay_share: Amount | None
    stolen_share: Amount | None
    loop_lag_mean_us: Count
    loop_lag_p50_us: Count
    loop_lag_p99_us: Count
    loop_lag_p999_us: Count
    loop_lag_max_us: Count
    ports_used: Count
    ports_available: Count
    overflows: Count
    machine_cpu: MachineCpu | None = None
    cpu_s: Amount = 0.0
    memory_peak_bytes: Count | None = None
    cpu_cores: Amount | None = None


IMPLICIT_MAC: Final = "implicit"
"""The `mac` if the cipher itself authenticates: OpenSSH's word."""


@dataclass(frozen=True, slots=True)
class Negotiated:
    """What a handshake negotiated. Every result has it, so that a cheap handshake is not mistaken for a usual one."""

    kex: str
    cipher: str
    mac: str
    host_key: str
    server_version: str


@dataclass(frozen=True, slots=True)
class NegotiatedCount:
    """How many logins negotiated this."""

    negotiated: Negotiated
    count: Count


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """Failures of one step and outcome, with the first message seen (at most 200 characters, no credentials).

    `near_pause` of them a pause of the worker may have caused (judgement/pauses.py).
    """

    step: str
    outcome: Outcome
    window: Window
    count: Count
    first_message: str
    near_pause: Count = 0


@dataclass(frozen=True, slots=True)
class UserCounts:
    """What happened to users of a population in a window. The n-th of each of these belong together.

    `places` are those in the population, from 0. `slowest_us` is the longest login that succeeded, 0 if none did.
    """

    window: Window
    places: tuple[Count, ...]
    logins: tuple[Count, ...]
    failures: tuple[Count, ...]
    slowest_us: tuple[Count, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The changes at one worker since its last report; `in_flight`, `users`, `held` and `health` are current values.

    `worker` is the completion index of its pod. `trial` counts from 1 in a search for the capacity, and is 0 in any
    other run. `sequence` increases by one with each report of a worker in a trial, so that a lost or repeated report is
    noticed. `final` marks the last one of the trial. `until_s` is how long after the start of the load it was made, 0
    before that. `population` is how many users may log in, 0 for one alone; the counts of each of them are all since
    the start, and only in the last report.
    """

    version: int = field(default=WIRE_VERSION, kw_only=True)
    run_id: str
    worker: Count
    trial: Count
    sequence: Ordinal
    until_s: Amount
    final: bool
    in_flight: Count
    users: Count
    held: Count
    counts: Mapping[Window, ArrivalCounts]
    stages: tuple[StageCounts, ...]
    histograms: tuple[EncodedHistogram, ...]
    ended: tuple[EndCount, ...]
    moved: tuple[ByteCount, ...]
    errors: tuple[ErrorCount, ...]
    negotiated: tuple[NegotiatedCount, ...]
    health: Health
    population: Count = 0
    users_of_population: tuple[UserCounts, ...] = ()


@dataclass(frozen=True, slots=True)
class LoginFailure:
    """Why a worker could not log in before the load.

    `jump_host` counts from 1, and is 0 for the target. `host` and `port` are those of that server. `outcome` is None if
    the host's name has no address. `message` is the error of the server or the resolver; for a name with several
    addresses it has the error of each (at most 500 characters).
    """

    worker: Count
    jump_host: Count
    host: str
    port: Count
    outcome: Outcome | None
    message: str
