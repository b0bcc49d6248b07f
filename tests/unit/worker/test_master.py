"""The master in virtual time: what it waits for and for how long, what it orders, and which of several causes it names.

Its workers and its target are played. `tests/integration/worker` has the same with real ones.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import gevent
import pytest
from reports import REPORT
from run_configs import NOWHERE, arrivals, run_config
from runs import target_stats
from sshload_contract.load import HoldLoad, Search
from sshload_contract.thresholds import ErrorRateThreshold
from sshload_contract.vocabulary import InPath, Outcome, RunEnd, SearchEnd, TrialState, Window
from sshload_contract.wire.codec import to_json
from sshload_contract.wire.master_log import Snapshot, Stage, read_master_log
from sshload_contract.wire.program import ProgramStats
from sshload_contract.wire.report import LoginFailure
from sshload_contract.wire.run_config import GatewayEndpoint, RunConfig
from sshload_contract.wire.run_summary import RunSummary
from sshload_contract.wire.target import TargetStats
from sshload_worker.coordination import connected_workers, master, messages, settling
from sshload_worker.coordination.master import Master
from sshload_worker.coordination.stats import UnresponsiveError
from sshload_worker.summary.totals import NO_COUNTS
from virtual_greenlets import VirtualClock

BEGIN_S = 1_000.0
LEAD_S = 0.5
LOAD_S = 10.0
DRAIN_S = 7.0
PATIENCE_S = 30.0
PORTS_S = 75.0
"""How long ports may take to be free again: 60 s, and some."""

STOPPING_S = 5.0
LOST_S = messages.LOST_AFTER_S
ONE_LOAD = replace(
    run_config(NOWHERE, arrivals(20, LOAD_S), workers=2),
    start_lead_s=LEAD_S,
    drain_s=DRAIN_S,
    workers_timeout_s=PATIENCE_S,
)
MANAGED = replace(ONE_LOAD, stats_url="http://target/stats")
BROKEN = ErrorRateThreshold(below=0.01, abort_on_fail=True)
FROM_20_TO_40 = Search(arrivals(20, LOAD_S), most=40, precision=0.5, confirm=0, budget_s=1_000.0)
SEARCH = replace(ONE_LOAD, load=FROM_20_TO_40, thresholds=(ErrorRateThreshold(below=0.01),))


@dataclass
class World:
    """The workers of a run, by what they do, and its target.

    `connects_s` has the time of each worker's hello and READY; what a worker does at an order is a method, which a test
    may replace. `fails_above` is the load from which on all iterations fail. The target is ready from `ready_s` on, and
    tells `stats`, None for nothing.
    """

    clock: VirtualClock
    connects_s: Mapping[int, float] = field(default_factory=lambda: {0: 1.0, 1: 2.0})
    load_s: float = LOAD_S
    fails_above: float = 1e9
    finishes: bool = True
    ready_s: float = 0.0
    stats: Callable[["World"], TargetStats | None] = lambda _: target_stats(1)
    accepts: Callable[[int], bool] = lambda _: True
    becomes_ready_again: Iterable[int] = (0, 1)
    heard: list[tuple[float, str, Mapping[str, Any]]] = field(default_factory=list)
    fetched_s: list[float] = field(default_factory=list)
    closed: bool = False
    listens: tuple[str, int] | None = None
    checked: int = 0
    trial: int = 0
    silent: set[int] = field(default_factory=set)
    logged_in: set[int] = field(default_factory=set)
    sequences: Counter[tuple[int, int]] = field(default_factory=Counter)
    master: Any = None

    @property
    def at_s(self) -> float:
        """The time since the begin."""
        return round(self.clock.now_s - BEGIN_S, 3)

    def times_of(self, kind: str) -> list[float]:
        """Return when an order was sent."""
        return [at_s for at_s, heard, _ in self.heard if heard == kind]

    def start_workers(self) -> None:
        for index, at_s in self.connects_s.items():
            gevent.spawn(self._connect, index, at_s)

    def _connect(self, index: int, at_s: float) -> None:
        self.clock.sleep(at_s)
        registry = self.master.worker_registry
        registry.register(index, f"client-{index}", self.clock.now_s)
        registry.note_ready(index, f"client-{index}")
        self.master.note_change()
        while True:
            if index not in self.silent:
                registry.note_message(f"client-{index}", self.clock.now_s)
            self.clock.sleep(1.0)

    def hear(self, kind: str, fields: Mapping[str, Any]) -> None:
        """Take an order down, and do what it says."""
        self.heard.append((self.at_s, kind, fields))
        for index in self.connects_s:
            if kind == messages.START:
                gevent.spawn(self.make_load, index, fields)
            elif kind == messages.STOP and self.finishes:
                gevent.spawn(self.report, index, final=True)
            elif kind == messages.FINISH:
                gevent.spawn(self.finish, index)
            elif kind == messages.AGAIN and index in self.becomes_ready_again:
                gevent.spawn(self.become_ready, index)
            elif kind == messages.LOG_IN and index not in self.logged_in:
                self.logged_in.add(index)
                gevent.spawn(self.log_in, index)

    def make_load(self, index: int, fields: Mapping[str, Any]) -> None:
        """Report half of the load's iterations at its half, and the rest at its end."""
        self.trial = fields["trial"]
        failed = fields["amount"] >= self.fails_above
        self.clock.sleep(fields["lead_s"] + self.load_s / 2)
        self.report(index, ended=100, failed=failed, until_s=self.load_s / 2)
        self.clock.sleep(self.load_s / 2)
        if self.finishes:
            self.report(index, ended=100, failed=failed, until_s=self.load_s, final=True)

    def report(
        self, index: int, *, ended: int = 0, failed: bool = False, until_s: float = 0.0, final: bool = False
    ) -> None:
        """Send a report, as a worker that has held five sessions."""
        counts = replace(NO_COUNTS, scheduled=ended, started=ended)
        counts = replace(counts, failed=ended) if failed else replace(counts, succeeded=ended, completed=ended)
        self.sequences[self.trial, index] += 1
        told = replace(
            REPORT,
            worker=index,
            trial=self.trial,
            sequence=self.sequences[self.trial, index],
            until_s=until_s,
            final=final,
            held=5,
            counts={Window.MEASURED: counts},
            stages=(),
            errors=(),
        )
        if self.master.take_report(told) and final:
            self.master.worker_registry.note_final_report(index, f"client-{index}")
            self.master.note_change()

    def finish(self, index: int) -> None:
        self.clock.sleep(0.5)
        self.master.note_load_end(index, 6.0)
        if self.finishes:
            self.report(index, until_s=6.0, final=True)

    def become_ready(self, index: int) -> None:
        self.master.worker_registry.note_ready(index, f"client-{index}")
        self.master.note_change()

    def log_in(self, index: int) -> None:
        self.clock.sleep(0.25)
        accepted = self.accepts(index)
        self.master.worker_registry.note_login(index, f"client-{index}", accepted=accepted)
        self.master.note_change()

    def check_ready(self, _url: str, _timeout_s: float) -> None:
        self.checked += 1
        if self.at_s < self.ready_s:
            raise UnresponsiveError("Connection refused")

    def fetch(self, _kind: type, _url: str) -> TargetStats:
        self.fetched_s.append(self.at_s)
        stats = self.stats(self)
        if stats is None:
            raise UnresponsiveError("no answer")
        return replace(stats, at_unix_s=self.clock.time())


