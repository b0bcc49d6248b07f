"""Recorder: counts what happens on a worker, until the next report takes the counts."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sized
from dataclasses import astuple, dataclass
from time import monotonic_ns
from typing import NamedTuple, Protocol

from sshload_contract.judgement.pauses import Pauses
from sshload_contract.vocabulary import Outcome, Timing, Window
from sshload_contract.wire.report import (
    ArrivalCounts,
    ByteCount,
    EncodedHistogram,
    EndCount,
    ErrorCount,
    Health,
    Negotiated,
    NegotiatedCount,
    Report,
    StageCounts,
    UserCounts,
)

from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.recording.rated_time import RatedTime, window_of

_NS_PER_US = 1_000
LATE_AFTER_NS = 20_000_000
"""An iteration that begins more than this after it was due is counted as late: 20 ms, two turns of a busy loop."""


@dataclass(slots=True)
class _Counts:
    scheduled: int = 0
    started: int = 0
    succeeded: int = 0
    failed: int = 0
    completed: int = 0
    late: int = 0
    dropped: int = 0

    def frozen(self) -> ArrivalCounts:
        return ArrivalCounts(*astuple(self))


class Listener(Protocol):
    """Gets every sample twice: at once, and in a sum with all samples of its name and outcome since the last report."""

    @property
    def at_once(self) -> Sized:
        """The listeners that want each sample. While there are none, `on_sample` is not called."""

    def on_sample(self, step: str, outcome: Outcome, latency_us: int) -> None:
        """Handle a sample that has just been counted."""

    def on_sum(self, step: str, outcome: Outcome, counts: Mapping[int, int]) -> None:
        """Handle the samples of a report: the number in each bucket, by the lowest latency of the bucket in us."""


class _NoListener:
    at_once: Sized = ()

    def on_sample(self, step: str, outcome: Outcome, latency_us: int) -> None:
        pass

    def on_sum(self, step: str, outcome: Outcome, counts: Mapping[int, int]) -> None:
        pass


_NO_LISTENER = _NoListener()


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """The timings of one kind of operation.

    For each name, `between` has the indexes of its start and its end in the instants of an operation.
    """

    names: tuple[str, ...]
    between: tuple[tuple[int, int], ...]


class _Row(NamedTuple):
    """Where one timing of an operation is counted. `begin` and `end` are indexes in the instants of the operation."""

    name: str
    begin: int
    end: int
    histogram: LatencyHistogram
    is_heard: bool


@dataclass(slots=True)
class _Failures:
    first_message: str
    count: int = 0
    near_pause: int = 0


@dataclass(slots=True)
class _OfUser:
    """What happened to one user of a population."""

    logins: int = 0
    failures: int = 0
    slowest_us: int = 0


class Recorder:
    """The counts since the last report, and the present state: iterations in flight, users, held sessions, connections.

    `opened` counts all connections that were ever begun. `population` is how many users may log in, 0 for one alone.
    `rated` has the windows in which ends and bytes count for rates; at first, all time is measured.
    `trial` is the number of the search's trial that all this belongs to, 0 in any other run.
    `listener` gets the samples whose name ends in one of the steps `listened_to`. `pauses` are the worker's.
    Once the run is stopped (`is_stopped`), what is unfinished has neither succeeded nor failed.
    """

    def __init__(
        self,
        run_id: str,
        worker: int,
        listener: Listener = _NO_LISTENER,
        listened_to: Collection[str] = (),
        *,
        trial: int = 0,
    ) -> None:
        self._listener = listener
        self.pauses = Pauses()
        self.is_stopped = False
        self._listened_to = frozenset(map(str, listened_to))
        self.in_flight = 0
        self.users = 0
        self.held = 0
        self.connections = 0
        self.opened = 0
        self.population = 0
        self.rated = RatedTime()
        self._overflows = 0
        self._run_id = run_id
        self._worker = worker
        self._trial = trial
        self._sequence = 0
        self._users: defaultdict[tuple[Window, int], _OfUser] = defaultdict(_OfUser)
        self._empty()

    def _empty(self) -> None:
        self._counts = {window: _Counts() for window in Window}  # without those of a stage
        self._stage_counts: defaultdict[int, _Counts] = defaultdict(_Counts)
        self._histograms: dict[tuple[str, Window, Outcome, int], LatencyHistogram] = {}
        self._rows: dict[tuple[Spans, Window, int], tuple[_Row, ...]] = {}
        self._heard: set[str] = set()
        self._failures: dict[tuple[str, Outcome, Window], _Failures] = {}
        self._negotiated: dict[Negotiated, int] = {}
        self._ended: Counter[tuple[str, int]] = Counter()  # by the number of the part of the load
        self._moved: Counter[tuple[str, int]] = Counter()

    @property
    def overflows(self) -> int:
        """How many latencies were too long for their histogram, including those since the last report."""
        return self._overflows + sum(histogram.overflows for histogram in self._histograms.values())

    def dropped(self, window: Window, stage: int = 0) -> None:
        """Count an iteration that was due, but was not begun because too many were in progress."""
        counts = self._stage_counts[stage] if stage else self._counts[window]
        counts.scheduled += 1
        counts.dropped += 1

    def started(self, window: Window, delay_ns: int, stage: int = 0) -> None:
        """Count an iteration that begins, `delay_ns` after it was due."""
        counts = self._stage_counts[stage] if stage else self._counts[window]
        counts.scheduled += 1
        counts.started += 1
        counts.late += delay_ns > LATE_AFTER_NS
        self.in_flight += 1

    def ended(self, window: Window, outcome: Outcome, at_ns: int, stage: int = 0) -> None:
        """Count the end of an iteration, with those that were due in its window and stage.

        A success is also counted as completed, in the window and stage in which it ends.
        """
        self.in_flight -= 1
        if self._is_cut_off(outcome):
            return
        counts = self._stage_counts[stage] if stage else self._counts[window]
        if outcome is Outcome.OK:
            counts.succeeded += 1
            ended_in = window_of(Timing.TOTAL, self.rated.part_at(at_ns))
            if ended_in is not None:
                ended_stage = self.rated.stage_at(at_ns) if ended_in is Window.MEASURED else 0
                (self._stage_counts[ended_stage] if ended_stage else self._counts[ended_in]).completed += 1
        else:
            counts.failed += 1

    def succeeded(self, step: str, end_ns: int) -> None:
        """Count the success of a step that ended at this instant, for its rate."""
        self._ended[step, self.rated.part_at(end_ns)] += 1

    def sample(self, step: str, window: Window, outcome: Outcome, latency_us: int, stage: int = 0) -> None:
        """Count the latency of one step. `stage` is set for a whole iteration in a load with several stages."""
        if self._is_cut_off(outcome):
            return
        histogram = self._histograms.get((step, window, outcome, stage))
        if histogram is None:
            histogram = self._begin_histogram(step, window, outcome, stage)
        histogram.record(latency_us)
        if self._listener.at_once and step in self._heard:
            self._listener.on_sample(step, outcome, latency_us)

    def operation(self, spans: Spans, window: Window, instants_ns: tuple[int, ...], stage: int = 0) -> None:
        """Count the timings of an operation that succeeded, by its instants. `stage` is as in `sample`."""
        for row in self._rows.get((spans, window, stage)) or self._begin_rows(spans, window, stage):
            end_ns = instants_ns[row.end]
            latency_us = (end_ns - instants_ns[row.begin]) // _NS_PER_US
            row.histogram.record(latency_us)
            self.succeeded(row.name, end_ns)
            if row.is_heard and self._listener.at_once:
                self._listener.on_sample(row.name, Outcome.OK, latency_us)

    def _begin_rows(self, spans: Spans, window: Window, stage: int) -> tuple[_Row, ...]:
        keys = ((step, window, Outcome.OK, stage) for step in spans.names)
        histograms = [self._histograms.get(key) or self._begin_histogram(*key) for key in keys]
        timings = zip(spans.names, spans.between, histograms, strict=True)
        rows = tuple(_Row(name, *between, histogram, name in self._heard) for name, between, histogram in timings)
        self._rows[spans, window, stage] = rows
        return rows

    def _begin_histogram(self, step: str, window: Window, outcome: Outcome, stage: int) -> LatencyHistogram:
        if step.rpartition(".")[2] in self._listened_to:
            self._heard.add(step)
        histogram = self._histograms[step, window, outcome, stage] = LatencyHistogram()
        return histogram

    def _is_cut_off(self, outcome: Outcome) -> bool:
        """Return whether what has this outcome was ended by whoever stopped the run, so that it says nothing."""
        return self.is_stopped and outcome is Outcome.UNFINISHED

    def failure(self, step: str, window: Window, outcome: Outcome, message: str, begin_ns: int | None = None) -> None:
        """Count the step in which an iteration failed, which began at `begin_ns` if that is known, and ends now.

        The first message of each kind is kept.
        """
        if self._is_cut_off(outcome):
            return
        failures = self._failures.setdefault((step, outcome, window), _Failures(message))
        failures.count += 1
        now_ns = monotonic_ns()
        failures.near_pause += self.pauses.may_have_caused(outcome, now_ns if begin_ns is None else begin_ns, now_ns)

    def moved(self, step: str, begin_ns: int, end_ns: int, count: int) -> None:
        """Count bytes of payload that a step moved, evenly from `begin_ns` to `end_ns`."""
        part = self.rated.part_at(begin_ns)
        if part == self.rated.part_at(end_ns):
            self._moved[step, part] += count
            return
        for moved_in, share in self.rated.shares(begin_ns, end_ns, count):
            self._moved[step, moved_in] += share

    def login(self, negotiated: Negotiated) -> None:
        """Count what a login negotiated."""
        self._negotiated[negotiated] = self._negotiated.get(negotiated, 0) + 1

    def user_logged_in(self, place: int, window: Window, latency_us: int) -> None:
        """Count a login of the user at a place of the population, and how long it took."""
        user = self._users[window, place]
        user.logins += 1
        user.slowest_us = max(user.slowest_us, latency_us)

    def user_failed(self, place: int, window: Window, outcome: Outcome) -> None:
        """Count a failure of what was done for the user at a place of the population."""
        if not self._is_cut_off(outcome):
            self._users[window, place].failures += 1

    def take_report(self, health: Health, *, until_s: float = 0.0, final: bool) -> Report:
        """Return the report from the last one up to `until_s` after the load's start, and begin the next one."""
        self._sequence += 1
        report = Report(
            run_id=self._run_id,
            worker=self._worker,
            trial=self._trial,
            sequence=self._sequence,
            until_s=until_s,
            final=final,
            in_flight=self.in_flight,
            users=self.users,
            held=self.held,
            counts=self._frozen_counts(),
            stages=tuple(StageCounts(stage, counts.frozen()) for stage, counts in self._stage_counts.items()),
            histograms=tuple(
                EncodedHistogram(step, window, outcome, histogram.count, histogram.encode(), stage)
                for (step, window, outcome, stage), histogram in self._histograms.items()
            ),
            ended=tuple(EndCount(step, window, count) for (step, window), count in _by_window(self._ended) if window),
            moved=tuple(ByteCount(step, window, count) for (step, window), count in _by_window(self._moved)),
            errors=tuple(
                ErrorCount(step, outcome, window, failures.count, failures.first_message, failures.near_pause)
                for (step, outcome, window), failures in self._failures.items()
            ),
            negotiated=tuple(NegotiatedCount(negotiated, count) for negotiated, count in self._negotiated.items()),
            health=health,
            population=self.population,
            users_of_population=self._counted_users() if final else (),
        )
        for (step, _, outcome, _), histogram in self._histograms.items():
            if step in self._heard:
                self._listener.on_sum(step, outcome, histogram.counts)
        self._overflows = self.overflows
        self._empty()
        return report

    def _counted_users(self) -> tuple[UserCounts, ...]:
        """Return the counts of all users of a population since the start, which only the final report has."""
        return tuple(
            UserCounts(
                window=window,
                places=tuple(place for of, place in self._users if of is window),
                logins=tuple(user.logins for (of, _), user in self._users.items() if of is window),
                failures=tuple(user.failures for (of, _), user in self._users.items() if of is window),
                slowest_us=tuple(user.slowest_us for (of, _), user in self._users.items() if of is window),
            )
            for window in dict.fromkeys(of for of, _ in self._users)
        )

    def _frozen_counts(self) -> Mapping[Window, ArrivalCounts]:
        measured = (self._counts[Window.MEASURED], *self._stage_counts.values())  # a warm-up has no stages
        whole = ArrivalCounts(*(sum(column) for column in zip(*map(astuple, measured), strict=True)))
        return {Window.WARM_UP: self._counts[Window.WARM_UP].frozen(), Window.MEASURED: whole}


def _by_window(counts: Mapping[tuple[str, int], int]) -> Iterable[tuple[tuple[str, Window | None], int]]:
    """Return the counts of each step by window, from those by part of the load."""
    found: Counter[tuple[str, Window | None]] = Counter()
    for (step, part), count in counts.items():
        found[step, window_of(step, part)] += count
    return found.items()
