"""RunSummary: the whole result of a run. The master creates it once, at the end."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from sshload_contract.bounds import WIRE_VERSION, Amount, Count, Ordinal, PercentileKey, StageNumber
from sshload_contract.load.stats import LoadStats
from sshload_contract.shortened import shortened
from sshload_contract.thresholds import ThresholdResult
from sshload_contract.vocabulary import InPath, Invalidity, Outcome, RunEnd, SearchEnd, Timing, TrialState, Window
from sshload_contract.wire.program import ProgramUse
from sshload_contract.wire.report import EncodedHistogram, ErrorCount, Health, LoginFailure, NegotiatedCount
from sshload_contract.wire.target import TargetStats

SERVER_POINTS_LIMIT = 120
_FEW_ERRORS = 100
_SHORT_MESSAGE_CHARACTERS = 1_000
_MAIN_STEPS = frozenset({Timing.TOTAL, Timing.CONNECT, Timing.LOGIN})


@dataclass(frozen=True, slots=True)
class StepStats:
    """One step in one window. Latencies are of successes only, in microseconds; None if there are too few samples.

    The keys of `percentiles_us` are percentiles in their written form ("50", "99", "99.9"). `percentiles_low_us` and
    `percentiles_high_us` are the 95 % confidence interval of each, by the samples alone; in the measured window it is
    wider if successive latencies are correlated (`spread`). All these, `count` and `failures` are of the iterations
    that were due in the window: to leave out those that end after it would leave out the slowest.

    `rate` is what happened in the window, whenever the iterations were due: the successes that ended in it, per second
    of the time in which the step could begin. `bytes_per_second` is what moved in it, however the steps ended; None for
    a step without payload.
    """

    step: str
    window: Window
    count: Count
    failures: Count
    rate: Amount
    min_us: Count | None
    mean_us: Amount | None
    max_us: Count | None
    bytes_per_second: Amount | None
    percentiles_us: Mapping[PercentileKey, Count | None]
    percentiles_low_us: Mapping[PercentileKey, Count | None]
    percentiles_high_us: Mapping[PercentileKey, Count | None]


@dataclass(frozen=True, slots=True)
class StageStats:
    """One stage of a load with several, by the iterations that were due in it, but for its completed rate.

    `number` counts from 1.

    `total` is the whole iteration, None if none ended.
    """

    number: StageNumber
    load: LoadStats
    total: StepStats | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorStats(Health):
    """Whether the generator can be trusted: each figure is that of the worst worker, `cpu_s` the sum of all.

    `machine_cpu` is None: which workers share a machine is not known.
    """

    workers_expected: Count
    workers_connected: Count
    workers_lost: Count
    reports_missing: Count


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    """One interval of the time series, from the previous point to `at_s`, as far as workers have reported it.

    `at_s` is the mean time of the workers' last reports, since the start of the load. Workers report in turn, so the
    counts of a point cover as many seconds of the load as have passed since the previous point.

    Percentiles are of the whole iteration, successes only. `failed_by` has the outcomes of the failed ones.
    `stolen_share` is the share of the CPU time of the workers' machines that their hosts gave to others, None if no
    kernel reports it.
    """

    at_s: Amount
    users: Count
    held: Count
    in_flight: Count
    started: Count
    succeeded: Count
    failed: Count
    p99_us: Count | None
    p50_us: Count | None = None
    p90_us: Count | None = None
    failed_by: Mapping[Outcome, Count] = field(default_factory=dict)
    stolen_share: Amount | None = None


@dataclass(frozen=True, slots=True)
class ServerPoint:
    """The usage of the managed target in one interval, from the previous point to `at_s` after the start of the load.

    `cores` is CPU time per second and `stolen_share` that of its machine, both over the interval. The latter is None if
    the kernel does not report it. The other figures are those at `at_s`.
    """

    at_s: Amount
    cores: Amount
    stolen_share: Amount | None
    sessions: Count
    memory_bytes: Count


@dataclass(frozen=True, slots=True)
class UserStats:
    """What happened to one user of a population in the measured window. `place` counts from 0.

    `slowest_us` is the longest of the logins that succeeded, 0 if none did.
    """

    place: Count
    logins: Count
    failures: Count
    slowest_us: Count


@dataclass(frozen=True, slots=True)
class PopulationStats:
    """What happened to the users of a population. The first four figures are of the whole load, warm-up included.

    `size` is how many users there are. `took_part` of them began a login. `least_logins` and `most_logins` are the
    fewest and the most logins of one of them that succeeded, those without a turn included. `failed` had a failure in
    the measured window: `most_failures` are those with the most, and `slowest` those with the longest login.
    """

    size: Count
    took_part: Count
    least_logins: Count
    most_logins: Count
    failed: Count
    most_failures: tuple[UserStats, ...]
    slowest: tuple[UserStats, ...]


@dataclass(frozen=True, slots=True)
class Paused:
    """When the directory of the target's accounts was stopped and continued, in seconds after the start of the load."""

    from_s: Amount
    to_s: Amount


