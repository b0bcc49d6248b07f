"""The progress of a run: the series of its marks, its stage, the remaining time, and the Snapshot of these."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace

from sshload_contract.shortened import shortened
from sshload_contract.steal import MachineCpu, stolen_share
from sshload_contract.vocabulary import Outcome, Timing, Window
from sshload_contract.wire.master_log import (
    MOST_FAILURE_KINDS,
    PROBLEM_LIMIT_CHARACTERS,
    FailureKind,
    RunState,
    Snapshot,
    Stage,
)
from sshload_contract.wire.report import ArrivalCounts
from sshload_contract.wire.run_config import RunConfig
from sshload_contract.wire.run_summary import SeriesPoint

from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.summary.totals import NO_COUNTS, Totals, add_counts, subtract_counts

POINTS_LIMIT = 600


@dataclass(frozen=True, slots=True)
class Progress:
    """The reports of the workers up to one moment, `at_s` after the load's start, warm-up included.

    Workers report in turn, so their last reports are older than `at_s`. `reported_s` is the mean time of these reports
    since the start. So much of the load is counted, and rates are per second of it. `oldest_report_at_s` is the time of
    the oldest of them, 0 while a worker has not reported.
    """

    at_s: float
    reported_s: float
    oldest_report_at_s: float
    users: int
    held: int
    in_flight: int
    counts: ArrivalCounts
    totals_ok: LatencyHistogram
    failure_kinds: tuple[FailureKind, ...] = ()
    failed_by: Mapping[Outcome, int] = field(default_factory=dict)
    machine_cpu: MachineCpu | None = None


def progress(totals: Totals, at_s: float, workers: int) -> Progress:
    """Return the progress of `workers` workers at `at_s`. Later additions to the totals do not change it."""
    latencies = LatencyHistogram()
    for window in Window:
        latencies.merge(totals.histograms.get((str(Timing.TOTAL), window, Outcome.OK), LatencyHistogram()))
    latest = [state.latest for state in totals.workers.values()]
    reported_s = _reported_s(totals, at_s)
    return Progress(
        at_s=at_s,
        reported_s=min(sum(reported_s) / workers, at_s),
        oldest_report_at_s=min(reported_s) if len(reported_s) >= workers else 0.0,
        users=sum(report.users for report in latest),
        held=sum(report.held for report in latest),
        in_flight=sum(report.in_flight for report in latest),
        counts=add_counts(totals.counts.values()),
        totals_ok=latencies,
        failure_kinds=_failure_kinds(totals),
        failed_by=_failed_by(totals),
        machine_cpu=_machine_cpu(report.health.machine_cpu for report in latest),
    )


def _machine_cpu(reported: Iterable[MachineCpu | None]) -> MachineCpu | None:
    """Return the sum of the CPU time of all workers' machines since the start, None if one does not report it."""
    every = tuple(reported)
    if not every or None in every:
        return None
    known = tuple(one for one in every if one is not None)
    return MachineCpu(sum(one.total_s for one in known), sum(one.stolen_s for one in known))


def _failed_by(totals: Totals) -> dict[Outcome, int]:
    """Return the number of failed iterations by outcome."""
    found: Counter[Outcome] = Counter()
    for (step, _, outcome), histogram in totals.histograms.items():
        if step == Timing.TOTAL and outcome is not Outcome.OK:
            found[outcome] += histogram.count
    return dict(found)


def _failure_kinds(totals: Totals) -> tuple[FailureKind, ...]:
    """Return the most frequent kinds of failure."""
    counted: Counter[Outcome] = Counter()
    for (_, outcome, _), failures in totals.errors.items():
        counted[outcome] += failures.count
    return tuple(FailureKind(outcome, count) for outcome, count in counted.most_common(MOST_FAILURE_KINDS))


def _reported_s(totals: Totals, at_s: float) -> list[float]:
    """Return the time up to which each worker has reported. For a final report that is `at_s`."""
    return [at_s if state.final else min(state.latest.until_s, at_s) for state in totals.workers.values()]


NOTHING_YET = Progress(
    at_s=0.0,
    reported_s=0.0,
    oldest_report_at_s=0.0,
    users=0,
    held=0,
    in_flight=0,
    counts=NO_COUNTS,
    totals_ok=LatencyHistogram(),
    machine_cpu=MachineCpu(0.0, 0.0),
)


def adds_enough(before: Progress, now: Progress, interval_s: float) -> bool:
    """Return whether enough more of the load is reported to compute a rate: at least half an interval."""
    return now.reported_s >= before.reported_s + interval_s / 2


@dataclass(frozen=True, slots=True)
class _Interval:
    """The difference between the mark at the interval's end and the one before."""

    end: Progress
    counts: ArrivalCounts
    latencies: LatencyHistogram
    failed_by: Mapping[Outcome, int]


