"""Totals: the sum of all workers' reports. The order and the grouping of the additions do not matter.

Slices keep the latencies of the measured window by time, as coarsely as the similarity of neighbours needs.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from operator import attrgetter

from sshload_contract.percentiles import MOST_SLICES, spread
from sshload_contract.population import MOST_USERS
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.report import ArrivalCounts, Health, Negotiated, Report

from sshload_worker.recording.histogram import LatencyHistogram

_SLICE_BITS = 6

_Slice = dict[str, Counter[int]]

_counted = attrgetter(*(one.name for one in fields(ArrivalCounts)))
NO_COUNTS = ArrivalCounts(scheduled=0, started=0, succeeded=0, failed=0, completed=0, late=0, dropped=0)
SampleKey = tuple[str, Window, Outcome]
ErrorKey = tuple[str, Outcome, Window]


@dataclass(frozen=True, slots=True)
class Failures:
    """How many failures there were, how many of them near a pause of the worker, and what one of them said."""

    count: int
    near_pause: int
    message: str

    def and_those(self, others: "Failures") -> "Failures":
        """Return the sum. The first message in sort order is kept, as it does not depend on the order of arrival."""
        return Failures(
            self.count + others.count, self.near_pause + others.near_pause, min(self.message, others.message)
        )


@dataclass(slots=True)
class Slices:
    """The latencies of each step in at most MOST_SLICES slices of equal length. If there are more, pairs are joined.

    Time is counted in reports, because all workers report at the same interval. The width of a bucket is at most 1/32
    of its values, which is enough to count the values below a percentile. The order of the additions does not matter.
    """

    _slices: dict[int, _Slice] = field(default_factory=dict)
    _joins: int = 0

    def add(self, sequence: int, step: str, latencies: LatencyHistogram) -> None:
        """Add the latencies of a worker's report with this sequence number."""
        _add_coarse(self._slice(sequence >> self._joins, step), latencies)
        while len(self._slices) > MOST_SLICES:
            self._join()

    def spread(self, step: str, percentile: float) -> float:
        """Return the factor by which to widen a percentile's interval that was computed for independent latencies.

        It is at least 1, and it is 1 if there are too few latencies or slices.
        """
        counted = [found[step] for _, found in sorted(self._slices.items()) if step in found]
        weights = [sum(latencies.values()) for latencies in counted]
        all_latencies: Counter[int] = Counter()
        for latencies in counted:
            all_latencies.update(latencies)
        bucket = _bucket_at(all_latencies, percentile / 100)
        below = [sum(count for floor, count in latencies.items() if floor <= bucket) for latencies in counted]
        whole, share = sum(weights), sum(below) / sum(weights) if counted else 0.0
        return spread(weights, below, whole * share * (1 - share))

    def _join(self) -> None:
        before, self._slices = self._slices, {}
        self._joins += 1
        for index, found in before.items():
            for step, latencies in found.items():
                self._slice(index >> 1, step).update(latencies)

    def _slice(self, index: int, step: str) -> Counter[int]:
        return self._slices.setdefault(index, {}).setdefault(step, Counter())


def _add_coarse(counts: Counter[int], latencies: LatencyHistogram) -> None:
    for floor, count in latencies.counts.items():
        shift = floor.bit_length() - _SLICE_BITS
        coarse = floor >> shift << shift if shift > 0 else floor
        counts[coarse] = counts.get(coarse, 0) + count  # Counter.update takes three times as long


def _bucket_at(latencies: Counter[int], share: float) -> int:
    """Return the bucket at whose end the share of latencies is nearest to `share`, 0 without latencies."""
    whole, passed = latencies.total(), 0
    best, distance = 0, 1.0
    for floor in sorted(latencies):
        passed += latencies[floor]
        if abs(passed / whole - share) < distance:
            best, distance = floor, abs(passed / whole - share)
    return best


