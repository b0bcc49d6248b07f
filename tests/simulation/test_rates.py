"""Rates of runs whose truth is known: each is exact, and its interval holds the truth in 95 of 100 runs.

The runs take place in virtual time. Those that are to be exact pass through the product's recorder, reports and master;
those for intervals have the same counts and time series. Their seeds are fixed, so each test always ends in the same
way. The truth of an open load whose latencies are independent is computed from their law; that of any other is the mean
of many other runs.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from heapq import heappop, heappush, merge
from itertools import accumulate, repeat
from math import ceil, erf, exp, log, sqrt
from random import Random
from statistics import mean
from typing import Any

import pytest
from circles import in_pairs
from plans import plan, quickstart
from run_configs import NOWHERE, run_config
from runs import load as run_load
from runs import retold
from runs import summary as run_summary
from sshload_contract.load import ArrivalProcess, ArrivalsLoad, ArrivalsStage, Load, ThinkTime, UsersLoad, UsersStage
from sshload_contract.vocabulary import Outcome, RunEnd, Timing, Window
from sshload_contract.wire.report import Health, Report
from sshload_contract.wire.run_summary import RunSummary, SeriesPoint
from sshload_operator.decision.load_test.noise import completed_rate_interval
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
    steps = tuple(replace(step, mean_us=float(mean_us), min_us=least_us) for step in found.trial.steps)
    return retold(found, steps=steps)


RUNS = 200
RUNS_THAT_COUNT = 600
LEAST = 0.91
_ROUNDED_BY = 0.001

Chances = Callable[[Random], Iterator[float]]


@dataclass(frozen=True)
class Law:
    """How long independent iterations take: one at a time, and the share that take at most so long."""

    name: str
    one: Callable[[Random], float]
    up_to: Callable[[float], float]

    def __str__(self) -> str:
        """Return its name."""
        return self.name

    def __call__(self, chance: Random) -> Iterator[float]:
        """Yield latencies."""
        while True:
            yield self.one(chance)


def constant(latency_s: float) -> Law:
    return Law(f"{latency_s:g} s each", lambda _: latency_s, lambda most_s: float(most_s >= latency_s))


def between(low_s: float, high_s: float) -> Law:
    return Law(
        f"{low_s:g} to {high_s:g} s",
        lambda chance: chance.uniform(low_s, high_s),
        lambda most_s: min(max((most_s - low_s) / (high_s - low_s), 0.0), 1.0),
    )


def exponential(mean_s: float) -> Law:
    return Law(
        f"exponential, {mean_s:g} s",
        lambda chance: chance.expovariate(1 / mean_s),
        lambda most_s: 1 - exp(-max(most_s, 0.0) / mean_s),
    )


def log_normal(median_s: float, sigma: float) -> Law:
    return Law(
        f"log-normal, {median_s:g} s, sigma {sigma:g}",
        lambda chance: median_s * exp(sigma * chance.gauss(0, 1)),
        lambda most_s: (1 + erf(log(most_s / median_s) / sigma / sqrt(2))) / 2 if most_s > 0 else 0.0,
    )


def pareto(least_s: float, power: float) -> Law:
    """Return a law whose variance is infinite if the power is at most 2."""
    return Law(
        f"Pareto, {least_s:g} s, power {power:g}",
        lambda chance: least_s * chance.paretovariate(power),
        lambda most_s: 1 - (least_s / most_s) ** power if most_s > least_s else 0.0,
    )


def stages(*shapes: tuple[float, ...], process: ArrivalProcess = ArrivalProcess.CONSTANT) -> ArrivalsLoad:
    """Return a load of stages, each a rate, a duration, and possibly the rate at its end."""
    every = tuple(ArrivalsStage(*shape) for shape in shapes)
    return ArrivalsLoad(stages=every, process=process, max_in_flight=10_000, seed=1)


def users(number: int, duration_s: float, think_s: float = 0.0) -> UsersLoad:
    return UsersLoad((UsersStage(number, duration_s),), 0.0, ThinkTime(think_s, think_s))


def chance(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - no secrets


# Rates are exact


@pytest.mark.parametrize(
    ("load", "warm_up_s", "latency_s", "rate"),
    [
        pytest.param(stages((2, 30)), 10, 5.0, 2.0, id="2 per second of 5 s"),
        pytest.param(stages((3, 12)), 5, 3.5, 3.0, id="3 per second of 3.5 s"),
        pytest.param(stages((2, 10)), 20, 15.0, 2.0, id="longer than the window", marks=pytest.mark.full),
        pytest.param(stages((2, 10)), 20, 0.0, 2.0, id="at once"),
        pytest.param(stages((2, 20)), 0, 5.0, 1.5, id="without a warm-up the first 5 s end nothing"),
        pytest.param(users(10, 30), 10, 5.0, 2.0, id="users"),
        pytest.param(users(10, 30, think_s=2.5), 15, 5.0, 10 / 7.5, id="users who think"),
    ],
)
def test_a_rate_is_what_ends_in_the_window_per_second(
    load: Load, warm_up_s: float, latency_s: float, rate: float
) -> None:
    summary = played(load, warm_up_s, _timed(load, warm_up_s, repeat(latency_s), chance(1)))
    assert summary.trial.load.completed_rate == pytest.approx(rate)
    rates = {step.step: step.rate for step in summary.trial.steps if step.window is Window.MEASURED}
    assert rates["total"] == rates[STEP] == summary.trial.load.completed_rate


def test_each_stage_has_the_rate_of_what_ends_in_it_and_they_add_up_to_the_whole() -> None:
    load = stages((10, 10), (30, 20), (2, 10))
    summary = played(load, 10, arrivals(load, 10, repeat(5.0)))
    assert [stage.load.completed_rate for stage in summary.stages] == [10.0, 25.0, 16.0]
    assert [stage.total.rate for stage in summary.stages if stage.total] == [10.0, 25.0, 16.0]
    assert [stage.load.offered_rate for stage in summary.stages] == [10.0, 30.0, 2.0]
    whole = sum(stage.load.completed_rate * stage.load.duration_s for stage in summary.stages)
    assert summary.trial.load.completed_rate == pytest.approx(whole / 40)


def test_failures_are_in_no_rate_of_completion_wherever_they_end() -> None:
    load = stages((4, 20))
    timed = [replace(one, is_ok=bool(number % 4)) for number, one in enumerate(arrivals(load, 10, repeat(7.0)))]
    summary = played(load, 10, timed)
    assert (summary.trial.load.completed_rate, summary.trial.load.succeeded, summary.trial.load.failed) == (3.0, 60, 20)


@pytest.mark.parametrize("latency_s", [0.5, 3.0, 25.0])
def test_bytes_per_second_are_those_that_move_in_the_window(latency_s: float) -> None:
    load = stages((2, 10))
    timed = (replace(one, size_bytes=3_000_000) for one in arrivals(load, 30, repeat(latency_s)))
    summary = played(load, 30, timed)
    (read,) = (step for step in summary.trial.steps if (step.step, step.window) == (STEP, Window.MEASURED))
    assert read.bytes_per_second == pytest.approx(6_000_000, rel=1e-6)


def test_counts_and_latencies_are_of_what_was_due_in_the_window_to_its_slowest_end() -> None:
    load = stages((2, 10))
    slow_last = (100.0 if due_s >= 38 else 1.0 for due_s in load.due(30))
    summary = played(load, 30, arrivals(load, 30, slow_last))
    (total,) = (step for step in summary.trial.steps if (step.step, step.window) == ("total", Window.MEASURED))
    assert (total.count, summary.trial.load.succeeded, summary.trial.load.started) == (20, 20, 20)
    assert total.max_us == pytest.approx(100e6, rel=0.001)
    assert summary.trial.load.completed_rate == 1.8, "two of the slow ones would have ended in the window"


def test_the_runs_for_intervals_have_the_rate_that_the_product_counts() -> None:
    for seed, load in enumerate((STEADY, RISE, users(10, 30))):
        timed = list(_timed(load, 10.0, exponential(5.0)(chance(seed)), chance(-seed)))
        by_product = played(load, 10.0, sorted(timed, key=lambda one: one.due_s)).trial.load
        assert counted(load, 10.0, timed).trial.load.completed_rate == by_product.completed_rate > 0


# Intervals hold the truth


def _timed(load: Load, warm_up_s: float, latencies_s: Iterator[float], chance: Random) -> Iterable[Timed]:
    if isinstance(load, UsersLoad):
        return turns_of_users(load, warm_up_s, latencies_s, chance)
    return arrivals(load, warm_up_s, latencies_s)


def _seeded(load: Load, seed: int) -> Load:
    return replace(load, seed=seed) if isinstance(load, ArrivalsLoad) else load


def _spec(load: Load) -> Mapping[str, Any]:
    if isinstance(load, UsersLoad):
        think = f"{load.think_time.min_s:g}s"
        written: dict[str, Any] = {"thinkTime": {"min": think, "max": think}}
        rows = [{"users": stage.users, "duration": f"{stage.duration_s:g}s"} for stage in load.stages]
        return {"users": {**written, "stages": rows}}
    assert isinstance(load, ArrivalsLoad)
    rows = [
        {"rate": stage.rate, "duration": f"{stage.duration_s:g}s"}
        | ({} if stage.to_rate is None else {"toRate": stage.to_rate})
        for stage in load.stages
    ]
    return {"arrivals": {"process": str(load.process), "stages": rows}}


def held(load: Load, warm_up_s: float, runs: Iterable[RunSummary], truth: float) -> float:
    """Return the share of the runs whose status states an interval that holds the truth, of those that state one."""
    asked = plan(quickstart(load=_spec(load), warmUp=f"{warm_up_s:g}s"))
    bounds = [completed_rate_interval(asked, run) for run in runs if run.trial.load.completed_rate]
    return mean(one is not None and one.low - _ROUNDED_BY <= truth <= one.high + _ROUNDED_BY for one in bounds)


def truth_of(load: ArrivalsLoad, warm_up_s: float, law: Law) -> float:
    """Return how many arrivals are expected to end in the window, per second."""
    fineness = 1 if load.is_even else 20  # random arrivals are everywhere with the same probability
    fine = tuple(
        replace(one, rate=one.rate * fineness, to_rate=None if one.to_rate is None else one.to_rate * fineness)
        for one in load.stages
    )
    end_s = warm_up_s + load.lasts_s
    dense = replace(load, stages=fine, process=ArrivalProcess.CONSTANT)
    inside = (law.up_to(end_s - due_s) - law.up_to(warm_up_s - due_s) for due_s in dense.due(warm_up_s))
    return sum(inside) / fineness / load.lasts_s


STEADY, RISE = stages((20, 30)), stages((5, 10), (20, 10), (5, 10))
RAMP = stages((1, 10, 20), (20, 10), (2, 10))
LAWS = (
    exponential(0.05),
    constant(5.0),
    between(4.8, 5.2),
    exponential(5.0),
    log_normal(2.0, 1.5),
    pareto(1.0, 1.5),
    exponential(60.0),
    pareto(15.0, 1.2),
)


@pytest.mark.slow
@in_pairs(
    ("law", LAWS),
    (
        "load",
        [
            pytest.param(STEADY, id="20/s"),
            pytest.param(stages((2, 40)), id="2/s"),
            pytest.param(RISE, id="rise"),
            pytest.param(RAMP, id="ramp"),
        ],
    ),
    ("process", list(ArrivalProcess)),
)
def test_the_interval_of_arrivals_holds_the_truth_however_long_they_take(
    law: Law, load: ArrivalsLoad, process: ArrivalProcess
) -> None:
    asked, warm_up_s = replace(load, process=process), 10.0
    runs = (
        counted(_seeded(asked, seed), warm_up_s, arrivals(_seeded(asked, seed), warm_up_s, law(chance(seed))))
        for seed in range(RUNS)
    )
    share = held(asked, warm_up_s, runs, truth_of(asked, warm_up_s, law))
    assert share >= LEAST, share


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "law"),
    [
        pytest.param(users(10, 30), constant(5.0), id="in step"),
        pytest.param(users(10, 30), between(4.8, 5.2), id="nearly in step"),
        pytest.param(users(10, 60, think_s=2.0), exponential(5.0), id="with thought", marks=pytest.mark.full),
        pytest.param(users(10, 30), exponential(0.5), id="short"),
        pytest.param(users(10, 30), exponential(5.0), id="long", marks=pytest.mark.full),
        pytest.param(users(30, 5), exponential(1.0), id="short window"),
        pytest.param(users(30, 30), exponential(60.0), id="longer than the window"),
        pytest.param(users(30, 60), log_normal(1.0, 1.0), id="heavy tail", marks=pytest.mark.full),
    ],
)
def test_the_interval_of_users_holds_the_truth_however_long_their_iterations_take(load: UsersLoad, law: Law) -> None:
    warm_up_s = 10.0
    runs = (
        counted(load, warm_up_s, _timed(load, warm_up_s, law(chance(seed)), chance(-seed)), load.most_users)
        for seed in range(RUNS)
    )
    share = held(load, warm_up_s, runs, _counted_rate(load, warm_up_s, law))
    assert share >= LEAST, share


def _counted_rate(load: Load, warm_up_s: float, latencies: Chances) -> float:
    """Return the mean rate of many other runs."""
    end_s = warm_up_s + load.lasts_s
    ends = (
        sum(warm_up_s <= one.end_s < end_s for one in _timed(load, warm_up_s, latencies(random), random))
        for random in map(chance, range(10_000, 10_000 + RUNS_THAT_COUNT))
    )
    return mean(ends) / load.lasts_s


def moods(chance: Random) -> Iterator[float]:
    """Yield log-normal latencies, each correlated with the one before by 0.99 (AR(1))."""
    mood, memory = chance.gauss(0, 1), 0.99
    while True:
        yield 0.05 * exp(0.5 * mood)
        mood = memory * mood + sqrt(1 - memory**2) * chance.gauss(0, 1)


def queue(busy: float) -> Chances:
    """Return the latencies of a server that takes one at a time, for an exponential time, from its idle state on."""

    def latencies(chance: Random) -> Iterator[float]:
        wait_s, rate = 0.0, STEADY.stages[0].rate
        while True:
            service_s = chance.expovariate(rate / busy)
            yield wait_s + service_s
            wait_s = max(0.0, wait_s + service_s - 1 / rate)

    return latencies


@pytest.mark.slow
@pytest.mark.parametrize(
    "latencies",
    [
        pytest.param(moods, id="moods"),
        pytest.param(queue(0.8), id="busy", marks=pytest.mark.full),
        pytest.param(queue(0.95), id="nearly full", marks=pytest.mark.full),
        pytest.param(queue(1.1), id="too slow by a tenth", marks=pytest.mark.full),
        pytest.param(queue(2.0), id="too slow by half"),
    ],
)
def test_the_interval_holds_the_truth_where_one_end_depends_on_the_ends_before(latencies: Chances) -> None:
    load, warm_up_s = stages((20, 40)), 5.0
    runs = (counted(load, warm_up_s, arrivals(load, warm_up_s, latencies(chance(seed)))) for seed in range(RUNS))
    share = held(load, warm_up_s, runs, _counted_rate(load, warm_up_s, latencies))
    assert share >= LEAST, share


@pytest.mark.slow
@pytest.mark.parametrize(
    "process", [ArrivalProcess.CONSTANT, pytest.param(ArrivalProcess.POISSON, marks=pytest.mark.full)]
)
def test_the_interval_holds_the_truth_where_arrivals_are_dropped(process: ArrivalProcess) -> None:
    load, warm_up_s, room = replace(stages((20, 40)), process=process), 10.0, 20

    def timed(seed: int) -> Iterator[Timed]:
        latencies_s, under_way = exponential(2.0)(chance(seed)), list[float]()
        for due_s in _seeded(load, seed).due(warm_up_s):
            while under_way and under_way[0] <= due_s:
                heappop(under_way)
            one = Timed(due_s, due_s + next(latencies_s), begins=len(under_way) < room)
            if one.begins:
                heappush(under_way, one.end_s)
            yield one

    end_s = warm_up_s + load.lasts_s
    truth = mean(
        sum(one.begins and warm_up_s <= one.end_s < end_s for one in timed(seed))
        for seed in range(10_000, 10_000 + RUNS_THAT_COUNT)
    )
    share = held(load, warm_up_s, (counted(load, warm_up_s, timed(seed)) for seed in range(RUNS)), truth / load.lasts_s)
    assert share >= LEAST, share


def failing(share: float, length: float = 1.0) -> Callable[[Random], Iterator[bool]]:
    """Return whether each iteration fails; so many in a row do, on average."""

    def failures(chance: Random) -> Iterator[bool]:
        fails = chance.random() < share
        while True:
            yield fails
            fails = chance.random() >= 1 / length if fails else chance.random() < share / (1 - share) / length

    return failures


@cache
def _with_failures(failures: Callable[[Random], Iterator[bool]], load: ArrivalsLoad) -> tuple[RunSummary, ...]:
    def run(seed: int) -> RunSummary:
        timed = arrivals(load, 5.0, exponential(0.05)(chance(seed)))
        fails = failures(chance(-seed - 1))
        return counted(load, 5.0, (replace(one, is_ok=not next(fails)) for one in timed))

    return tuple(run(seed) for seed in range(RUNS))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("failures", "share", "load"),
    [
        pytest.param(failing(0.01), 0.01, stages((20, 50)), id="1 % fail"),
        pytest.param(failing(0.1), 0.1, stages((20, 50)), id="10 % fail", marks=pytest.mark.full),
        pytest.param(failing(0.4), 0.4, stages((20, 50)), id="40 % fail", marks=pytest.mark.full),
        pytest.param(failing(0.05, 20), 0.05, stages((20, 150)), id="5 % in bursts"),
        pytest.param(failing(0.3, 50), 0.3, stages((20, 150)), id="30 % in bursts", marks=pytest.mark.full),
    ],
)
def test_the_interval_holds_the_truth_of_what_fails_alone_or_in_bursts(
    failures: Callable[[Random], Iterator[bool]], share: float, load: ArrivalsLoad
) -> None:
    found = held(load, 5.0, _with_failures(failures, load), 20 * (1 - share))
    assert found >= LEAST, found


@pytest.mark.slow
@pytest.mark.parametrize(
    "latencies", [constant(0.05), log_normal(0.05, 0.5), moods], ids=["constant", "independent", "moods"]
)
def test_of_a_thousand_arrivals_that_all_complete_it_is_within_about_one_percent_in_95_of_100(
    latencies: Chances,
) -> None:
    load = stages((20, 50))
    asked = plan(quickstart(load=_spec(load), warmUp="5s"))
    runs = [counted(load, 5.0, arrivals(load, 5.0, latencies(chance(seed)))) for seed in range(RUNS)]
    bounds = [(completed_rate_interval(asked, run), run.trial.load.completed_rate) for run in runs]
    tight = [one is not None and one.low >= 0.9875 * rate and one.high <= 1.0125 * rate for one, rate in bounds]
    assert sum(tight) >= 0.95 * RUNS
