"""RunSummary: all that a run found out. The master makes it once, at the end."""

from collections.abc import Mapping
from dataclasses import dataclass

from sshload_contract.sample import EncodedHistogram, ErrorCount, NegotiatedCount
from sshload_contract.target_stats import TargetStats
from sshload_contract.vocabulary import RunEnd, Window

RUN_SUMMARY_VERSION = 2


@dataclass(frozen=True, slots=True)
class StepStats:
    """One step in one window. Latencies are of successes only, in microseconds; None where there are too few samples.

    `percentiles_us` is keyed by the percentile as it is written ("50", "99", "99.9"). `bytes_per_second` is what the
    successes moved in the window, None for a step that moves no payload.
    """

    step: str
    window: Window
    count: int
    failures: int
    rate: float
    min_us: int | None
    mean_us: float | None
    max_us: int | None
    bytes_per_second: float | None
    percentiles_us: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class LoadStats:
    """What the load was in the measured window, in iterations and iterations per second.

    `held_most` and `held_least` are how many sessions were held at once, after the ramp; None for any load but hold.

    `offered` is what the load model asked for, `achieved` what was begun, `completed` what ended well inside.
    """

    duration_s: float
    scheduled: int
    started: int
    succeeded: int
    failed: int
    late: int
    dropped: int
    offered_rate: float
    achieved_rate: float
    completed_rate: float
    held_most: int | None
    held_least: int | None


@dataclass(frozen=True, slots=True)
class GeneratorStats:
    """Whether the generator can be trusted: the worst worker's figure of each kind."""

    workers_expected: int
    workers_connected: int
    workers_lost: int
    reports_missing: int
    cpu_share: float
    run_delay_share: float
    loop_lag_p99_us: int
    loop_lag_max_us: int
    ports_used: int
    ports_available: int
    overflows: int


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    """One interval of the time series, from the start of the run."""

    at_s: float
    users: int
    held: int
    in_flight: int
    started: int
    succeeded: int
    failed: int
    p99_us: int | None


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The whole result of a run. `target_before` and `target_after` are the managed target's own counts."""

    version: int
    run_id: str
    end: RunEnd
    message: str
    started_unix_s: float
    finished_unix_s: float
    load: LoadStats
    steps: tuple[StepStats, ...]
    errors: tuple[ErrorCount, ...]
    negotiated: tuple[NegotiatedCount, ...]
    generator: GeneratorStats
    target_before: TargetStats | None
    target_after: TargetStats | None
    series_interval_s: float
    series: tuple[SeriesPoint, ...]
    histograms: tuple[EncodedHistogram, ...]
