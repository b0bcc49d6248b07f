"""From Totals to the RunSummary: rates, percentiles if there are enough samples, and refusals by kind.

Since OpenSSH 9.8 the client gets the same text ("Not allowed at this time") whether sshd dropped its connection because
of MaxStartups or of a penalty. A managed target counts both kinds. If it counted only one kind, it was that one. It
does not know what a jump host dropped.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import accumulate

from sshload_contract.load.stats import LoadStats
from sshload_contract.percentiles import percentile_key
from sshload_contract.vocabulary import InPath, Outcome, RunEnd, Timing, Window, is_of_jump_host
from sshload_contract.wire.program import ProgramUse
from sshload_contract.wire.report import ArrivalCounts, EncodedHistogram, ErrorCount, NegotiatedCount
from sshload_contract.wire.run_config import RunConfig
from sshload_contract.wire.run_summary import (
    GeneratorStats,
    Paused,
    RunSummary,
    SeriesPoint,
    ServerPoint,
    StageStats,
    StepStats,
    Trial,
)
from sshload_contract.wire.target import TargetStats

from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.recording.rated_time import counts_in_ramp
from sshload_worker.summary.totals import ErrorKey, Failures, SampleKey, Slices, StageTotals, Totals, worst_health
from sshload_worker.summary.users import population_stats

_UNKNOWN_DROP = Outcome.DROPPED_UNKNOWN

ERRORS_LIMIT = 200
NEGOTIATED_LIMIT = 50
_TOTAL = str(Timing.TOTAL)


def classify_refusals(totals: Totals, before: TargetStats | None, after: TargetStats | None) -> Totals:
    """Return the totals with DROPPED_UNKNOWN as THROTTLED or PENALISED, if the target's counts show which it is."""
    kind = _only_kind(before, after)
    if kind is None:
        return totals
    by_jump_host = any(outcome is _UNKNOWN_DROP and is_of_jump_host(step) for step, _, outcome in totals.histograms)

    def classified(step: str, outcome: Outcome) -> Outcome:
        """Change only drops in the target's own banner if jump hosts dropped too: others may be a jump host's."""
        known = step.rpartition(".")[2] == Timing.BANNER if by_jump_host else True
        return kind if outcome is _UNKNOWN_DROP and known and not is_of_jump_host(step) else outcome

    histograms: dict[SampleKey, LatencyHistogram] = {}
    for (step, window, outcome), histogram in totals.histograms.items():
        histograms.setdefault((step, window, classified(step, outcome)), LatencyHistogram()).merge(histogram)
    errors: dict[ErrorKey, Failures] = {}
    for (step, outcome, window), failures in totals.errors.items():
        key = (step, classified(step, outcome), window)
        errors[key] = errors[key].and_those(failures) if key in errors else failures
    return replace(totals, histograms=histograms, errors=errors)


def _only_kind(before: TargetStats | None, after: TargetStats | None) -> Outcome | None:
    """Return the one kind of drop that the target counted, None if it counted both or none, or was restarted.

    Return None too if the other kind may have occurred without being logged: sshd logs the first drops, and then omits
    lines for a while.
    """
    if before is None or after is None:
        return None
    throttled = after.dropped_max_startups - before.dropped_max_startups
    penalised = after.dropped_penalty - before.dropped_penalty
    if throttled > 0 and penalised == 0 and _would_log(before, before.dropped_penalty):
        return Outcome.THROTTLED
    if penalised > 0 and throttled == 0 and _would_log(before, before.dropped_max_startups):
        return Outcome.PENALISED
    return None


def _would_log(before: TargetStats, dropped: int) -> bool:
    """Return whether sshd certainly logs the next drop of a kind, of which it had logged `dropped` before."""
    return dropped == 0 or not before.dropped_is_lower_bound


@dataclass(frozen=True, slots=True)
class RunCourse:
    """How a trial went, as the master sees it. `elapsed_s` is from the agreed start to the end, 0 without a start."""

    end: RunEnd
    message: str
    started_unix_s: float
    finished_unix_s: float
    elapsed_s: float
    workers_connected: int
    workers_lost: int
    target_before: TargetStats | None
    target_held: TargetStats | None
    target_after: TargetStats | None
    held_most: int | None
    held_least: int | None
    series_interval_s: float
    series: tuple[SeriesPoint, ...]
    server_series: tuple[ServerPoint, ...] = ()
    in_path: Mapping[InPath, ProgramUse] = field(default_factory=dict)
    paused: Paused | None = None