@dataclass(frozen=True, slots=True)
class Trial:
    """One trial: a load for a while, and what was counted. `started_s` is from the start of the first trial.

    Of a search, `state` is what the master counted it as by its `thresholds`, and `message` says what was broken
    (FAILED) or why it cannot be judged (INVALID). The one trial of a fixed load has none of these.

    `end` is COMPLETED unless the run's end cut the trial off. `target_before` and `target_after` are the managed
    target's own counts around it, `target_held` those when the most sessions were held, just before they were closed
    (None for any load but hold). `server_series` is the managed target's usage over time, in at most
    SERVER_POINTS_LIMIT points; empty for an external target. `failed_by` has the failures in the measured window of a
    search's trial by outcome, without those of jump hosts. `paused` is when the target's directory paused, by the
    target's own clock; None where it was not asked to, or did not.
    """

    number: Ordinal
    amount: Amount
    end: RunEnd
    state: TrialState | None
    message: str
    invalidity: Invalidity | None
    thresholds: tuple[ThresholdResult, ...]
    started_s: Amount
    load: LoadStats
    steps: tuple[StepStats, ...]
    errors: tuple[ErrorCount, ...]
    negotiated: tuple[NegotiatedCount, ...]
    generator: GeneratorStats
    target_before: TargetStats | None
    target_held: TargetStats | None
    target_after: TargetStats | None
    server_series: tuple[ServerPoint, ...] = ()
    failed_by: Mapping[Outcome, Count] = field(default_factory=dict)
    users: PopulationStats | None = None
    paused: Paused | None = None

    @property
    def in_short(self) -> "Trial":
        """The same with its main steps in the measured window only: what is kept of trials that are not reported."""
        steps = tuple(one for one in self.steps if one.window is Window.MEASURED and one.step in _MAIN_STEPS)
        return replace(self, steps=steps, errors=(), negotiated=(), server_series=())


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """The outcome of a search: `lower` is the capacity, the highest amount that met every threshold, None if none did.

    `upper` is the lowest amount above it that did not, None if none was found. `others` are all trials but the one that
    is reported, in short.
    """

    end: SearchEnd
    lower: Amount | None
    upper: Amount | None
    others: tuple[Trial, ...]


@dataclass(frozen=True, slots=True)
class EarlyEnd:
    """The load was ended early, `after_s` seconds after its start, because this threshold was broken.

    If that is empty, each user of the population had logged in, who logs in once.
    """

    after_s: Amount
    threshold: str


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The whole result of a run: its end, and its trials. All but `end`, `message` and `search` is of one `trial`.

    That is the only one of a fixed load, and of a search the last one that passed at its lower bound, or else the last
    of all. `login_failure` is that of a run that ended as LOGIN_FAILED, else None. `early_end` is None unless the load
    was ended because a threshold was broken: such a run has COMPLETED, and its measured window ends there. `search` is
    None if none was asked for. `stages` are those of a load with several, as far as they were reached. `in_path` is
    what the programs in the path used, without those that did not report it.

    `better_kex` are key exchanges of the server that the client did not ask for: those that the server lists before any
    that the client asked for, and those that OpenSSH's own clients prefer. It is empty for none, and None if the server
    was not asked. `omitted` names what was left out because the summary was too large. `run_json` is
    the RunConfig as the master read it.
    """

    version: int = field(default=WIRE_VERSION, kw_only=True)
    run_id: str
    end: RunEnd
    message: str
    login_failure: LoginFailure | None
    early_end: EarlyEnd | None
    started_unix_s: Amount
    finished_unix_s: Amount
    trial: Trial
    search: SearchOutcome | None
    series_interval_s: Amount
    series: tuple[SeriesPoint, ...]
    histograms: tuple[EncodedHistogram, ...]
    omitted: tuple[str, ...]
    run_json: str = ""
    better_kex: str | None = None
    stages: tuple[StageStats, ...] = ()
    in_path: Mapping[InPath, ProgramUse] = field(default_factory=dict)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials, in their order."""
        others = () if self.search is None else self.search.others
        return tuple(sorted((self.trial, *others), key=lambda trial: trial.number))


def shortened_summaries(summary: RunSummary) -> Iterator[RunSummary]:
    """Yield the whole summary, then increasingly shorter ones, whose `omitted` names what is missing.

    The time series is left out first, then the histograms, then all but the first errors, then all but the totals.
    """
    yield summary
    trial = replace(summary.trial, server_series=())
    summary = replace(summary, trial=trial, series=(), omitted=(*summary.omitted, "series"))
    yield summary
    summary = replace(summary, histograms=(), omitted=(*summary.omitted, "histograms"))
    yield summary
    few_errors = (*summary.omitted, f"errors after the first {_FEW_ERRORS}")
    yield replace(summary, trial=replace(trial, errors=trial.errors[:_FEW_ERRORS]), omitted=few_errors)
    yield replace(
        summary,
        trial=trial.in_short,
        stages=(),
        message=shortened(summary.message, _SHORT_MESSAGE_CHARACTERS),
        omitted=("all but the totals",),
    )