class PlayedLine:
    """The messages of one run, which the world hears."""

    world: World

    def __init__(self, _run_id: str, _registry: Any, handler: Any) -> None:
        self.world.master = handler

    def send(self, kind: str, **fields: Any) -> None:
        self.world.hear(kind, fields)

    def listen(self, host: str, port: int) -> None:
        self.world.listens = (host, port)

    def send_start(self, **fields: Any) -> None:
        self.world.hear(messages.START, fields)

    def close(self) -> None:
        self.world.closed = True


@dataclass
class Over:
    """A run that is over: its world, its summary, its snapshots with their times, and when it was over."""

    world: World
    summary: RunSummary
    snapshots: list[tuple[float, Snapshot]]
    took_s: float

    def starts(self) -> list[Mapping[str, Any]]:
        return [fields for _, kind, fields in self.world.heard if kind == messages.START]


Play = Callable[..., Over]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    """Return what plays a run of a config in a world, with what else happens in it by its time."""

    def played(config: RunConfig, *happens: tuple[float, Callable[[World], object]], **of_world: Any) -> Over:
        clock = VirtualClock()
        world, printed = World(clock, **of_world), []
        line = type("Line", (PlayedLine,), {"world": world})
        timed = SimpleNamespace(spawn=gevent.spawn, sleep=clock.sleep)
        for module in (master, settling):
            monkeypatch.setattr(module, "gevent", timed)
            monkeypatch.setattr(module, "monotonic", clock.monotonic)
        monkeypatch.setattr(connected_workers, "monotonic", clock.monotonic)
        monkeypatch.setattr(master, "time", SimpleNamespace(time=clock.time))
        monkeypatch.setattr(master, "Event", clock.event)
        monkeypatch.setattr(master, "WorkerLine", line)
        monkeypatch.setattr(settling, "check_ready", world.check_ready)
        monkeypatch.setattr(settling, "fetch_stats", world.fetch)
        spent = iter(range(1, 1_000))
        used = (ProgramStats(float(one), 0.0, None) for one in spent)
        monkeypatch.setattr(master, "stats_in_path", lambda urls: {part: next(used) for part in urls})
        monkeypatch.setattr(
            master, "print", lambda text, flush: printed.append((world.at_s, text, flush)), raising=False
        )

        def happen(at_s: float, what: Callable[[World], object]) -> None:
            clock.sleep(at_s)
            what(world)

        def work() -> None:
            mastering = Master(config, "0" * 64)
            world.start_workers()
            for at_s, what in happens:
                gevent.spawn(happen, at_s, what)
            mastering.listen("::", 5557)
            mastering.run()
            over_s.append(world.at_s)
            left = (len(printed), world.checked, len(world.fetched_s))
            clock.sleep(100.0)
            assert (len(printed), world.checked, len(world.fetched_s)) == left, "it goes on after its end"

        over_s: list[float] = []
        clock.run(work)
        assert world.listens == ("::", 5557)
        assert all(flush for _, _, flush in printed)
        log = read_master_log("\n".join(text for _, text, _ in printed))
        assert log.summary is not None, log.problem
        assert world.heard[-1][1] == messages.END
        assert world.closed
        told = [(at_s, read_master_log(text).snapshot) for at_s, text, _ in printed]
        return Over(world, log.summary, [(at_s, one) for at_s, one in told if one is not None], over_s[0])

    return played


