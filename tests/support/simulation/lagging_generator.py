"""A load on a simulated server, by a generator that lags and by one that does not, from the same draw of chance.

Iterations visit the server several times. A generator that lags begins them late and notices late what the server has
done. All else is equal: when iterations are due, how much work they are, and which connection a server drops by chance.

Summaries of generators that lagged.
"""

import heapq
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import ceil, exp, inf, log
from operator import itemgetter
from random import Random
from typing import Any

from runs import generator, load, retold, summary
from sshload_contract.judgement.pauses import Pauses
from sshload_contract.load import (
    ArrivalProcess,
    ArrivalsLoad,
    ArrivalsStage,
    BurstLoad,
    Load,
    ThinkTime,
    UsersLoad,
    UsersStage,
)
from sshload_contract.percentiles import percentile_key
from sshload_contract.vocabulary import Outcome, Timing, Window
from sshload_contract.wire.report import ErrorCount
from sshload_contract.wire.run_summary import RunSummary, StepStats

PERCENTILES = (50.0, 90.0, 99.0)
LAGS = ("pauses", "steal", "noise", "mixed")
SERVERS = ("queue", "shared", "slowed")
ITERATIONS = 200
_STATED = (*PERCENTILES, 99.9)
_PROBE_INTERVAL_S = 0.01
_US_PER_S = 1_000_000
_DROP_SHARE = 0.3
_SOUND_S = 0.02
_NS_PER_S = 1_000_000_000


class Lag:
    """When one worker's event loop stands still, and how late it wakes besides.

    `pauses` are rare and long, `steal` is periodic, `noise` delays each wake, and `mixed` is noise with stalls of all
    lengths. `size_s` is the longest.
    """

    def __init__(self, random: Random, kind: str, until_s: float, size_s: float) -> None:
        self._random = random
        self._noise_s = {"noise": size_s / 6, "mixed": size_s / 15}.get(kind, 0.0)
        self._stalls = list(_stalls(random, kind, until_s, size_s))
        self._begins = [begin_s for begin_s, _ in self._stalls]

    def wake(self, at_s: float) -> float:
        """Return when the event loop notices what happens at `at_s`."""
        noticed_s = self._after_stall(at_s)
        if self._noise_s:
            noticed_s = self._after_stall(noticed_s + self._random.expovariate(1 / self._noise_s))
        return noticed_s

    def _after_stall(self, at_s: float) -> float:
        place = bisect_right(self._begins, at_s) - 1
        return max(at_s, self._stalls[place][1]) if place >= 0 else at_s

    def probed(self, until_s: float) -> Iterator[float]:
        """Yield what the worker's probe of its event loop sees (recording/health.py)."""
        at_s = 0.0
        while at_s < until_s:
            due_s = at_s + _PROBE_INTERVAL_S
            at_s = self.wake(due_s)
            missed_s = at_s - due_s
            while missed_s >= 0:
                yield missed_s
                missed_s -= _PROBE_INTERVAL_S

    def pauses(self) -> Iterator[tuple[float, float]]:
        """Yield begin and end of the pauses that the worker's probe sees, in their order."""
        at_s, until_s = 0.0, self._stalls[-1][1] if self._stalls else 0.0
        while at_s < until_s:
            begin_s, due_s = at_s, at_s + _PROBE_INTERVAL_S
            at_s = self._after_stall(due_s)
            if at_s - due_s > _SOUND_S:
                yield begin_s, at_s


class OnePause(Lag):
    """A worker that is prompt but for one pause."""

    def __init__(self, begin_s: float, length_s: float) -> None:
        super().__init__(Random(0), "none", 0.0, 0.0)  # noqa: S311 - chance, no secrets
        self._stalls, self._begins = [(begin_s, begin_s + length_s)], [begin_s]


class NoLag(Lag):
    """A worker that is always prompt."""

    def __init__(self) -> None:
        super().__init__(Random(0), "none", 0.0, 0.0)  # noqa: S311 - chance, no secrets


