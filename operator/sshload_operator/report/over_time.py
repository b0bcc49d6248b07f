"""The course of a run: its intervals with rates, latencies, failures and CPU, and which cannot be trusted."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any, Final

from sshload_contract.steal import is_stolen
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.run_summary import SERVER_POINTS_LIMIT, RunSummary, SeriesPoint, ServerPoint

from sshload_operator.api.status.figures import milliseconds, percent, rounded

MOST_POINTS: Final = 600
"""A master keeps at most so many intervals, however long a run is. No more are read either."""

_STALLED_INTERVALS: Final = 2.5
_MOST_OUTCOMES: Final = 8
_OTHER: Final = "other"
_PERCENT: Final = 100.0


def over_time(summary: RunSummary) -> dict[str, Any]:
    """Return the intervals, each from the end of the one before to `atSeconds`, and which of them cannot be trusted.

    Rates are per second of the load that was reported. `errorPercent` is the share of failed iterations among those
    that ended, and `failedPercent` the same by how they ended: the most frequent outcomes of the run, and `other`.
    `stolenPercent` is of the workers' machines, in `server` of the managed target's. `stalled` and `stolen` are the
    periods in which workers did not report, or their hosts gave CPU time to others.
    """
    points = summary.series[:MOST_POINTS]
    named = _most_frequent(points)
    return {
        "intervalSeconds": summary.series_interval_s,
        "intervals": [_interval(before_s, point, named) for before_s, point in _with_begin(points)],
        "server": [_server_point(point) for point in summary.trial.server_series[:SERVER_POINTS_LIMIT]],
        "stalled": list(_stalled(points, summary.series_interval_s)),
        "stolen": list(_stolen(points)),
    }


def _most_frequent(points: Sequence[SeriesPoint]) -> frozenset[Outcome]:
    counted: Counter[Outcome] = Counter()
    for point in points:
        counted.update(point.failed_by)
    return frozenset(outcome for outcome, _ in counted.most_common(_MOST_OUTCOMES))


def _with_begin(points: Sequence[SeriesPoint]) -> Iterator[tuple[float, SeriesPoint]]:
    before_s = 0.0
    for point in points:
        if point.at_s > before_s:
            yield before_s, point
            before_s = point.at_s


def _interval(before_s: float, point: SeriesPoint, named: frozenset[Outcome]) -> dict[str, Any]:
    lasted_s, ended = point.at_s - before_s, point.succeeded + point.failed
    failed_by = {str(outcome): count for outcome, count in point.failed_by.items() if count and outcome in named}
    unnamed = point.failed - sum(failed_by.values())
    if unnamed > 0:
        failed_by[_OTHER] = unnamed
    return {
        "atSeconds": rounded(point.at_s),
        "begunRate": rounded(point.started / lasted_s),
        "completedRate": rounded(point.succeeded / lasted_s),
        "errorPercent": rounded(_PERCENT * point.failed / ended) if ended else None,
        "failedPercent": {name: rounded(_PERCENT * count / ended) for name, count in failed_by.items()}
        if ended
        else {},
        "p50Ms": milliseconds(point.p50_us),
        "p90Ms": milliseconds(point.p90_us),
        "p99Ms": milliseconds(point.p99_us),
        "users": point.users,
        "held": point.held,
        "inFlight": point.in_flight,
        "stolenPercent": percent(point.stolen_share),
    }


def _server_point(point: ServerPoint) -> dict[str, Any]:
    return {
        "atSeconds": rounded(point.at_s),
        "cores": rounded(point.cores),
        "stolenPercent": percent(point.stolen_share),
        "sessions": point.sessions,
        "memoryBytes": point.memory_bytes,
    }


def _stolen(points: Sequence[SeriesPoint]) -> Iterator[dict[str, Any]]:
    """Yield the periods in which so much CPU time of workers' machines was stolen that latencies may show it."""
    for is_one, intervals in groupby(_with_begin(points), lambda interval: is_stolen(interval[1].stolen_share)):
        if is_one:
            (begin_s, first), *more = intervals
            worst = max(point.stolen_share or 0.0 for point in (first, *(point for _, point in more)))
            yield {
                "fromSeconds": rounded(begin_s),
                "toSeconds": rounded(more[-1][1].at_s if more else first.at_s),
                "message": f"hosts of workers' machines gave up to {worst:.0%} of their CPU time to others (steal)",
            }


def _stalled(points: Sequence[SeriesPoint], interval_s: float) -> Iterator[dict[str, Any]]:
    """Yield the intervals that lasted much longer than the others: the generator or its master stood still."""
    if interval_s <= 0:
        return
    ends_s = [0.0, *(point.at_s for point in points)]
    for begin_s, end_s in pairwise(ends_s):
        if end_s - begin_s > _STALLED_INTERVALS * interval_s:
            yield {
                "fromSeconds": rounded(begin_s),
                "toSeconds": rounded(end_s),
                "message": f"no worker's report for {end_s - begin_s:.1f} s",
            }