def test_a_load_is_ordered_once_all_workers_are_ready_and_over_once_all_have_reported(play: Play) -> None:
    over = play(ONE_LOAD)
    assert over.starts() == [{"trial": 0, "amount": 20.0, "lead_s": LEAD_S, "of": 2}]
    assert over.world.times_of(messages.START) == [2.0]
    assert over.took_s == 2.0 + LEAD_S + LOAD_S
    summary = over.summary
    assert (summary.end, summary.message) == (RunEnd.COMPLETED, "")
    assert (summary.trial.generator.workers_connected, summary.trial.generator.workers_lost) == (2, 0)
    assert (summary.trial.load.succeeded, summary.trial.load.duration_s) == (400, LOAD_S)
    assert (summary.started_unix_s, summary.finished_unix_s) == (1e6 + BEGIN_S + 2.0 + LEAD_S, 1e6 + BEGIN_S + 12.5)
    assert [kind for _, kind, _ in over.world.heard] == [messages.START, messages.END]
    assert summary.run_json == to_json(ONE_LOAD)


def test_a_snapshot_is_printed_each_second_and_when_the_load_is_ordered(play: Play) -> None:
    over = play(replace(ONE_LOAD, warm_up_s=4.0), load_s=LOAD_S + 4.0, connects_s={0: 1.0, 1: 2.25})
    at_s = [told for told, _ in over.snapshots]
    assert at_s == sorted([*map(float, range(17)), 2.25])
    found = dict(over.snapshots)
    assert [found[one].stage for one in (2.0, 2.25, 6.0, 7.0, 16.0)] == [
        Stage.WAITING_FOR_WORKERS,
        Stage.WARM_UP,
        Stage.WARM_UP,
        Stage.MEASURING,
        Stage.MEASURING,
    ]
    assert [(one.elapsed_s, one.remaining_s) for one in (found[2.0], found[2.25], found[7.0])] == [
        (0.0, 14.0),
        (0.0, 14.0),
        (4.25, 9.75),
    ]
    assert [found[one].workers_connected for one in (0.0, 1.0, 2.25)] == [0, 1, 2]