class Series:
    """A run's intervals, at most POINTS_LIMIT. If there are more, each two are joined into one twice as long."""

    def __init__(self, interval_s: float) -> None:
        self.interval_s = interval_s
        self._last = NOTHING_YET
        self._intervals: list[_Interval] = []

    def observe(self, mark: Progress, *, final: bool = False) -> None:
        """Add the mark that ends an interval. Ignore one that adds too little, unless it is the final one."""
        if not final and not adds_enough(self._last, mark, self.interval_s):
            return
        counts = subtract_counts(mark.counts, self._last.counts)
        latencies = mark.totals_ok.minus(self._last.totals_ok)
        failed_by = _grown(self._last.failed_by, mark.failed_by)
        end = replace(mark, totals_ok=LatencyHistogram(), failed_by={})
        self._intervals.append(_Interval(end, counts, latencies, failed_by))
        self._last = mark
        if len(self._intervals) > POINTS_LIMIT:
            self._join_pairs()

    def points(self) -> tuple[SeriesPoint, ...]:
        """Return the intervals, oldest first."""
        begins = (NOTHING_YET, *(interval.end for interval in self._intervals))
        return tuple(
            SeriesPoint(
                at_s=interval.end.reported_s,
                users=interval.end.users,
                held=interval.end.held,
                in_flight=interval.end.in_flight,
                started=interval.counts.started,
                succeeded=interval.counts.succeeded,
                failed=interval.counts.failed,
                p99_us=interval.latencies.percentile_us(99),
                p50_us=interval.latencies.percentile_us(50),
                p90_us=interval.latencies.percentile_us(90),
                failed_by=interval.failed_by,
                stolen_share=stolen_share(before.machine_cpu, interval.end.machine_cpu),
            )
            for before, interval in zip(begins, self._intervals, strict=False)
        )

    def _join_pairs(self) -> None:
        self.interval_s *= 2
        for first, second in zip(self._intervals[::2], self._intervals[1::2], strict=False):
            second.latencies.merge(first.latencies)
        joined = [
            replace(
                second,
                counts=add_counts((first.counts, second.counts)),
                failed_by=_sum(first.failed_by, second.failed_by),
            )
            for first, second in zip(self._intervals[::2], self._intervals[1::2], strict=False)
        ]
        rest = self._intervals[2 * len(joined) :]
        self._intervals = joined + rest


def _grown(before: Mapping[Outcome, int], now: Mapping[Outcome, int]) -> dict[Outcome, int]:
    grown = {outcome: count - before.get(outcome, 0) for outcome, count in now.items()}
    return {outcome: count for outcome, count in grown.items() if count > 0}


def _sum(first: Mapping[Outcome, int], second: Mapping[Outcome, int]) -> dict[Outcome, int]:
    return {outcome: first.get(outcome, 0) + second.get(outcome, 0) for outcome in {**first, **second}}


def run_stage(config: RunConfig, at_s: float, *, started: bool) -> Stage:
    """Return the stage of a trial `at_s` after its agreed start."""
    if not started:
        return Stage.WAITING_FOR_WORKERS
    if at_s >= _planned_s(config):
        return Stage.DRAINING
    return Stage.WARM_UP if at_s < config.warm_up_s else Stage.MEASURING


def remaining_s(run: RunConfig, elapsed_s: float, trial: RunConfig, at_s: float) -> float:
    """Return the longest time that trials can still take: the rest of the search's budget, or of the trial in progress.

    That is the time until its planned end or, while draining, until the latest end of the drain. The number of trials
    of a search is not known beforehand, so it usually ends earlier.
    """
    planned_s = _planned_s(trial)
    end_s = planned_s if at_s < planned_s else planned_s + trial.drain_s
    return max(run.load.budget_s - elapsed_s, end_s - at_s, 0.0)


def snapshot(run_id: str, standing: RunState, before: Progress, now: Progress) -> Snapshot:
    """Return the snapshot of `now`, with the rates since `before`, which is of the same trial."""
    counts = subtract_counts(now.counts, before.counts)
    passed_s = now.reported_s - before.reported_s
    standing = replace(standing, problem=shortened(standing.problem, PROBLEM_LIMIT_CHARACTERS))
    return Snapshot(
        **{one.name: getattr(standing, one.name) for one in fields(RunState)},
        run_id=run_id,
        users=now.users,
        held=now.held,
        in_flight=now.in_flight,
        offered_rate=counts.scheduled / passed_s if passed_s > 0 else 0.0,
        completed_rate=counts.succeeded / passed_s if passed_s > 0 else 0.0,
        iterations=now.counts.succeeded + now.counts.failed,
        failures=now.counts.failed,
        p99_us=now.totals_ok.percentile_us(99),
        p50_us=now.totals_ok.percentile_us(50),
        recent_p50_us=now.totals_ok.minus(before.totals_ok).percentile_us(50),
        failure_kinds=now.failure_kinds,
    )


def _planned_s(config: RunConfig) -> float:
    return config.warm_up_s + config.trial_load.lasts_s
