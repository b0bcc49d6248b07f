"""Report: the wire form in which a worker's samples reach the master."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sshload_contract.steal import MachineCpu
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.bounds import Amount, Count, Ordinal, StageNumber

REPORT_VERSION = 10


@dataclass(frozen=True, slots=True)
class EncodedHistogram:
    """An HDR histogram (1 us to 100 h, 3 digits) of one step and outcome, in the V2 compressed base64 encoding.

    `stage` is the stage of whole iterations, from 1, of a load with several; 0 of all else.
    """

    step: str
    window: Window
    outcome: Outcome
    count: Count
    data: str
    stage: StageNumber = 0


@dataclass(frozen=True, slots=True)
class ByteCount:
    """How many bytes of payload the successes of one step moved."""

    step: str
    window: Window
    count: Count


@dataclass(frozen=True, slots=True)
class LateCount:
    """Of the successes of one step and the bytes that they moved, those that came after the end of their window.

    They are counted with the others, but the rates of the window are without them.
    """

    step: str
    window: Window
    count: Count
    bytes: Count


@dataclass(frozen=True, slots=True)
class ArrivalCounts:
    """Iterations of one window: due, begun, succeeded, failed, begun too late, and not begun because there was no room.

    `completed_inside` are those that succeeded before the window's own end: the completed rate is theirs.
    """

    scheduled: Count
    started: Count
    succeeded: Count
    failed: Count
    completed_inside: Count
    late: Count
    dropped: Count


@dataclass(frozen=True, slots=True)
class StageCounts:
    """Iterations that were due in one stage of a load with several; `completed_inside` succeeded before its end."""

    stage: StageNumber
    counts: ArrivalCounts


PORTS_SHARE_LIMIT: Final = 0.9
"""The share of a worker's source ports above which connections wait for one."""


@dataclass(frozen=True, slots=True)
class Health:
    """What a worker's numbers are worth: its own lag and shortages, since the start of the run.

    `cpu_share` is CPU time over wall time of the busiest second: of the worker's one thread, or of it and the programs
    that it starts (OpenSSH's) as a part of all CPUs that they may run on, whichever is more; None before there was a
    whole second; `run_delay_share` is the share of time that the thread was runnable and not run (schedstat in
    proc(5)), and `stolen_share` the share of the machine's CPU time that its host gave to others; both are None where
    the kernel does not tell. A process without which the worker cannot measure, such as the relay of
    client.networkDelay, is held to the same: the worse of the two is told.
    `loop_lag_mean_us`, `loop_lag_p50_us`, `loop_lag_p99_us`, `loop_lag_p999_us` and `loop_lag_max_us` tell how late the
    event loop woke; a percentile with too few samples is the maximum. `machine_cpu` is the time of the machine's CPUs
    since the start of the run, None where the kernel does not tell. `cpu_s` is the CPU time since then of the worker's
    process and of the programs that it started and that have ended. `memory_peak_bytes` is the most resident memory
    that the process has had since it began, without such programs, None where the kernel does not tell.
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


IMPLICIT_MAC: Final = "implicit"
"""The `mac` where the cipher authenticates by itself, in OpenSSH's word."""


@dataclass(frozen=True, slots=True)
class Negotiated:
    """What a handshake negotiated. Every result has it, so that a cheap handshake is not taken for a usual one."""

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
    """Failures of one step and outcome, with the first message seen (at most 200 characters, no credentials)."""

    step: str
    outcome: Outcome
    window: Window
    count: Count
    first_message: str


@dataclass(frozen=True, slots=True)
class Report:
    """What one worker adds since its last report: deltas, but for what is current.

    Current are `in_flight`, `users`, `held` and `health`.

    `worker` is the completion index of its pod. `trial` counts from 1 in a search for the capacity, and is 0 in any
    other run. `sequence` grows by one with each report of a worker in a trial, so that a lost or repeated report is
    seen. `final` marks the trial's last one. `until_s` is how long after the load's start it was made, 0 before that.
    """

    version: int
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
    transferred: tuple[ByteCount, ...]
    late: tuple[LateCount, ...]
    errors: tuple[ErrorCount, ...]
    negotiated: tuple[NegotiatedCount, ...]
    health: Health


@dataclass(frozen=True, slots=True)
class LoginFailure:
    """Why a worker could not log in before the load.

    `jump_host` counts from 1 and is 0 for the target, whose host and port these are then. `outcome` is None where the
    host's name has no address. `message` is what the server or the resolver said, and of a name with several
    addresses, what became of each (at most 500 characters).
    """

    worker: Count
    jump_host: Count
    host: str
    port: Count
    outcome: Outcome | None
    message: str