def test_workers_that_do_not_come_are_named_when_patience_is_over(play: Play) -> None:
    over = play(replace(ONE_LOAD, workers=4), connects_s={1: 1.0, 3: 2.0})
    assert (over.summary.end, over.summary.message) == (
        RunEnd.WORKERS_MISSING,
        "workers 0, 2 did not connect within 30 s",
    )
    assert (over.took_s, over.summary.trial.load.duration_s, over.starts()) == (PATIENCE_S, 0.0, [])
    assert over.summary.finished_unix_s == 1e6 + BEGIN_S + PATIENCE_S


def test_a_target_that_is_not_ready_is_waited_for_and_told_of_and_then_named(play: Play) -> None:
    over = play(MANAGED, ready_s=1e9)
    assert (over.summary.end, over.summary.message) == (
        RunEnd.TARGET_UNREACHABLE,
        "the target was not ready within 30 s: Connection refused",
    )
    assert over.took_s == PATIENCE_S
    assert {one.problem for at_s, one in over.snapshots if at_s > 1} == {"Connection refused"}


def test_a_target_that_is_late_gets_its_load_once_it_is_ready_and_its_problem_is_told_no_more(play: Play) -> None:
    over = play(MANAGED, ready_s=20.0)
    assert over.world.times_of(messages.START) == [pytest.approx(20.0, abs=0.2)]
    assert {one.problem for at_s, one in over.snapshots if 1 < at_s < 20} == {"Connection refused"}
    assert {one.problem for at_s, one in over.snapshots if at_s > 20.2} == {""}
    assert over.summary.end is RunEnd.COMPLETED


def test_a_problem_that_nobody_repeats_is_over_after_10_s(play: Play) -> None:
    for told_s, first_s, last_s in ((3.5, 4.0, 13.0), (3.0, 4.0, 12.0)):
        over = play(
            ONE_LOAD,
            (told_s, lambda world: world.master.note_target_problem("no route")),
            connects_s={0: 1.0, 1: 20.0},
        )
        told = [at_s for at_s, one in over.snapshots if one.problem == "no route" and at_s > told_s]
        assert (told[0], told[-1]) == (first_s, last_s)


def test_a_worker_that_is_not_ready_is_waited_for_although_it_is_connected(play: Play) -> None:
    def connect(world: World) -> None:
        world.master.worker_registry.register(1, "client-1", world.clock.now_s)

    over = play(ONE_LOAD, (2.0, connect), connects_s={0: 1.0})
    assert (over.summary.end, over.summary.message) == (
        RunEnd.TARGET_UNREACHABLE,
        "the target was not ready within 30 s: no answer",
    )


@pytest.mark.parametrize("at_s", [0.5, 7.0])
def test_a_run_that_is_stopped_ends_at_once_and_its_first_cause_stays(play: Play, at_s: float) -> None:
    over = play(
        ONE_LOAD,
        (at_s, lambda world: world.master.stop("told to")),
        (at_s, lambda world: world.master.end_early(RunEnd.GENERATOR_FAULT, "later")),
        (at_s, lambda world: world.master.note_login_failure(LoginFailure(0, 0, "h", 22, Outcome.REFUSED, "later"))),
    )
    assert (over.summary.end, over.summary.message, over.summary.login_failure) == (RunEnd.STOPPED, "told to", None)
    assert over.took_s == at_s
    assert over.world.times_of(messages.STOP) == ([at_s] if at_s > 2 else [])


def test_a_login_that_failed_is_told_with_its_worker_and_its_server(play: Play) -> None:
    failure = LoginFailure(1, 0, "192.0.2.7", 22, Outcome.REFUSED, "Connection refused")
    over = play(ONE_LOAD, (1.5, lambda world: world.master.note_login_failure(failure)))
    assert (over.summary.end, over.summary.message) == (RunEnd.LOGIN_FAILED, "worker 1: Connection refused")
    assert over.summary.login_failure == failure
    assert over.took_s == 1.5


def test_what_the_server_would_rather_have_done_is_told(play: Play) -> None:
    over = play(ONE_LOAD, (1.5, lambda world: world.master.note_better_kex("sntrup761x25519-sha512")))
    assert over.summary.better_kex == "sntrup761x25519-sha512"
    assert play(ONE_LOAD).summary.better_kex is None


