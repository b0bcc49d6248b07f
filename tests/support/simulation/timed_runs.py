"""Runs in virtual time: of iterations with known times, by the product's own recorder, master and summary.

Two workers, whose clocks have nothing to do with each other, share the iterations and report in turn, once a second.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from heapq import merge
from itertools import accumulate
from math import ceil
from random import Random
from statistics import mean

from run_configs import NOWHERE, run_config
from runs import load as run_load
from runs import summary as run_summary
from sshload_contract.load import Load, UsersLoad
from sshload_contract.vocabulary import Outcome, RunEnd, Timing, Window
from sshload_contract.wire.report import Health, Report
from sshload_contract.wire.run_summary import RunSummary, SeriesPoint
from sshload_worker.pacing.share import TrialOrder
from sshload_worker.recording.rated_time import RatedTime
from sshload_worker.recording.recorder import Recorder, Spans
from sshload_worker.summary.trial_course import TrialCourse

STEP = "sftpRead"
_HEALTHY = Health(0.1, 0.0, None, 1, 1, 1, 2, 2, 3, 28_232, 0)
_CLOCKS_NS = (7, 5_000_000_000_123)
_REPORTS_AFTER_S = (0.4, 0.9)
_NS_PER_S = 1_000_000_000
_WHOLE = Spans((str(Timing.TOTAL),), ((0, 1),))
_READ = Spans((STEP,), ((0, 1),))

Latencies = Callable[[Random], Iterator[float]]


@dataclass(frozen=True, slots=True)
class Timed:
    """An iteration: when it was due and ended, after the start of the load, and whether it succeeded. It reads a file.

    The bytes of the file move evenly over its whole time. Without `begins` it was dropped.
    """

    due_s: float
    end_s: float
    is_ok: bool = True
    size_bytes: int = 0
    begins: bool = True


def arrivals(load: Load, warm_up_s: float, latencies_s: Iterable[float]) -> Iterator[Timed]:
    """Yield the iterations of an open load that take so long, in turn."""
    for due_s, latency_s in zip(load.due(warm_up_s), latencies_s, strict=False):
        yield Timed(due_s, due_s + latency_s)


def turns_of_users(load: UsersLoad, warm_up_s: float, latencies_s: Iterator[float], chance: Random) -> list[Timed]:
    """Return the iterations of all users, each of which takes so long."""
    left = {change.user: change.at_s for change in load.changes(warm_up_s) if not change.begins}
    end_s = warm_up_s + load.lasts_s
    turns = []
    for change in load.changes(warm_up_s):
        due_s = change.at_s
        while change.begins and due_s < min(left.get(change.user, end_s), end_s):
            turns.append(Timed(due_s, due_s + next(latencies_s)))
            due_s = turns[-1].end_s + chance.uniform(load.think_time.min_s, load.think_time.max_s)
    return sorted(turns, key=lambda turn: turn.due_s)


class _Worker:
    """One worker. `events` are the times at which its iterations begin and end, with what to do then."""

    def __init__(self, index: int, load: Load, warm_up_s: float, timed: list[Timed]) -> None:
        self._recorder = Recorder("test-run", index)
        self._start_ns, self._warm_up_s = _CLOCKS_NS[index], warm_up_s
        self._recorder.rated = RatedTime.of(load, warm_up_s, self._start_ns)
        self._stage_ends_s = list(accumulate(load.stage_durations_s, initial=warm_up_s))[1:]
        begins = ((one.due_s, number, partial(self._begin, one)) for number, one in enumerate(timed))
        ends = sorted((one.end_s, number, partial(self._end, one)) for number, one in enumerate(timed) if one.begins)
        self._events = merge(begins, ends, key=lambda event: event[0])
        self._next = next(self._events, None)

    def report(self, users: Callable[[float], int], until_s: float, *, final: bool) -> Report:
        while self._next is not None and (final or self._next[0] < until_s):
            self._next[2]()
            self._next = next(self._events, None)
        self._recorder.users = users(until_s)
        return self._recorder.take_report(_HEALTHY, until_s=until_s, final=final)

    def _ns(self, at_s: float) -> int:
        return self._start_ns + round(at_s * _NS_PER_S)

    def _place(self, one: Timed) -> tuple[Window, int]:
        if one.due_s < self._warm_up_s:
            return Window.WARM_UP, 0
        stage = bisect_right(self._stage_ends_s, one.due_s) + 1
        return Window.MEASURED, min(stage, len(self._stage_ends_s))

    def _begin(self, one: Timed) -> None:
        window, stage = self._place(one)
        if one.begins:
            self._recorder.started(window, 0, stage)
        else:
            self._recorder.dropped(window, stage)

    def _end(self, one: Timed) -> None:
        window, stage = self._place(one)
        instants_ns = (self._ns(one.due_s), self._ns(one.end_s))
        if one.is_ok:
            self._recorder.operation(_READ, window, instants_ns)
            self._recorder.operation(_WHOLE, window, instants_ns, stage)
        else:
            latency_us = (instants_ns[1] - instants_ns[0]) // 1_000
            self._recorder.sample(str(Timing.TOTAL), window, Outcome.EXIT_CODE, latency_us, stage)
        self._recorder.moved(STEP, *instants_ns, one.size_bytes)
        self._recorder.ended(window, Outcome.OK if one.is_ok else Outcome.EXIT_CODE, instants_ns[1], stage)


def nobody(_: float) -> int:
    """Return that there are no users."""
    return 0


def played(load: Load, warm_up_s: float, timed: Iterable[Timed], users: Callable[[float], int] = nobody) -> RunSummary:
    """Return the summary of a run of these iterations, in the order in which they were due."""
    every = list(timed)
    config = replace(run_config(NOWHERE, load, workers=len(_CLOCKS_NS)), warm_up_s=warm_up_s, drain_s=1e9)
    workers = [_Worker(index, load, warm_up_s, every[index :: len(_CLOCKS_NS)]) for index, _ in enumerate(_CLOCKS_NS)]
    trial = TrialCourse(TrialOrder(0, 0.0), config, 1.0)
    trial.start(0.0, 0.0)
    load_end_s = warm_up_s + load.lasts_s
    for second in range(ceil(load_end_s)):
        for worker, after_s in zip(workers, _REPORTS_AFTER_S, strict=True):
            trial.add(worker.report(users, second + after_s, final=False))
        trial.mark(second + 1.0)
    end_s = max(load_end_s, *(one.end_s for one in every if one.begins)) if every else load_end_s
    for worker in workers:
        trial.add(worker.report(nobody, end_s, final=True))
    trial.end(end_s, end_s)
    return trial.summary(RunEnd.COMPLETED, "", len(workers), 0)


def counted(load: Load, warm_up_s: float, timed: Iterable[Timed], users: int = 0) -> RunSummary:
    """Return such a run's summary, as far as its completed rate goes, in a hundredth of the time."""
    end_s = warm_up_s + load.lasts_s
    seconds = ceil(end_s)
    begun, succeeded, failed = ([0] * (seconds + 1) for _ in range(3))
    due = ended = lost = dropped = 0
    latencies_s = []
    for one in timed:
        is_due = one.due_s >= warm_up_s
        due += is_due
        if not one.begins:
            dropped += is_due
            continue
        begun[min(int(one.due_s), seconds)] += 1
        (succeeded if one.is_ok else failed)[min(int(one.end_s), seconds)] += 1
        ended += one.is_ok and warm_up_s <= one.end_s < end_s
        lost += is_due and not one.is_ok
        if is_due and one.is_ok:
            latencies_s.append(one.end_s - one.due_s)
    points = tuple(
        SeriesPoint(float(at + 1), users, 0, 0, begun[at], succeeded[at], failed[at], None) for at in range(seconds)
    )
    counts = run_load(
        len(latencies_s),
        lost,
        duration_s=load.lasts_s,
        dropped=dropped,
        scheduled=due,
        completed_rate=ended / load.lasts_s,
    )
    found = run_summary(len(latencies_s), lost, load=counts, series_interval_s=1.0, series=points)
    mean_us, least_us = (round(1e6 * (of(latencies_s) if latencies_s else 0)) for of in (mean, min))
    steps = tuple(replace(step, mean_us=float(mean_us), min_us=least_us) for step in found.steps)
    return replace(found, steps=steps)