def run_summary(config: RunConfig, totals: Totals, course: RunCourse) -> RunSummary:
    """Return the summary of a run of one trial, with the trial's `config`."""
    totals = classify_refusals(totals, course.target_before, course.target_after)
    durations = window_durations_s(config, course.elapsed_s)
    return RunSummary(
        run_id=config.run_id,
        end=course.end,
        message=course.message,
        login_failure=None,
        early_end=None,
        started_unix_s=course.started_unix_s,
        finished_unix_s=course.finished_unix_s,
        trial=Trial(
            number=1,
            amount=config.trial_load.amount,
            end=course.end,
            state=None,
            message="",
            invalidity=None,
            thresholds=(),
            started_s=0.0,
            load=_load_stats(config, totals, course, durations[Window.MEASURED]),
            steps=_step_stats(config, totals, durations),
            errors=_errors(totals),
            negotiated=_negotiated(totals),
            generator=_generator_stats(config, totals, course),
            target_before=course.target_before,
            target_held=course.target_held,
            target_after=course.target_after,
            server_series=course.server_series,
            users=population_stats(totals),
            paused=course.paused,
        ),
        search=None,
        series_interval_s=course.series_interval_s,
        series=_classified_series(totals, course),
        histograms=tuple(
            EncodedHistogram(step, window, outcome, histogram.count, histogram.encode())
            for (step, window, outcome), histogram in sorted(totals.histograms.items())
        ),
        omitted=(),
        stages=tuple(_stages(config, totals, durations[Window.MEASURED])),
        in_path=course.in_path,
    )


def window_durations_s(config: RunConfig, elapsed_s: float) -> dict[Window, float]:
    """Return the duration of each window: as planned, or shorter if the run was shorter.

    A burst load's last interval ends with its last iteration.
    """
    planned_s = config.trial_load.lasts_s
    warm_up_s = min(config.warm_up_s, elapsed_s)
    measured_s = min(planned_s, elapsed_s - warm_up_s)
    if config.trial_load.bursts and not planned_s:
        measured_s = elapsed_s - warm_up_s
    return {Window.WARM_UP: warm_up_s, Window.MEASURED: measured_s}


def _classified_series(totals: Totals, course: RunCourse) -> tuple[SeriesPoint, ...]:
    """Return the series with drops named as in the classified totals, if all drops have the same name there."""
    kind = _only_kind(course.target_before, course.target_after)
    if kind is None or any((_TOTAL, window, _UNKNOWN_DROP) in totals.histograms for window in Window):
        return course.series
    return tuple(replace(point, failed_by=_renamed(point.failed_by, kind)) for point in course.series)


def _renamed(failed_by: Mapping[Outcome, int], kind: Outcome) -> dict[Outcome, int]:
    counts = dict(failed_by)
    unknown = counts.pop(_UNKNOWN_DROP, 0)
    return {**counts, kind: counts.get(kind, 0) + unknown} if unknown else counts


def _load_stats(config: RunConfig, totals: Totals, course: RunCourse, measured_s: float) -> LoadStats:
    """Return the load in the measured window. Rates are per second of the time in which iterations were begun."""
    paced_s = measured_s - config.trial_load.before_iterations_s
    load = _counted(totals.window(Window.MEASURED), measured_s, paced_s)
    return replace(load, held_most=course.held_most, held_least=course.held_least)


def _counted(counts: ArrivalCounts, duration_s: float, paced_s: float) -> LoadStats:
    """Return the load with these counts of arrivals, which were begun within `paced_s`."""
    return LoadStats(
        duration_s=duration_s,
        scheduled=counts.scheduled,
        started=counts.started,
        succeeded=counts.succeeded,
        failed=counts.failed,
        late=counts.late,
        dropped=counts.dropped,
        offered_rate=_rate(counts.scheduled, paced_s),
        achieved_rate=_rate(counts.started, paced_s),
        completed_rate=_rate(counts.completed, paced_s),
        held_most=None,
        held_least=None,
    )


def _stages(config: RunConfig, totals: Totals, measured_s: float) -> Iterator[StageStats]:
    """Yield the stages that were reached, each with the duration that it had."""
    durations_s = config.trial_load.stage_durations_s
    for number, (planned_s, start_s) in enumerate(zip(durations_s, accumulate(durations_s, initial=0.0)), start=1):  # noqa: B905 - the last start is the end
        lasted_s = min(planned_s, measured_s - start_s)
        if lasted_s <= 0:
            return
        found = totals.stages.get(number, StageTotals())
        histograms = {(_TOTAL, Window.MEASURED, outcome): one for outcome, one in found.histograms.items()}
        load = _counted(found.counts, lasted_s, lasted_s)
        total = _one_step(config, Totals(histograms=histograms), _TOTAL, Window.MEASURED, lasted_s)
        # The similarity of neighbouring latencies is not known for a stage, so its percentiles have no bounds.
        total = replace(
            total, rate=load.completed_rate, percentiles_low_us=_no_bounds(total), percentiles_high_us=_no_bounds(total)
        )
        yield StageStats(number, load, total if histograms else None)