def test_key_exchanges_of_any_length_leave_a_summary(play: Play) -> None:
    over = play(ONE_LOAD, (1.5, lambda world: world.master.note_better_kex("".join(map(str, range(3_000_000))))))
    assert len(over.summary.better_kex or "") == 500


def test_workers_that_do_not_obey_a_stop_are_waited_for_5_s_and_the_cause_stays(play: Play) -> None:
    over = play(ONE_LOAD, (7.0, lambda world: world.master.stop("told to")), finishes=False)
    assert over.took_s == 7.0 + STOPPING_S
    assert (over.summary.end, over.summary.message) == (RunEnd.STOPPED, "told to")
    assert over.world.times_of(messages.STOP) == [7.0]


def test_a_final_report_that_is_overdue_ends_the_run_after_the_drain_and_some_patience(play: Play) -> None:
    over = play(ONE_LOAD, finishes=False)
    assert over.took_s == 2.0 + LEAD_S + LOAD_S + DRAIN_S + LOST_S
    assert (over.summary.end, over.summary.message) == (
        RunEnd.WORKER_LOST,
        "a worker's final report did not arrive",
    )
    assert over.world.times_of(messages.STOP) == []


def test_a_worker_that_falls_silent_is_lost_and_the_others_are_stopped(play: Play) -> None:
    over = play(replace(ONE_LOAD, load=arrivals(20, 60.0)), (5.5, lambda world: world.silent.add(1)), load_s=60.0)
    assert over.summary.end is RunEnd.WORKER_LOST
    assert over.summary.message.startswith("worker 1 was silent for 1")
    assert (over.summary.trial.generator.workers_connected, over.summary.trial.generator.workers_lost) == (2, 1)
    assert 5 + LOST_S < over.took_s < 5 + LOST_S + 2.5
    assert len(over.world.times_of(messages.STOP)) == 1


def test_a_hopeless_load_is_finished_and_not_stopped(play: Play) -> None:
    over = play(replace(ONE_LOAD, thresholds=(BROKEN,)), fails_above=0)
    assert len(over.world.times_of(messages.FINISH)) == 1
    assert over.world.times_of(messages.STOP) == []
    assert (over.summary.end, over.summary.message) == (RunEnd.COMPLETED, "")
    assert over.summary.early_end is not None
    assert (over.summary.early_end.after_s, over.summary.trial.load.duration_s) == (6.0, 6.0)


def test_workers_that_do_not_finish_a_hopeless_load_are_waited_for_as_long_as_a_drain_may_take(play: Play) -> None:
    over = play(replace(ONE_LOAD, thresholds=(BROKEN,)), fails_above=0, finishes=False)
    (ordered_s,) = over.world.times_of(messages.FINISH)
    assert over.took_s == pytest.approx(ordered_s + DRAIN_S + LOST_S)
    assert over.summary.end is RunEnd.WORKER_LOST


def test_a_load_that_is_stopped_is_not_finished_too_however_hopeless_it_is(play: Play) -> None:
    """Its first reports come 4.5 s after the order, which nobody obeys."""
    run = replace(ONE_LOAD, thresholds=(BROKEN,))
    over = play(run, (3.0, lambda world: world.master.stop("told to")), fails_above=0, finishes=False)
    assert (over.took_s, over.world.times_of(messages.FINISH)) == (3.0 + STOPPING_S, [])


LOGGING_IN = replace(MANAGED, log_in_first=True)


def test_workers_log_in_before_the_load_and_the_target_has_told_of_all_that_were_accepted(play: Play) -> None:
    """It tells of them at 5 s. One was refused as one too many."""

    def stats(world: World) -> TargetStats:
        return target_stats(7 if world.at_s < 5 else 8)

    over = play(LOGGING_IN, stats=stats, accepts=lambda index: index == 1)
    assert set(over.world.times_of(messages.LOG_IN)) == {2.0, 2.25}
    assert over.world.times_of(messages.START) == [pytest.approx(5.0, abs=0.3)]


def test_the_order_to_log_in_is_repeated_each_second_and_given_up_when_patience_is_over(play: Play) -> None:
    def answers_none(world: World) -> None:
        world.logged_in.update((0, 1))

    over = play(LOGGING_IN, (0.0, answers_none))
    ordered_s = over.world.times_of(messages.LOG_IN)
    assert {later - earlier for earlier, later in pairwise(ordered_s)} == {1.0}
    assert over.summary.message == "the target was not ready within 30 s: no answer"
    assert over.took_s == pytest.approx(2.0 + PATIENCE_S)