@dataclass(slots=True)
class WorkerState:
    """The latest report of a worker, and which of its reports have arrived."""

    latest: Report
    sequences: set[int] = field(default_factory=set)
    final: bool = False

    @property
    def missing(self) -> int:
        """How many reports before the latest have not arrived."""
        return self.latest.sequence - len(self.sequences)


@dataclass(slots=True)
class StageTotals:
    """The iterations of one stage: their counts, and the latencies of whole iterations by outcome."""

    counts: ArrivalCounts = NO_COUNTS
    histograms: dict[Outcome, LatencyHistogram] = field(default_factory=dict)

    def add(self, outcome: Outcome, latencies: LatencyHistogram) -> None:
        """Add latencies of whole iterations."""
        self.histograms.setdefault(outcome, LatencyHistogram()).merge(latencies)

    def count(self, counts: ArrivalCounts) -> None:
        """Add counts of iterations."""
        self.counts = add_counts((self.counts, counts))


@dataclass(slots=True)
class UserTotals:
    """What happened to one user of a population in a window."""

    logins: int = 0
    failures: int = 0
    slowest_us: int = 0


@dataclass(slots=True)
class Totals:
    """Counts, histograms and errors of all workers over time, and each worker's latest report.

    `slices` has the latencies of successes in the measured window by time. `ended` has how many successes of a step
    ended in a window, and `moved` how many bytes it moved there, or in no window. `users` are those of a population of
    the size `population`, by window and place, as far as workers have ended.
    """

    counts: dict[Window, ArrivalCounts] = field(default_factory=dict)
    histograms: dict[SampleKey, LatencyHistogram] = field(default_factory=dict)
    slices: Slices = field(default_factory=Slices)
    stages: dict[int, StageTotals] = field(default_factory=dict)
    ended: Counter[tuple[str, Window]] = field(default_factory=Counter)
    moved: Counter[tuple[str, Window | None]] = field(default_factory=Counter)
    errors: dict[ErrorKey, Failures] = field(default_factory=dict)
    negotiated: dict[Negotiated, int] = field(default_factory=dict)
    workers: dict[int, WorkerState] = field(default_factory=dict)
    population: int = 0
    users: defaultdict[tuple[Window, int], UserTotals] = field(default_factory=lambda: defaultdict(UserTotals))

    def add(self, report: Report) -> bool:
        """Add a report; return False, and change nothing, if it was added before.

        Raises EncodingError, and changes nothing either, if a histogram cannot be read.
        """
        latencies = [LatencyHistogram.decode(encoded.data) for encoded in report.histograms]
        state = self.workers.get(report.worker)
        if state is None:
            state = self.workers[report.worker] = WorkerState(latest=report)
        if report.sequence in state.sequences:
            return False
        state.sequences.add(report.sequence)
        state.final = state.final or report.final
        if report.sequence > state.latest.sequence:
            state.latest = report
        self._add_iterations(report)
        for encoded, histogram in zip(report.histograms, latencies, strict=True):
            if (encoded.window, encoded.outcome) == (Window.MEASURED, Outcome.OK):
                self.slices.add(report.sequence, encoded.step, histogram)
            if encoded.stage:
                self._stage(encoded.stage).add(encoded.outcome, histogram)
            self._add_histogram((encoded.step, encoded.window, encoded.outcome), histogram)
        self._add_rated(report)
        for error in report.errors:
            key = (error.step, error.outcome, error.window)
            self._add_error(key, Failures(error.count, error.near_pause, error.first_message))
        for agreed in report.negotiated:
            self.negotiated[agreed.negotiated] = self.negotiated.get(agreed.negotiated, 0) + agreed.count
        self._add_users(report)
        return True

    def absorb(self, other: "Totals") -> None:
        """Add the counts of another trial of the same run, without those that only the trial's own summary needs."""
        for window, counts in other.counts.items():
            self._add_counts(window, counts)
        for key, histogram in other.histograms.items():
            self.histograms.setdefault(key, LatencyHistogram()).merge(histogram)
        self.moved.update(other.moved)
        for error_key, failures in other.errors.items():
            self._add_error(error_key, failures)
        for negotiated, count in other.negotiated.items():
            self.negotiated[negotiated] = self.negotiated.get(negotiated, 0) + count

    def window(self, window: Window) -> ArrivalCounts:
        """Return the counts of a window."""
        return self.counts.get(window, NO_COUNTS)

    def successes(self, step: str, window: Window) -> LatencyHistogram:
        """Return the latencies of a step's successes in a window."""
        return self.histograms.get((step, window, Outcome.OK), LatencyHistogram())

    def _add_iterations(self, report: Report) -> None:
        for window, counts in report.counts.items():
            self._add_counts(window, counts)
        for found in report.stages:
            self._stage(found.stage).count(found.counts)

    def _stage(self, number: int) -> StageTotals:
        return self.stages.setdefault(number, StageTotals())

    def _add_rated(self, report: Report) -> None:
        for ended in report.ended:
            self.ended[ended.step, ended.window] += ended.count
        for moved in report.moved:
            self.moved[moved.step, moved.window] += moved.count

    def _add_users(self, report: Report) -> None:
        self.population = max(self.population, min(report.population, MOST_USERS))
        for counts in report.users_of_population:
            rows = zip(counts.places, counts.logins, counts.failures, counts.slowest_us, strict=False)
            for place, logins, failures, slowest_us in rows:
                if place < self.population:
                    user = self.users[counts.window, place]
                    user.logins += logins
                    user.failures += failures
                    user.slowest_us = max(user.slowest_us, slowest_us)

    def _add_counts(self, window: Window, counts: ArrivalCounts) -> None:
        self.counts[window] = add_counts((self.window(window), counts))

    def _add_histogram(self, key: SampleKey, histogram: LatencyHistogram) -> None:
        known = self.histograms.get(key)
        if known is None:
            self.histograms[key] = histogram
        else:
            known.merge(histogram)

    def _add_error(self, key: ErrorKey, failures: Failures) -> None:
        known = self.errors.get(key)
        self.errors[key] = failures if known is None else known.and_those(failures)