def _stalls(random: Random, kind: str, until_s: float, size_s: float) -> Iterator[tuple[float, float]]:
    share = random.uniform(0.1, 0.4)
    at_s = 0.0
    while at_s < until_s:
        match kind:
            case "pauses":
                at_s += random.expovariate(random.choice((1, 2, 4)) / until_s)
                length_s = size_s * random.uniform(0.3, 1)
            case "steal":
                at_s += size_s * (1 / share - 1) * random.uniform(0.8, 1.2)
                length_s = size_s * random.uniform(0.5, 1)
            case "mixed":
                at_s += random.expovariate(4 * share / size_s)
                length_s = min(random.expovariate(4 / size_s), size_s)
            case _:
                return
        yield at_s, at_s + length_s
        at_s += length_s


class Queue:
    """`servers` that each take one visit at a time, in the order in which they came."""

    def __init__(self, servers: int) -> None:
        self._idle = servers
        self._waiting: deque[tuple[int, float]] = deque()
        self._busy: list[tuple[float, int]] = []

    def add(self, now_s: float, who: int, work_s: float) -> None:
        """Take a visit in."""
        if self._idle:
            self._idle -= 1
            heapq.heappush(self._busy, (now_s + work_s, who))
        else:
            self._waiting.append((who, work_s))

    def next_s(self) -> float:
        """Return when the next visit ends."""
        return self._busy[0][0] if self._busy else inf

    def pop(self, now_s: float) -> int:
        """End that visit."""
        _, ended = heapq.heappop(self._busy)
        if self._waiting:
            who, work_s = self._waiting.popleft()
            heapq.heappush(self._busy, (now_s + work_s, who))
        else:
            self._idle += 1
        return ended


class Shared:
    """`cores` that all visits share evenly. Beyond as many visits they lose up to `overhead` of their speed."""

    def __init__(self, cores: int, overhead: float = 0.0) -> None:
        self._cores, self._overhead = cores, overhead
        self._done_each_s = self._at_s = 0.0
        self._visits: list[tuple[float, int]] = []

    def add(self, now_s: float, who: int, work_s: float) -> None:
        """Take a visit in."""
        self._advance(now_s)
        heapq.heappush(self._visits, (self._done_each_s + work_s, who))

    def next_s(self) -> float:
        """Return when the next visit ends."""
        if not self._visits:
            return inf
        return self._at_s + max(self._visits[0][0] - self._done_each_s, 0.0) / self._speed()

    def pop(self, now_s: float) -> int:
        """End that visit."""
        self._advance(now_s)
        return heapq.heappop(self._visits)[1]

    def _advance(self, now_s: float) -> None:
        if self._visits:
            self._done_each_s += (now_s - self._at_s) * self._speed()
        self._at_s = now_s

    def _speed(self) -> float:
        visits = len(self._visits)
        crowd = max(visits - self._cores, 0)
        slowed = 1 + self._overhead * (1 - exp(-crowd / (4 * self._cores)))
        return min(visits, self._cores) / visits / slowed


@dataclass(frozen=True, slots=True)
class StartLimit:
    """sshd's MaxStartups: from `start` unauthenticated connections on it drops some by chance, from `full` on all."""

    start: int
    full: int

    def drops(self, unauthenticated: int, chance: float) -> bool:
        """Tell whether one more connection is dropped, `chance` being its own."""
        if unauthenticated < self.start:
            return False
        grown = (unauthenticated - self.start) / max(self.full - self.start, 1)
        return unauthenticated >= self.full or chance < _DROP_SHARE + (1 - _DROP_SHARE) * grown


@dataclass(frozen=True, slots=True)
class Draw:
    """All that chance decides. `works_s` are each iteration's visits, the first `login_visits` being its login.

    `due_s` is None in a closed model of `users`, who come again `think_s` after their last iteration, until `until_s`.
    """

    server: str
    cores: int
    overhead: float
    due_s: Sequence[float] | None
    users: int
    think_s: float
    until_s: float
    works_s: Sequence[Sequence[float]]
    login_visits: int
    round_trip_s: float
    chances: Sequence[float]
    limit: StartLimit | None
    time_limit_s: float
    lags: Sequence[Lag]
    load: Load

    def prompt(self) -> "Draw":
        """Return the same without any lag."""
        return replace(self, lags=(NoLag(),))

    def room(self) -> Queue | Shared:
        """Return the server, with nobody in it."""
        return Queue(self.cores) if self.server == "queue" else Shared(self.cores, self.overhead)