def test_without_that_nobody_is_ordered_to_log_in(play: Play) -> None:
    assert play(MANAGED).world.times_of(messages.LOG_IN) == []


def test_what_the_target_still_has_is_waited_for_30_s_and_then_told(play: Play) -> None:
    run = replace(SEARCH, stats_url="http://target/stats", workers_timeout_s=60.0)
    over = play(run, stats=lambda _: target_stats(1, sessions=4), fails_above=0)
    assert over.world.times_of(messages.START)[0] == pytest.approx(30.0, abs=0.3)
    assert over.summary.search is not None
    assert "when the trial began, the target still had 4 sessions open" in over.summary.trials[0].message


def test_the_targets_counts_are_of_before_and_after_the_load_and_over_its_time(play: Play) -> None:
    over = play(MANAGED, stats=lambda world: target_stats(round(10 * world.at_s)))
    before, after = over.summary.trial.target_before, over.summary.trial.target_after
    assert before is not None
    assert after is not None
    assert (before.accepted, after.accepted) == (20, 125)
    during = [at_s for at_s in over.world.fetched_s if 2.0 < at_s < 12.5]
    assert during == [2.5, 4.5, 6.5, 8.5, 10.5]
    assert [point.at_s for point in over.summary.trial.server_series] == [2.0, 4.0, 6.0, 8.0]
    assert over.summary.trial.target_held is None


def test_a_target_that_tells_nothing_for_a_while_is_asked_again_at_its_time(play: Play) -> None:
    over = play(MANAGED, stats=lambda world: None if 4 < world.at_s < 5 else target_stats(round(10 * world.at_s)))
    assert [point.at_s for point in over.summary.trial.server_series] == [4.0, 6.0, 8.0]


def test_a_load_that_is_shorter_than_an_interval_and_an_external_target_have_no_counts_over_time(play: Play) -> None:
    short = play(replace(MANAGED, load=arrivals(20, 1.5)), load_s=1.5)
    assert [at_s for at_s in short.world.fetched_s if 2.0 < at_s < 4.0] == []
    as_long = play(replace(MANAGED, load=arrivals(20, 2.0)), load_s=2.0)
    assert [at_s for at_s in as_long.world.fetched_s if 2.0 < at_s < 4.0] == [2.5]
    assert play(ONE_LOAD).world.fetched_s == []


HOLD = HoldLoad(sessions=10, ramp_up_s=2.0, duration_s=8.0, keep_alive_s=0.0, probe_rate=0.0)


@pytest.mark.parametrize(
    ("ramp_up_s", "duration_s", "before_end_s"), [(2.0, 8.0, 2.0), (2.0, 2.0, 1.0), (0.2, 0.5, 0.25)]
)
def test_the_targets_counts_are_taken_2_s_before_held_sessions_end_or_at_half_of_their_time(
    play: Play, ramp_up_s: float, duration_s: float, before_end_s: float
) -> None:
    load = replace(HOLD, ramp_up_s=ramp_up_s, duration_s=duration_s)
    length_s = load.lasts_s
    over = play(replace(MANAGED, load=load), stats=lambda world: target_stats(round(10 * world.at_s)), load_s=length_s)
    held = over.summary.trial.target_held
    assert held is not None
    assert held.accepted == round(10 * (2.0 + LEAD_S + length_s - before_end_s))


def counts_of_held(play: Play, first: dict[str, int], then: dict[str, int]) -> tuple[int, int]:
    """Return the processes and sessions that are kept of a target whose counts change shortly before the end."""
    over = play(
        replace(MANAGED, load=HOLD),
        stats=lambda world: target_stats(1, **(first if world.at_s < 11.5 else then)) if world.at_s > 2.5 else None,
        load_s=HOLD.lasts_s,
    )
    kept = over.summary.trial.target_held
    assert kept is not None
    return kept.processes, kept.sessions


@pytest.mark.parametrize(
    ("probe", "sessions"),
    [
        pytest.param({"processes": 21, "sessions": 10}, 10, id="a probe's process that is not logged in"),
        pytest.param({"processes": 20, "sessions": 11}, 10, id="a probe's session whose process has ended"),
    ],
)
def test_of_few_held_sessions_the_counts_are_those_beside_no_probe(
    play: Play, probe: dict[str, int], sessions: int
) -> None:
    assert counts_of_held(play, probe, {"processes": 20, "sessions": sessions}) == (20, 10)


