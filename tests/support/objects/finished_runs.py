"""Finished runs to report on: with a course over time and distributions; a test, a search, the largest."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from math import sin
from random import Random
from typing import Any

from baselines import finished
from plans import quickstart
from runs import errors, load, retold, steps, summary, target_stats
from searches import failed, found_118, invalid, passed
from sshload_contract.vocabulary import Outcome, Timing, Window
from sshload_contract.wire.report import EncodedHistogram
from sshload_contract.wire.run_summary import RunSummary, SeriesPoint, StepStats
from sshload_operator.report.saved_run import SavedRun, finished_run
from sshload_worker.recording.histogram import LatencyHistogram

HOSTILE = "</script><script>window.hostile = 1</script><img src=x onerror='window.hostile = 2'>"
_PARTS = {
    Timing.CONNECT: 3_000,
    Timing.BANNER: 2_000,
    Timing.KEX: 14_000,
    Timing.AUTH: 21_000,
    Timing.CHANNEL_OPEN: 1_000,
    Timing.EXEC: 4_000,
    Timing.READ: 5_000,
    Timing.CLOSE: 1_000,
}
THRESHOLDS = [
    {"latency": {"step": "total", "percentile": 99, "below": "2s"}},
    {"errorRate": {"below": "1%"}},
]


def a_test(points: int = 90, message: str = "exit code 1", **changes: Any) -> SavedRun:
    """Return a test that passed, with so many intervals and some failures that said `message`."""
    found = retold(
        summary(succeeded=9_970, failed=30),
        **{
            "steps": _steps(),
            "errors": errors(30, message=message),
            "series": series(points),
            "histograms": histograms(),
            **changes,
        },
    )
    return _saved(found, quickstart(thresholds=THRESHOLDS))


def a_search() -> SavedRun:
    """Return a search that found the capacity, with a trial that cannot be trusted."""
    found = retold(
        found_118(passed(70), invalid(105), failed(127)),
        load=load(9_970, 30),
        steps=_steps(),
        errors=errors(30),
        negotiated=summary(9_970, 30).trial.negotiated,
        series=series(30),
        histograms=histograms(),
    )
    capacity = {"arrivals": {"min": 10, "max": 500, "duration": "30s"}, "precision": "5%", "confirm": 1}
    return _saved(found, quickstart(thresholds=THRESHOLDS, load={"capacity": capacity}))


def series(points: int) -> tuple[SeriesPoint, ...]:
    """Return a course with failures of two kinds in the middle, and one stretch without reports."""
    chance, made, at_s = Random(7), [], 0.0  # noqa: S311 - noise, and nothing secret
    for number in range(points):
        at_s += 4.0 if number == points * 2 // 3 else 1.0
        troubled = points // 3 < number < points // 2
        lost = chance.randrange(1, 6) if troubled else 0
        slow = 1 + (2.5 if troubled else 0) + 0.1 * sin(number) + 0.1 * chance.random()
        made.append(
            SeriesPoint(
                at_s=at_s,
                users=0,
                held=0,
                in_flight=3 + lost,
                started=30,
                succeeded=30 - lost,
                failed=lost,
                p99_us=round(90_000 * slow),
                p50_us=round(45_000 * slow),
                p90_us=round(60_000 * slow),
                failed_by={Outcome.THROTTLED: lost // 2, Outcome.EXIT_CODE: lost - lost // 2} if lost else {},
            )
        )
    return tuple(made)


@cache
def histograms() -> tuple[EncodedHistogram, ...]:
    """Return the distributions of a whole iteration, of the login, and of their parts."""
    return tuple(
        EncodedHistogram(str(step), Window.MEASURED, Outcome.OK, 10_000, _latencies(mean_us).encode())
        for step, mean_us in {**_PARTS, Timing.LOGIN: 40_000, Timing.TOTAL: 51_000}.items()
    )


def _latencies(mean_us: int) -> LatencyHistogram:
    chance = Random(mean_us)  # noqa: S311 - noise, and nothing secret
    return LatencyHistogram(round(mean_us * chance.lognormvariate(0, 0.4)) + 1 for _ in range(10_000))


def _steps() -> tuple[StepStats, ...]:
    sound = steps(9_970, 30)
    like = sound[-1]

    def of(step: str, mean_us: int) -> StepStats:
        scaled = {key: (value or 0) * mean_us // 51_000 for key, value in like.percentiles_us.items()}
        return replace(
            like,
            step=str(step),
            mean_us=float(mean_us),
            min_us=mean_us // 2,
            max_us=mean_us * 4,
            percentiles_us=scaled,
            percentiles_low_us=scaled,
            percentiles_high_us=scaled,
        )

    parts = tuple(of(step, mean_us) for step, mean_us in {**_PARTS, Timing.LOGIN: 40_000}.items())
    return (*steps(100, 0, Window.WARM_UP), sound[0], *parts, replace(like, mean_us=51_000.0))


def _saved(found: RunSummary, spec: Mapping[str, Any]) -> SavedRun:
    logins = found.trial.load.succeeded + found.trial.load.failed + 100
    found = retold(found, target_after=target_stats(logins, memory_peak_bytes=480_000_000, cpu_limit_cores=2.0))
    return finished_run(finished(found, spec, name="nightly"), found)


def largest() -> SavedRun:
    """Return a run with as many steps, intervals, errors and trials as there can be."""
    run = a_test(points=600)
    found = run.summary
    assert found is not None
    like = found.trial.steps[-1]
    percentiles = {str(percentile): 123_456 for percentile in (50, 75, 90, 95, 99, 99.9, 99.99)}
    many = tuple(
        replace(
            like,
            step=f"a-step-with-a-long-name-{number:03}.exec",
            percentiles_us=percentiles,
            percentiles_low_us=percentiles,
            percentiles_high_us=percentiles,
        )
        for number in range(180)
    )
    said = tuple(
        replace(errors(5, message=HOSTILE * 2)[0], step=f"a-step-with-a-long-name-{number:03}.exec")
        for number in range(100)
    )
    distributions = tuple(replace(histograms()[-1], step=step.step) for step in many)
    return _saved(
        retold(
            found,
            steps=(*found.trial.steps, *many),
            errors=(*found.trial.errors, *said),
            histograms=(*found.histograms, *distributions),
            series=tuple(replace(point, failed_by=dict.fromkeys(list(Outcome)[1:9], 1)) for point in found.series),
            search=found_118(*(failed(100 + number) for number in range(60))).search,
        ),
        quickstart(thresholds=THRESHOLDS),
    )