@dataclass(slots=True)
class Seen:
    """What a generator measured, in seconds and in the order of the ends."""

    starts: list[float] = field(default_factory=list)
    spans: dict[str, list[float]] = field(default_factory=lambda: {"total": [], "login": [], "command": []})
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    failures: list[tuple[float, float, Outcome, Lag]] = field(default_factory=list)
    inside: int = 0
    end_s: float = 0.0

    def percentile_s(self, span: str, percentile: float) -> float:
        """Return the nearest-rank percentile of a span."""
        return _percentile(sorted(self.spans[span]), percentile)

    @property
    def error_rate(self) -> float:
        """The share of iterations that failed."""
        failed = sum(number for outcome, number in self.outcomes.items() if outcome is not Outcome.OK)
        return failed / self.outcomes.total()


class Course:
    """One run of a draw."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._server = draw.room()
        self._order = count()
        self._events: list[tuple[float, int, str, int]] = []
        self._due_s: dict[int, float] = {}
        self._start_s: dict[int, float] = {}
        self._logged_in_s: dict[int, float] = {}
        self._visit = Counter[int]()
        self._unauthenticated = 0
        self.seen = Seen()

    def run(self) -> Seen:
        """Return what was measured."""
        if self._draw.due_s is not None:
            for number, due_s in enumerate(self._draw.due_s):
                self._begin(number, due_s)
        else:
            for user in range(self._draw.users):
                self._begin(user, 0.0)
        while True:
            served_s = self._server.next_s()
            if self._events and self._events[0][0] <= served_s:
                at_s, _, kind, who = heapq.heappop(self._events)
                self._arrive(at_s, who) if kind == "arrive" else self._serve(at_s, who)
            elif served_s < inf:
                self._serve(served_s, self._server.pop(served_s))
            else:
                return self.seen

    def _begin(self, who: int, due_s: float) -> None:
        self._due_s[who] = due_s
        self._start_s[who] = self._lag(who).wake(due_s)
        self.seen.starts.append(self._start_s[who] - due_s)
        self._send(who, self._start_s[who])

    def _lag(self, who: int) -> Lag:
        user = who if self._draw.due_s is not None else who % self._draw.users
        return self._draw.lags[user % len(self._draw.lags)]

    def _send(self, who: int, at_s: float) -> None:
        heapq.heappush(self._events, (at_s + self._draw.round_trip_s / 2, next(self._order), "arrive", who))

    def _arrive(self, at_s: float, who: int) -> None:
        limit, number = self._draw.limit, who % len(self._draw.works_s)
        if limit is not None and self._visit[who] == 0:
            if limit.drops(self._unauthenticated, self._draw.chances[number]):
                self._end(who, self._notice(at_s, who), Outcome.THROTTLED)
                return
            self._unauthenticated += 1
        work_s = self._draw.works_s[number][self._visit[who]]
        if work_s:
            self._server.add(at_s, who, work_s)
        else:
            heapq.heappush(self._events, (at_s, next(self._order), "serve", who))

    def _notice(self, at_s: float, who: int) -> float:
        return self._lag(who).wake(at_s + self._draw.round_trip_s / 2)

    def _serve(self, at_s: float, who: int) -> None:
        noticed_s = self._notice(at_s, who)
        self._visit[who] += 1
        if self._visit[who] == self._draw.login_visits:
            self._logged_in_s[who] = noticed_s
            self._unauthenticated -= self._draw.limit is not None
        if self._visit[who] < len(self._draw.works_s[who % len(self._draw.works_s)]):
            self._send(who, noticed_s)
            return
        cut_s = self._lag(who).wake(self._start_s[who] + self._draw.time_limit_s)
        if at_s + self._draw.round_trip_s / 2 > cut_s:  # what has arrived by then is served first
            self._end(who, cut_s, Outcome.STEP_TIMEOUT)
        else:
            self._end(who, noticed_s, Outcome.OK)

    def _end(self, who: int, at_s: float, outcome: Outcome) -> None:
        self.seen.outcomes[outcome] += 1
        self.seen.end_s = max(self.seen.end_s, at_s)
        if outcome is Outcome.OK:
            self.seen.spans["total"].append(at_s - self._due_s[who])
            self.seen.spans["login"].append(self._logged_in_s[who] - self._start_s[who])
            self.seen.spans["command"].append(at_s - self._logged_in_s[who])
            self.seen.inside += at_s <= self._draw.until_s
        else:
            self.seen.failures.append((at_s, self._start_s[who], outcome, self._lag(who)))
        due_s = at_s + self._draw.think_s
        if self._draw.due_s is None and due_s < self._draw.until_s:
            self._begin(who + self._draw.users, due_s)


def measured(draw: Draw) -> tuple[Seen, Seen, RunSummary]:
    """Return what is true of a draw, what its lagging generator measured, and the summary of that."""
    truth, seen = Course(draw.prompt()).run(), Course(draw).run()
    return truth, seen, _summary(draw, seen)


def _summary(draw: Draw, seen: Seen) -> RunSummary:
    succeeded, ended = seen.outcomes[Outcome.OK], seen.outcomes.total()
    probed = [sorted(lag.probed(max(draw.until_s, seen.end_s))) for lag in draw.lags]
    figures = load(
        succeeded,
        ended - succeeded,
        duration_s=draw.until_s,
        offered_rate=ended / draw.until_s,
        achieved_rate=ended / draw.until_s,
        completed_rate=seen.inside / draw.until_s,
    )
    lag = generator(
        workers_expected=len(draw.lags),
        workers_connected=len(draw.lags),
        cpu_share=0.3,
        loop_lag_mean_us=_us(max(sum(delays) / len(delays) for delays in probed)),
        loop_lag_p50_us=_us(max(_percentile(delays, 50) for delays in probed)),
        loop_lag_p99_us=_us(max(_percentile(delays, 99) for delays in probed)),
        loop_lag_p999_us=_us(max(_percentile(delays, 99.9) for delays in probed)),
        loop_lag_max_us=_us(max(delays[-1] for delays in probed)),
    )
    steps = [_stats(Timing.START_DELAY, seen.starts), *(_stats(name, found) for name, found in seen.spans.items())]
    steps.append(replace(steps[1], step="visits", count=succeeded * len(draw.works_s[0])))
    near_pause = _near_pause(seen)
    errors = tuple(
        ErrorCount("total", outcome, Window.MEASURED, number, "", near_pause[outcome])
        for outcome, number in seen.outcomes.items()
        if outcome is not Outcome.OK
    )
    return summary(load=figures, steps=tuple(steps), errors=errors, generator=lag)


def _near_pause(seen: Seen) -> Counter[Outcome]:
    """Return how many failures a worker counts near a pause of its own, as it knows its pauses when each ends."""
    near: Counter[Outcome] = Counter()
    lags = {id(lag): (lag, deque(lag.pauses()), Pauses()) for *_, lag in seen.failures}
    for end_s, begin_s, outcome, of in sorted(seen.failures, key=itemgetter(0)):
        _, to_come, known = lags[id(of)]
        while to_come and to_come[0][1] <= end_s + _PROBE_INTERVAL_S:
            known.add(*(int(instant_s * _NS_PER_S) for instant_s in to_come.popleft()))
        near[outcome] += known.may_have_caused(outcome, int(begin_s * _NS_PER_S), int(end_s * _NS_PER_S))
    return near


def _stats(name: str, found: list[float]) -> StepStats:
    ordered = sorted(found)
    stated = {percentile_key(one): _us(_percentile(ordered, one)) if ordered else None for one in _STATED}
    return StepStats(
        step=name,
        window=Window.MEASURED,
        count=len(ordered),
        failures=0,
        rate=0.0,
        min_us=_us(ordered[0]) if ordered else None,
        mean_us=sum(ordered) / len(ordered) * _US_PER_S if ordered else None,
        max_us=_us(ordered[-1]) if ordered else None,
        bytes_per_second=None,
        percentiles_us=stated,
        percentiles_low_us=stated,
        percentiles_high_us=stated,
    )


def _percentile(ordered: Sequence[float], percentile: float) -> float:
    return ordered[max(ceil(percentile * len(ordered) / 100 - 1e-9), 1) - 1]


def _us(duration_s: float) -> int:
    return round(duration_s * _US_PER_S)


def drawn(seed: int, arrivals: str, *, limited: bool = False) -> Draw:
    """Return a draw: `arrivals` are constant, poisson, burst, or users. `limited` gives the server a StartLimit.

    Servers take 30 to 90 % of what they can, or 120 %. One that is slowed by a crowd takes so much that it can still do
    it: no generator can tell a server that a crowd of moments brings down for good from one that is always down.
    """
    random = Random(f"{seed} {arrivals} {limited}")  # noqa: S311 - chance, no secrets
    cores, work_s = random.choice((1, 2, 4)), random.choice((0.005, 0.02, 0.05))
    server, overhead = random.choice(SERVERS), 0.0
    use = random.choice((0.3, 0.6, 0.8, 0.9, 1.2))
    if server == "slowed":
        overhead = random.choice((0.1, 0.3))
        use = min(use, 0.8) / (1 + overhead)
    rate = use * cores / work_s
    due_s = _due(random, arrivals, rate, work_s / cores)
    login_visits, command_visits = random.choice((1, 2, 3)), random.choice((1, 2))
    waits_only = random.choice((0, 0, 4))
    visits = login_visits + command_visits
    vary = random.random() < 0.5
    works_s = [
        [0.0] * waits_only + [random.expovariate(visits / work_s) if vary else work_s / visits for _ in range(visits)]
        for _ in range(ITERATIONS)
    ]
    users = random.choice((2, 10, 30))
    until_s = due_s[-1] + 1 / rate if due_s else ITERATIONS / rate
    size_s = exp(random.uniform(log(0.005), log(0.5)))
    kind, workers = random.choice(LAGS), random.choice((1, 2, 4))
    return Draw(
        server=server,
        cores=cores,
        overhead=overhead,
        due_s=due_s or None,
        users=users,
        think_s=random.choice((0.0, 0.1, 1.0)),
        until_s=until_s,
        works_s=works_s,
        login_visits=waits_only + login_visits,
        round_trip_s=random.choice((0.0, 0.001, 0.02)),
        chances=[random.random() for _ in range(ITERATIONS)],
        limit=StartLimit(random.choice((5, 10, 20, 50)), 100) if limited else None,
        time_limit_s=random.choice((0.5, 2.0, inf)) if limited else inf,
        lags=[Lag(random, kind, 5 * until_s + 2, size_s) for _ in range(workers)],
        load=_load(arrivals, rate, users),
    )


def _due(random: Random, arrivals: str, rate: float, least_s: float) -> list[float]:
    match arrivals:
        case "constant":
            return [number / rate for number in range(ITERATIONS)]
        case "poisson":
            at_s, due_s = 0.0, []
            for _ in range(ITERATIONS):
                at_s += random.expovariate(rate)
                due_s.append(at_s)
            return due_s
        case "burst":
            size = random.choice((10, 50, 100))
            interval_s = size * least_s * random.choice((1.5, 3))
            return [number // size * interval_s for number in range(ITERATIONS)]
        case _:
            return []


def _load(arrivals: str, rate: float, users: int) -> Load:
    match arrivals:
        case "burst":
            return BurstLoad(connections=ITERATIONS, repeat=1, interval_s=0.0)
        case "users":
            stages = (UsersStage(users=users, duration_s=1.0),)
            return UsersLoad(stages=stages, spawn_rate=0.0, think_time=ThinkTime(0.0, 0.0))
        case _:
            stage = ArrivalsStage(rate=rate, duration_s=1.0)
            return ArrivalsLoad(stages=(stage,), process=ArrivalProcess(arrivals), max_in_flight=1000, seed=0)


def delayed(found: RunSummary, delay_us: int, *, lag_us: int | None = None) -> RunSummary:
    """Return the summary of a generator whose starts were so late from p90 on, and its event loop as well.

    The event loop lagged by `lag_us` where that is given. Half of its wakes were prompt all the same.
    """
    lag = delay_us if lag_us is None else lag_us
    lags: dict[str, Any] = {"loop_lag_p99_us": lag, "loop_lag_p999_us": lag, "loop_lag_max_us": lag}
    generator = replace(found.trial.generator, loop_lag_mean_us=lag // 1_000, **lags)
    steps = tuple(
        replace(step, percentiles_us={**dict.fromkeys(step.percentiles_us, delay_us), "50": 100}, max_us=delay_us)
        if step.step == Timing.START_DELAY
        else step
        for step in found.trial.steps
    )
    return retold(found, generator=generator, steps=steps)


def with_percentile(found: RunSummary, name: str, percentile: float, value_us: int) -> RunSummary:
    """Return the summary with another value at a percentile of a step of the measured window."""
    steps = tuple(
        replace(step, percentiles_us={**step.percentiles_us, percentile_key(percentile): value_us})
        if (step.step, step.window) == (name, Window.MEASURED)
        else step
        for step in found.trial.steps
    )
    return retold(found, steps=steps)