def test_held_sessions_that_have_ended_leave_the_counts_of_before(play: Play) -> None:
    assert counts_of_held(play, {"processes": 10, "sessions": 5}, {"processes": 2, "sessions": 1}) == (10, 5)


def test_many_held_sessions_are_counted_once(play: Play) -> None:
    over = play(
        replace(MANAGED, load=HOLD),
        stats=lambda world: target_stats(1, sessions=101 if world.at_s > 3 else 0),
        load_s=HOLD.lasts_s,
    )
    end_s = 2.0 + LEAD_S + HOLD.lasts_s
    assert max(at_s for at_s in over.world.fetched_s if at_s < end_s) == pytest.approx(end_s - 2.0)


def test_a_hundred_held_sessions_are_few_and_counted_again(play: Play) -> None:
    def counted(sessions: int) -> int:
        over = play(
            replace(MANAGED, load=HOLD),
            stats=lambda world: target_stats(1, sessions=sessions if world.at_s > 3 else 0),
            load_s=HOLD.lasts_s,
        )
        return len(over.world.fetched_s)

    assert counted(100) > counted(101)


def test_what_the_programs_in_the_path_have_used_is_that_of_the_load(play: Play) -> None:
    over = play(replace(ONE_LOAD, in_path={InPath.PROXY: "http://proxy/stats"}))
    used = over.summary.in_path[InPath.PROXY]
    assert (used.before.cpu_s, used.after.cpu_s) == (1.0, 2.0)


def test_of_a_search_each_trial_is_ordered_once_all_are_ready_again_and_all_trials_are_in_its_result(
    play: Play,
) -> None:
    over = play(SEARCH, fails_above=30)
    starts = over.starts()
    assert [one["trial"] for one in starts] == list(range(1, len(starts) + 1))
    assert len(over.world.times_of(messages.AGAIN)) == len(starts) - 1
    result = over.summary.search
    assert result is not None
    assert result.end is SearchEnd.FOUND
    trials = over.summary.trials
    assert [(one.number, one.amount) for one in trials] == [(one["trial"], one["amount"]) for one in starts]
    assert [one.started_s for one in trials] == [(LEAD_S + LOAD_S) * number for number in range(len(starts))]
    assert over.summary.trial.load.duration_s == LOAD_S
    assert all(one.load.succeeded + one.load.failed == 400 for one in trials)


def test_no_trial_of_a_search_begins_that_would_end_after_its_budget(play: Play) -> None:
    """The third would end at 31 s, by the start of the first."""
    for budget_s, trials in ((30.9, 2), (31.0, 3)):
        search = replace(FROM_20_TO_40, precision=0.01, confirm=5, budget_s=budget_s)
        over = play(replace(SEARCH, load=search))
        assert over.summary.search is not None
        assert (len(over.starts()), over.summary.search.end) == (trials, SearchEnd.OUT_OF_TIME)
        assert len(over.world.times_of(messages.AGAIN)) == trials - 1
        assert over.summary.end is RunEnd.COMPLETED


def test_between_trials_workers_have_as_long_as_their_ports_may_take(play: Play) -> None:
    over = play(SEARCH, becomes_ready_again=(0,))
    assert over.took_s == 12.5 + PORTS_S
    assert (over.summary.end, over.summary.message) == (
        RunEnd.TARGET_UNREACHABLE,
        "the target was not ready again within 75 s: no answer",
    )


def test_between_trials_a_target_that_is_gone_is_waited_for_only_as_long_as_before_the_first(play: Play) -> None:
    def tell(world: World) -> None:
        while world.at_s < 100:
            world.master.note_target_problem("Connection refused")
            world.clock.sleep(5.0)

    over = play(SEARCH, (12.6, tell), becomes_ready_again=())
    assert over.took_s == pytest.approx(12.5 + PATIENCE_S, abs=1.5)
    assert over.summary.message == "the target was not ready again within 30 s: Connection refused"