def _no_bounds(step: StepStats) -> dict[str, int | None]:
    return dict.fromkeys(step.percentiles_us)


def _step_stats(config: RunConfig, totals: Totals, durations: dict[Window, float]) -> tuple[StepStats, ...]:
    moved = ((step, window) for (step, window), count in totals.moved.items() if window is not None and count)
    keys = dict.fromkeys([*((step, window) for step, window, _ in totals.histograms), *totals.ended, *moved])
    return tuple(
        _one_step(config, totals, step, window, _open_s(config, step, window, durations))
        for step, window in sorted(keys, key=lambda key: _place(config, key[0]))
    )


def _place(config: RunConfig, measured: str) -> int:
    """Return where the timings of a step stand, in whichever order iterations did them: the login's are before all."""
    names = [step.name for step in config.scenario.steps]
    name = "" if is_of_jump_host(measured) else measured.rpartition(".")[0]
    return len(names) if measured == _TOTAL else names.index(name) if name and name in names else -1


def _open_s(config: RunConfig, step: str, window: Window, durations: dict[Window, float]) -> float:
    """Return how long the time is in which the ends of a step count for its rate."""
    of_iterations = window is Window.MEASURED and not counts_in_ramp(step)
    return durations[window] - (config.trial_load.before_iterations_s if of_iterations else 0.0)


def _one_step(config: RunConfig, totals: Totals, step: str, window: Window, open_s: float) -> StepStats:
    successes = totals.successes(step, window)
    slices = totals.slices if window is Window.MEASURED else Slices()
    intervals = {
        percentile: successes.percentile_interval_us(percentile, slices.spread(step, percentile))
        for percentile in config.percentiles
    }
    failures = sum(
        histogram.count
        for (other, other_window, outcome), histogram in totals.histograms.items()
        if (other, other_window) == (step, window) and outcome is not Outcome.OK
    )
    moves = any((step, moved_in) in totals.moved for moved_in in (*Window, None))
    return StepStats(
        step=step,
        window=window,
        count=successes.count,
        failures=failures,
        rate=_rate(totals.ended[step, window], open_s),
        min_us=successes.min_us(),
        mean_us=successes.mean_us(),
        max_us=successes.max_us(),
        bytes_per_second=_rate(totals.moved[step, window], open_s) if moves else None,
        percentiles_us={
            percentile_key(percentile): successes.percentile_us(percentile) for percentile in config.percentiles
        },
        percentiles_low_us={percentile_key(percentile): low for percentile, (low, _) in intervals.items()},
        percentiles_high_us={percentile_key(percentile): high for percentile, (_, high) in intervals.items()},
    )


def _errors(totals: Totals) -> tuple[ErrorCount, ...]:
    """Return the errors, most frequent first. Those of the generator are kept first: one makes a run Invalid."""
    errors = [
        ErrorCount(step, outcome, window, failures.count, failures.message, failures.near_pause)
        for (step, outcome, window), failures in totals.errors.items()
    ]
    errors.sort(key=lambda error: (error.outcome is not Outcome.GENERATOR_FAULT, *_rank(error)))
    return tuple(sorted(errors[:ERRORS_LIMIT], key=_rank))


def _rank(error: ErrorCount) -> tuple[int, str, str, str]:
    return -error.count, error.step, error.outcome, error.window


def _negotiated(totals: Totals) -> tuple[NegotiatedCount, ...]:
    ranked = sorted(totals.negotiated.items(), key=lambda item: -item[1])
    return tuple(NegotiatedCount(negotiated, count) for negotiated, count in ranked[:NEGOTIATED_LIMIT])


def _generator_stats(config: RunConfig, totals: Totals, course: RunCourse) -> GeneratorStats:
    health = worst_health(state.latest.health for state in totals.workers.values())
    return GeneratorStats(
        workers_expected=config.workers,
        workers_connected=course.workers_connected,
        workers_lost=course.workers_lost,
        reports_missing=_reports_missing(config, totals, course),
        **{one.name: getattr(health, one.name) for one in fields(health)},
    )


def _reports_missing(config: RunConfig, totals: Totals, course: RunCourse) -> int:
    """Return the number of missing reports: gaps in sequences, and missing final reports of started workers."""
    gaps = sum(state.missing for state in totals.workers.values())
    finals = sum(state.final for state in totals.workers.values())
    return gaps + (config.workers - finals if course.elapsed_s else 0)


def _rate(count: int, seconds: float) -> float:
    return count / seconds if seconds > 0 else 0.0
