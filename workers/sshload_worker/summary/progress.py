"""The run over time, as the master sees it: a snapshot each second, and the time series of the summary."""

from dataclasses import dataclass, replace

from sshload_contract.run_summary import SeriesPoint
from sshload_contract.sample import ArrivalCounts
from sshload_contract.vocabulary import Outcome, Step, Window

from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.summary.merge import NO_COUNTS, Totals, add_counts, subtract_counts

POINTS_LIMIT = 600


@dataclass(frozen=True, slots=True)
class Progress:
    """What the workers have reported up to one moment, `at_s` after the load's start, warm-up included.

    Workers report in turn, so that their last reports are older. `reported_s` is the mean of the instants, since the
    start, of these reports: so much of the load is counted, and rates are per second of it.
    """

    at_s: float
    reported_s: float
    users: int
    held: int
    in_flight: int
    counts: ArrivalCounts
    totals_ok: LatencyHistogram


def progress(totals: Totals, at_s: float, workers: int) -> Progress:
    """Return where the totals of so many workers stand at `at_s`; later additions to the totals do not change it."""
    latencies = LatencyHistogram()
    for window in Window:
        latencies.merge(totals.histograms.get((str(Step.TOTAL), window, Outcome.OK), LatencyHistogram()))
    latest = [state.latest for state in totals.workers.values()]
    return Progress(
        at_s=at_s,
        reported_s=_reported_s(totals, at_s, workers),
        users=sum(report.users for report in latest),
        held=sum(report.held for report in latest),
        in_flight=sum(report.in_flight for report in latest),
        counts=add_counts(totals.counts.values()),
        totals_ok=latencies,
    )


def _reported_s(totals: Totals, at_s: float, workers: int) -> float:
    """Return up to when the workers have reported on average; one that has reported finally has nothing to add."""
    until_s = (at_s if state.final else min(state.latest.until_s, at_s) for state in totals.workers.values())
    return min(sum(until_s) / workers, at_s)


NOTHING_YET = Progress(
    at_s=0.0, reported_s=0.0, users=0, held=0, in_flight=0, counts=NO_COUNTS, totals_ok=LatencyHistogram()
)


def adds_enough(before: Progress, now: Progress, interval_s: float) -> bool:
    """Tell whether so much more of the load is reported that a rate can be told of it: half an interval, or more."""
    return now.reported_s >= before.reported_s + interval_s / 2


@dataclass(frozen=True, slots=True)
class _Interval:
    """What the mark at the interval's end adds to the one before."""

    end: Progress
    counts: ArrivalCounts
    latencies: LatencyHistogram


class Series:
    """A run's intervals, at most POINTS_LIMIT of them: where there are more, each two become one twice as long."""

    def __init__(self, interval_s: float) -> None:
        self.interval_s = interval_s
        self._last = NOTHING_YET
        self._intervals: list[_Interval] = []

    def observe(self, mark: Progress, *, final: bool = False) -> None:
        """Take the mark that ends an interval; ignore one that adds too little, unless it is the final one."""
        if not final and not adds_enough(self._last, mark, self.interval_s):
            return
        counts = subtract_counts(mark.counts, self._last.counts)
        latencies = mark.totals_ok.minus(self._last.totals_ok)
        self._intervals.append(_Interval(replace(mark, totals_ok=LatencyHistogram()), counts, latencies))
        self._last = mark
        if len(self._intervals) > POINTS_LIMIT:
            self._join_pairs()

    def points(self) -> tuple[SeriesPoint, ...]:
        """Return the intervals, the oldest first."""
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
            )
            for interval in self._intervals
        )

    def _join_pairs(self) -> None:
        self.interval_s *= 2
        for first, second in zip(self._intervals[::2], self._intervals[1::2], strict=False):
            second.latencies.merge(first.latencies)
        joined = [
            replace(second, counts=add_counts((first.counts, second.counts)))
            for first, second in zip(self._intervals[::2], self._intervals[1::2], strict=False)
        ]
        rest = self._intervals[2 * len(joined) :]
        self._intervals = joined + rest