def test_in_each_trial_of_a_search_the_snapshots_say_what_it_does(play: Play) -> None:
    succeeded: list[int] = []

    def look(world: World) -> None:
        succeeded.extend(of.window(Window.MEASURED).succeeded for of in world.master.totals)

    over = play(SEARCH, (13.0, look), fails_above=30)
    stages = dict(over.snapshots)
    assert (stages[5.0].stage, stages[15.0].stage) == (Stage.MEASURING, Stage.MEASURING)
    assert succeeded == [400, 0]


def test_the_first_trial_of_a_search_is_made_however_little_its_budget_is(play: Play) -> None:
    over = play(replace(SEARCH, load=replace(FROM_20_TO_40, budget_s=5.0)))
    assert (len(over.starts()), over.summary.end) == (1, RunEnd.COMPLETED)


OUT_OF_TIME = replace(SEARCH, load=replace(FROM_20_TO_40, budget_s=30.0))
"""A second trial has to begin within 19.5 s of the first, at 22 s."""


def test_workers_that_are_not_ready_within_the_budget_end_a_search_in_order(play: Play) -> None:
    over = play(OUT_OF_TIME, becomes_ready_again=(0,))
    assert over.took_s == pytest.approx(22.0, abs=1.0)
    assert (over.summary.end, over.summary.message) == (RunEnd.COMPLETED, "")
    assert over.summary.search is not None
    assert over.summary.search.end is SearchEnd.OUT_OF_TIME


def test_a_target_that_is_gone_at_the_end_of_the_budget_is_the_cause(play: Play) -> None:
    def tell(world: World) -> None:
        while world.at_s < 100:
            world.master.note_target_problem("Connection refused")
            world.clock.sleep(5.0)

    over = play(OUT_OF_TIME, (12.6, tell), becomes_ready_again=())
    assert over.took_s == pytest.approx(22.0, abs=1.0)
    assert over.summary.end is RunEnd.TARGET_UNREACHABLE
    assert over.summary.message.endswith("s: Connection refused")


def test_a_target_that_tells_its_counts_after_the_budget_gets_no_trial_for_them(play: Play) -> None:
    told_again: list[float] = []

    def stats(world: World) -> TargetStats:
        if world.times_of(messages.AGAIN):
            told_again.append(world.at_s)
            if len(told_again) == 2:  # the first one says that it is idle
                world.clock.sleep(20.0)
        return target_stats(round(10 * world.at_s))

    over = play(replace(OUT_OF_TIME, stats_url="http://target/stats"), stats=stats)
    assert (len(over.starts()), over.summary.end) == (1, RunEnd.COMPLETED)


def test_a_problem_of_the_trial_before_is_not_what_the_next_one_waits_for(play: Play) -> None:
    over = play(SEARCH, (5.0, lambda world: world.master.note_target_problem("an old one")), becomes_ready_again=(0,))
    assert over.summary.message == "the target was not ready again within 75 s: no answer"


def test_a_trial_that_is_cut_off_says_nothing_of_the_capacity(play: Play) -> None:
    over = play(SEARCH, (9.0, lambda world: world.master.stop("told to")))
    assert over.summary.search is not None
    (trial,) = over.summary.trials
    assert (trial.state, over.summary.search.lower) == (TrialState.INVALID, None)
    assert over.summary.end is RunEnd.STOPPED


def test_the_connections_that_a_gateway_keeps_are_not_waited_for(play: Play) -> None:
    gateway = GatewayEndpoint(tls=False, host="gateway", port=80, path="", credential="c", token_path="", ca_path="")
    run = replace(MANAGED, target=gateway)
    over = play(run, stats=lambda _: target_stats(1, sessions=4))
    assert over.world.times_of(messages.START) == [2.0]


def test_while_a_search_waits_between_its_trials_its_snapshots_say_so(play: Play) -> None:
    over = play(SEARCH, becomes_ready_again=(0,))
    assert {one.stage for at_s, one in over.snapshots if at_s > 12.5} == {Stage.SETTLING}
    assert {one.search.trial for _, one in over.snapshots if one.search is not None} == {1}


def test_a_worker_that_leaves_between_two_trials_ends_the_search_by_name(play: Play) -> None:
    def leave(world: World) -> None:
        world.master.worker_registry.note_leave(1, "client-1", "told to terminate")
        world.master.note_change()

    over = play(SEARCH, (14.0, leave), becomes_ready_again=(0,))
    assert over.took_s == 14.0
    assert (over.summary.end, over.summary.message) == (RunEnd.WORKER_LOST, "worker 1 left: told to terminate")