def add_counts(counts: Iterable[ArrivalCounts]) -> ArrivalCounts:
    """Return the sums."""
    return ArrivalCounts(*(sum(column) for column in zip(_counted(NO_COUNTS), *map(_counted, counts), strict=True)))


def subtract_counts(later: ArrivalCounts, earlier: ArrivalCounts) -> ArrivalCounts:
    """Return `later` minus `earlier`."""
    return ArrivalCounts(*(now - then for now, then in zip(_counted(later), _counted(earlier), strict=True)))


def worst_health(healths: Iterable[Health]) -> Health:
    """Return the worst worker's value of each figure, of available ports the fewest; overflows and CPU time as sums."""
    every = tuple(healths)
    return Health(
        cpu_share=max((one.cpu_share for one in every if one.cpu_share is not None), default=None),
        run_delay_share=max((one.run_delay_share for one in every if one.run_delay_share is not None), default=None),
        stolen_share=max((one.stolen_share for one in every if one.stolen_share is not None), default=None),
        loop_lag_mean_us=max((one.loop_lag_mean_us for one in every), default=0),
        loop_lag_p50_us=max((one.loop_lag_p50_us for one in every), default=0),
        loop_lag_p99_us=max((one.loop_lag_p99_us for one in every), default=0),
        loop_lag_p999_us=max((one.loop_lag_p999_us for one in every), default=0),
        loop_lag_max_us=max((one.loop_lag_max_us for one in every), default=0),
        ports_used=max((one.ports_used for one in every), default=0),
        ports_available=min((one.ports_available for one in every), default=0),
        overflows=sum(one.overflows for one in every),
        cpu_s=sum(one.cpu_s for one in every),
        cpu_cores=max((one.cpu_cores for one in every if one.cpu_cores is not None), default=None),
        memory_peak_bytes=max(
            (one.memory_peak_bytes for one in every if one.memory_peak_bytes is not None), default=None
        ),
    )
