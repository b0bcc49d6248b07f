"""The generator: what begins when, in which window and stage, and how all of it ends. Iterations are played."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import accumulate, count, pairwise
from socket import socketpair
from time import monotonic_ns
from typing import Any, cast

import gevent
import pytest
from gevent import GreenletExit
from gevent.event import Event
from gevent.monkey import get_original
from gevent.socket import wait_read
from run_configs import NOWHERE, arrivals, run_config
from sshload_contract.load import (
    ArrivalsLoad,
    ArrivalsStage,
    BurstLoad,
    HoldLoad,
    Load,
    ThinkTime,
    UsersLoad,
    UsersStage,
)
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.run_config import RunConfig
from sshload_worker.pacing import generator
from sshload_worker.pacing.generator import Generator
from sshload_worker.pacing.share import Share
from sshload_worker.recording.recorder import LATE_AFTER_NS, Recorder
from sshload_worker.scenario.step_clock import Due

NS_PER_S = 1_000_000_000
stand_still = get_original("time", "sleep")
"""Sleep, and let no greenlet run meanwhile."""
FAR_S = 1_000.0
ONCE = BurstLoad(connections=1, repeat=1, interval_s=0.1)


@dataclass
class Begun:
    """An iteration that began at `at_ns`, and how it ended: None while it runs."""

    due: Due
    user: int | None
    at_ns: int
    turn: int
    end: str | None = None
    end_ns: int = 0


@dataclass
class Played:
    """Iterations that do `work` each, with their sessions, and held sessions; all calls are noted."""

    work: Callable[[Begun], Any] = bool
    recorder: Recorder = field(default_factory=lambda: Recorder("run", 0))
    begun: list[Begun] = field(default_factory=list)
    told: list[tuple[Any, ...]] = field(default_factory=list)

    @property
    def sessions(self) -> Any:
        return self

    def run(self, due: Due, user: int | None = None) -> bool:
        one = Begun(due, user, monotonic_ns(), gevent.get_hub().loop.iteration)
        self.begun.append(one)
        try:
            continues = self.work(one)
        except GreenletExit:
            one.end = "cut off"
            raise
        else:
            one.end = "done"
        finally:
            one.end_ns = monotonic_ns()
        return continues is not False

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *arguments, **named: self.told.append((name, *arguments, *named.values()))

    def said(self, name: str) -> list[tuple[Any, ...]]:
        """Return the arguments of each call."""
        return [tuple(arguments) for said, *arguments in self.told if said == name]


class Held(Played):
    """Held sessions, which say if they are begun before they are due."""

    def begin(self, number: int, due: Due) -> None:
        self.told.append(("begin", number, due))
        if monotonic_ns() < due.at_ns:
            self.told.append(("early", number))

    def watch(self) -> None:
        self.told.append(("watch",))
        try:
            Event().wait()
        finally:
            self.told.append(("watched",))


@dataclass
class Worker:
    """A generator, its iterations and held sessions, and the greenlet in which it runs."""

    generator: Generator
    played: Played
    held: Held
    start_ns: int
    work: Any

    def offsets(self) -> list[float]:
        """Return when what has begun was due, in seconds after the start."""
        return [round((one.due.at_ns - self.start_ns) / NS_PER_S, 6) for one in self.played.begun]


@contextmanager
def at_work(config: RunConfig, played: Played | None = None, share: Share | None = None) -> Iterator[Worker]:
    played, held = Played() if played is None else played, Held()
    start_ns = monotonic_ns() + int(config.start_lead_s * NS_PER_S)
    made = Generator(config, share or Share(0, 1), cast("Any", played), cast("Any", held), start_ns)
    work = gevent.spawn(made.run)
    try:
        yield Worker(made, played, held, start_ns, work)
    finally:
        made.stop()
        work.join()


def whole(config: RunConfig, played: Played | None = None, share: Share | None = None) -> Worker:
    """Return the generator after its whole load."""
    with at_work(config, played, share) as worker:
        worker.work.get()
        return worker


def configured(load: Load, *, warm_up_s: float = 0.0, drain_s: float = 30.0, lead_s: float = 0.0) -> RunConfig:
    found = run_config(NOWHERE, load)
    return replace(found, warm_up_s=warm_up_s, drain_s=drain_s, start_lead_s=lead_s)


def constant(*stages: tuple[float, float]) -> ArrivalsLoad:
    return replace(arrivals(1, 1), stages=tuple(ArrivalsStage(rate, seconds) for rate, seconds in stages))


def until(condition: Callable[[], object]) -> None:
    while not condition():
        gevent.sleep(0.001)


def read_by_others(place: int) -> None:
    """Wait for what takes several turns of the loop to be read and passed on, as in a library with its own reader."""
    wait_read(place)
    for _ in range(4):
        gevent.sleep(1e-6)


def hang(_: Begun) -> None:
    Event().wait()


STAGED = constant((100, 0.04), (200, 0.02), (0, 0.02), (100, 0.02))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_each_arrival_begins_once_over_all_workers_when_it_is_due_and_in_its_window_and_stage(workers: int) -> None:
    config = configured(STAGED, warm_up_s=0.02, lead_s=0.03)
    ran = [whole(config, share=Share(index, workers)) for index in range(workers)]
    assert sorted(offset for worker in ran for offset in worker.offsets()) == pytest.approx(
        [0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.065, 0.07, 0.075, 0.1, 0.11], abs=1e-5
    )
    for worker in ran:
        assert all(one.at_ns >= one.due.at_ns for one in worker.played.begun)
        for offset, one in zip(worker.offsets(), worker.played.begun, strict=True):
            if offset < 0.0199:
                assert (one.due.window, one.due.stage) == (Window.WARM_UP, 0)
            else:
                ends = accumulate((0.02, 0.04, 0.02, 0.02, 0.02))
                assert one.due.window is Window.MEASURED
                assert one.due.stage == sum(offset > end - 1e-5 for end in ends)


def test_the_load_lasts_to_its_end_even_if_nothing_is_due_any_more_and_then_waits_for_what_has_begun() -> None:
    released = Event()
    config = configured(constant((100, 0.01), (0, 0.05)))
    with at_work(config, Played(work=lambda _: released.wait())) as worker:
        until(lambda: monotonic_ns() > worker.start_ns + 0.06 * NS_PER_S)
        gevent.sleep(0.02)
        assert not worker.work.ready()
        released.set()
        worker.work.get()
        assert [one.end for one in worker.played.begun] == ["done"]
    early = whole(config)
    assert monotonic_ns() >= early.start_ns + int(0.06 * NS_PER_S)


def test_a_stage_holds_what_is_due_at_its_begin_and_the_last_one_what_is_due_at_its_end() -> None:
    made = Generator(configured(STAGED, warm_up_s=1.0), Share(0, 1), cast("Any", Played()), cast("Any", Held()), 0)
    found = [made._due(1.0 + offset_s, 0) for offset_s in (-0.001, 0.0, 0.04, 0.06, 0.08, 0.1, 0.2)]
    assert [due.stage for due in found] == [0, 1, 2, 3, 4, 4, 4]
    single = Generator(configured(constant((1, 1))), Share(0, 1), cast("Any", Played()), cast("Any", Held()), 0)
    assert single._due(0.5, 0) == Due(NS_PER_S // 2, Window.MEASURED)


@pytest.mark.parametrize(("index", "room"), [(0, 2), (1, 1)])
def test_arrivals_beyond_this_workers_part_of_the_limit_are_dropped_in_their_window_and_stage(
    index: int, room: int
) -> None:
    load = replace(constant((200, 0.05), (200, 0.05)), max_in_flight=3)
    config = replace(configured(load, warm_up_s=0.05, drain_s=0.0), workers=2)
    worker = whole(config, Played(work=hang), Share(index, 2))
    counts, stages = worker.played.recorder._counts, worker.played.recorder._stage_counts
    assert [one.end for one in worker.played.begun] == ["cut off"] * room
    assert counts[Window.WARM_UP].dropped == 5 - room
    assert [stages[stage].dropped for stage in (1, 2)] == [5, 5]


def test_a_burst_drops_none_however_many_are_in_flight() -> None:
    config = configured(BurstLoad(connections=40, repeat=2, interval_s=0.02), drain_s=0.0)
    worker = whole(config, Played(work=hang))
    assert [one.end for one in worker.played.begun] == ["cut off"] * 80
    assert monotonic_ns() >= worker.start_ns + int(0.04 * NS_PER_S)


def test_a_burst_is_over_when_its_iterations_are_not_only_at_the_end_of_its_last_interval() -> None:
    worker = whole(configured(BurstLoad(connections=2, repeat=1, interval_s=FAR_S)))
    assert [one.end for one in worker.played.begun] == ["done"] * 2


def test_of_a_crowd_that_is_due_at_once_the_first_have_their_turn_before_the_last_begin() -> None:
    begun: list[int] = []
    config = configured(BurstLoad(connections=64, repeat=1, interval_s=0.0))
    with at_work(config, Played(work=lambda _: begun.append(len(worker.generator._running)))) as worker:
        worker.work.get()
    assert begun[0] == generator._STARTS_PER_TURN
    assert len(begun) == 64


def test_after_a_pause_of_the_worker_what_has_arrived_is_served_before_an_arrival_is_dropped() -> None:
    ours, theirs = socketpair()
    with ours, theirs:

        def work(one: Begun) -> None:
            if one is worker.played.begun[0]:
                read_by_others(ours.fileno())

        with at_work(configured(replace(constant((2, 1.0)), max_in_flight=1)), Played(work=work)) as worker:
            until(lambda: worker.played.begun)
            theirs.send(b".")
            stand_still(0.5 + 2 * LATE_AFTER_NS / NS_PER_S)
            worker.work.get()
    assert worker.offsets() == [0.0, 0.5]
    assert worker.played.recorder._counts[Window.MEASURED].dropped == 0


@pytest.mark.parametrize(
    ("late_after_ns", "most", "served"),
    [
        pytest.param(10**15, 1, 0, id="in time"),
        pytest.param(-(10**15), 1, 9, id="late, and there is no room"),
        pytest.param(-(10**15), 100, 0, id="late, and there is room"),
    ],
)
def test_turns_are_given_away_only_before_a_late_arrival_is_dropped(
    monkeypatch: pytest.MonkeyPatch, late_after_ns: int, most: int, served: int
) -> None:
    """They cost time, in which others become late."""
    given: list[None] = []
    monkeypatch.setattr(generator, "LATE_AFTER_NS", late_after_ns)
    monkeypatch.setattr(generator, "_serve_arrived", lambda: given.append(None))
    load = replace(constant((200, 0.05)), max_in_flight=most)
    with at_work(configured(load), Played(work=hang)) as worker:
        counts = worker.played.recorder._counts[Window.MEASURED]
        until(lambda: len(worker.played.begun) + counts.dropped == 10)
        assert len(given) == served
        assert counts.dropped == max(10 - most, 0)


def test_the_end_of_the_drain_cuts_off_what_still_runs_and_closes_all_sessions() -> None:
    with at_work(configured(ONCE, drain_s=0.05), Played(work=hang)) as worker:
        worker.work.get()
        (only,) = worker.played.begun
        assert only.end == "cut off"
        assert only.end_ns >= worker.start_ns + int(0.15 * NS_PER_S)
        assert worker.held.told == [("stop_waiting",), ("close", Outcome.UNFINISHED)]
        assert worker.played.said("close") == [()]


def test_a_stop_ends_at_once_what_runs_and_begins_nothing_more() -> None:
    with at_work(configured(constant((1_000, FAR_S))), Played(work=hang)) as worker:
        until(lambda: worker.played.begun)
        worker.generator.stop()
        begun = len(worker.played.begun)
        worker.work.get()
        gevent.sleep(0.01)
    assert [one.end for one in worker.played.begun] == ["cut off"] * begun


def test_a_stop_before_the_load_ends_it() -> None:
    played = Played()
    made = Generator(configured(ONCE), Share(0, 1), cast("Any", played), cast("Any", Held()), monotonic_ns())
    made.stop()
    assert (played.begun, played.said("close")) == ([], [()])


def test_a_stop_lets_what_has_arrived_end_by_itself() -> None:
    ours, theirs = socketpair()
    with (
        ours,
        theirs,
        at_work(configured(ONCE), Played(work=lambda _: read_by_others(ours.fileno()))) as worker,
    ):
        until(lambda: worker.played.begun)
        gevent.sleep(0.001)
        theirs.send(b".")
        worker.generator.stop()
        assert [one.end for one in worker.played.begun] == ["done"]


def test_what_is_finished_early_begins_nothing_more_waits_for_what_runs_and_says_how_long_the_load_was() -> None:
    released = Event()
    with at_work(configured(constant((1_000, FAR_S)), drain_s=FAR_S), Played(work=lambda _: released.wait())) as worker:
        until(lambda: worker.played.begun)
        gevent.sleep(0.02)
        before_ns = monotonic_ns()
        lasted_s = worker.generator.finish()
        assert (before_ns - worker.start_ns) / NS_PER_S <= lasted_s <= (monotonic_ns() - worker.start_ns) / NS_PER_S
        assert worker.played.recorder.rated.end_ns == worker.start_ns + round(lasted_s * NS_PER_S)
        gevent.sleep(0.01)
        begun = len(worker.played.begun)
        gevent.sleep(0.01)
        assert not worker.work.ready()
        released.set()
        worker.work.get()
    assert [one.end for one in worker.played.begun] == ["done"] * begun


def test_what_is_finished_early_cuts_off_at_the_end_of_its_own_drain_what_still_runs() -> None:
    load = BurstLoad(connections=1, repeat=1, interval_s=FAR_S)
    with at_work(configured(load, drain_s=0.05), Played(work=hang)) as worker:
        until(lambda: worker.played.begun)
        before_ns = monotonic_ns()
        worker.generator.finish()
        worker.work.get()
    (only,) = worker.played.begun
    assert only.end == "cut off"
    assert only.end_ns >= before_ns + int(0.05 * NS_PER_S)


def test_a_worker_that_paused_until_the_end_of_the_drain_serves_what_has_arrived_before_it_cuts_off() -> None:
    ours, theirs = socketpair()
    load = BurstLoad(connections=1, repeat=1, interval_s=FAR_S)
    played = Played(work=lambda _: read_by_others(ours.fileno()))
    with ours, theirs, at_work(configured(load, drain_s=0.02), played) as worker:
        until(lambda: worker.played.begun)
        worker.generator.finish()
        theirs.send(b".")
        stand_still(0.04)
        worker.work.get()
        assert [one.end for one in worker.played.begun] == ["done"]


def test_a_load_that_is_finished_after_its_end_has_lasted_to_its_end_and_before_its_start_for_no_time() -> None:
    with at_work(configured(ONCE), Played(work=lambda _: gevent.sleep(0.12))) as worker:
        until(lambda: worker.generator.elapsed_s() > 0.11)
        assert worker.generator.finish() == pytest.approx(0.1)
    with at_work(configured(ONCE, lead_s=FAR_S)) as worker:
        gevent.sleep(0.001)
        assert (worker.generator.elapsed_s(), worker.generator.finish()) == (0, 0)
        assert worker.generator.finish() == 0


def test_the_elapsed_time_counts_from_the_start() -> None:
    made = Generator(configured(ONCE), Share(0, 1), cast("Any", Played()), cast("Any", Held()), 0)
    before_s = monotonic_ns() / NS_PER_S
    assert before_s <= made.elapsed_s() <= monotonic_ns() / NS_PER_S


def test_sessions_that_iterations_need_are_prepared_until_the_middle_of_the_warm_up() -> None:
    with at_work(configured(ONCE, warm_up_s=60.0, lead_s=FAR_S)) as worker:
        until(lambda: worker.played.said("prepare"))
        ((clock, within_s),) = worker.played.said("prepare")
        assert (worker.start_ns - monotonic_ns()) / NS_PER_S <= within_s - 30.0 <= FAR_S
        assert clock._due.window is Window.WARM_UP
        assert clock._due.at_ns < worker.start_ns
    with at_work(configured(ONCE, lead_s=-5.0, warm_up_s=8.0)) as worker:
        until(lambda: worker.played.said("prepare"))
        assert worker.played.said("prepare")[0][1] == 4.0


def users(*stages: UsersStage, think_s: float = 0.0) -> UsersLoad:
    return UsersLoad(stages=stages, spawn_rate=0.0, think_time=ThinkTime(think_s, think_s))


def of_user(worker: Worker, user: int) -> list[Begun]:
    return [one for one in worker.played.begun if one.user == user]


def test_users_iterate_one_iteration_at_a_time_and_are_counted_meanwhile() -> None:
    seen: list[int] = []

    def work(_: Begun) -> None:
        gevent.sleep(0.001)
        seen.append(worker.played.recorder.users)

    with at_work(configured(users(UsersStage(3, FAR_S))), Played(work=work)) as worker:
        until(lambda: all(len(of_user(worker, user)) >= 3 for user in range(3)))
        worker.generator.finish()
        worker.work.get()
    for user in range(3):
        own = of_user(worker, user)
        assert own[0].due.at_ns == worker.start_ns
        for before, after in pairwise(own):
            assert before.end_ns <= after.due.at_ns <= after.at_ns
    assert {one.end for one in worker.played.begun} == {"done"}
    assert (seen[0], worker.played.recorder.users) == (3, 0)
    assert sorted(worker.played.said("leave")) == [(0,), (1,), (2,)]


def test_users_begin_no_iteration_after_the_end_of_the_load() -> None:
    worker = whole(configured(users(UsersStage(3, 0.05))))
    end_ns = worker.start_ns + int(0.05 * NS_PER_S)
    assert all(one.due.at_ns < end_ns for one in worker.played.begun)
    assert monotonic_ns() >= end_ns


def test_a_worker_has_the_users_of_its_share() -> None:
    ran = [whole(configured(users(UsersStage(5, 0.02), think_s=FAR_S)), share=Share(index, 2)) for index in range(2)]
    assert [[one.user for one in worker.played.begun] for worker in ran] == [[0, 2, 4], [1, 3]]


def test_users_think_between_their_iterations_as_long_as_chance_says() -> None:
    load = replace(users(UsersStage(2, FAR_S)), think_time=ThinkTime(0.01, 0.03))
    with at_work(configured(load)) as worker:
        until(lambda: all(len(of_user(worker, user)) >= 4 for user in range(2)))
    pairs = [pair for user in range(2) for pair in pairwise(of_user(worker, user))]
    thought = [(after.due.at_ns - before.end_ns) / NS_PER_S for before, after in pairs]
    assert min(thought) >= 0.01
    assert len(thought) == len(set(thought))


def test_the_end_of_the_load_ends_the_thought_of_all_users() -> None:
    worker = whole(configured(users(UsersStage(4, 0.05), think_s=FAR_S)))
    assert [one.user for one in worker.played.begun] == [0, 1, 2, 3]
    assert worker.played.recorder.users == 0


def test_a_user_that_leaves_while_it_thinks_leaves_at_once_and_one_in_an_iteration_after_it() -> None:
    released = Event()

    def work(one: Begun) -> None:
        if one.user == 1:
            released.wait()

    load = users(UsersStage(3, 0.3), UsersStage(0, FAR_S), think_s=FAR_S)
    with at_work(configured(load), Played(work=work)) as worker:
        until(lambda: len(worker.played.said("leave")) == 2)
        assert sorted(worker.played.said("leave")) == [(0,), (2,)]
        released.set()
        until(lambda: len(worker.played.said("leave")) == 3)
        assert [one.user for one in worker.played.begun] == [0, 1, 2]
        assert worker.generator.elapsed_s() >= 0.3


def test_a_user_that_is_wanted_again_in_its_last_iteration_continues_and_one_that_has_left_begins_anew() -> None:
    released = Event()

    def work(one: Begun) -> None:
        if one is worker.played.begun[0]:
            released.wait()

    load = users(UsersStage(2, 0.2), UsersStage(0, 0.2), UsersStage(2, FAR_S), think_s=FAR_S)
    with at_work(configured(load), Played(work=work)) as worker:
        until(lambda: len(worker.played.begun) >= 3)
        released.set()
        gevent.sleep(0.01)
        assert [one.user for one in worker.played.begun] == [0, 1, 1]
        assert worker.played.said("leave") == [(1,)]
        assert worker.played.recorder.users == 2


def test_a_user_whose_iteration_says_so_ends_and_the_others_continue() -> None:
    def work(one: Begun) -> bool:
        gevent.sleep(0.001)
        return one.user != 0

    with at_work(configured(users(UsersStage(2, FAR_S))), Played(work=work)) as worker:
        until(lambda: len(of_user(worker, 1)) >= 3)
    assert len(of_user(worker, 0)) == 1


def test_users_whose_iterations_end_at_once_let_all_others_run() -> None:
    worker = whole(configured(users(UsersStage(3, 0.02))))
    counts = [len(of_user(worker, user)) for user in range(3)]
    assert min(counts) >= max(counts) - 1 >= 0


def test_a_load_of_users_that_is_finished_early_ends_with_their_present_iterations() -> None:
    released = Event()

    def work(one: Begun) -> None:
        if one.user == 0:
            released.wait()

    with at_work(configured(users(UsersStage(3, FAR_S), think_s=FAR_S), drain_s=FAR_S), Played(work=work)) as worker:
        until(lambda: len(worker.played.begun) == 3)
        worker.generator.finish()
        until(lambda: len(worker.played.said("leave")) == 2)
        released.set()
        worker.work.get()
    assert [(one.user, one.end) for one in worker.played.begun] == [(0, "done"), (1, "done"), (2, "done")]


HOLDING = HoldLoad(sessions=6, ramp_up_s=0.06, duration_s=0.1, keep_alive_s=0.03, probe_rate=100)


@pytest.mark.parametrize("workers", [1, 2])
def test_held_sessions_log_in_and_ask_for_signs_of_life_each_by_its_own_worker_and_probes_follow(workers: int) -> None:
    config = configured(HOLDING, warm_up_s=0.02)
    ran = [whole(config, share=Share(index, workers)) for index in range(workers)]
    expected, asked = list(HOLDING.logins(0.02)), [number for _, number in HOLDING.keep_alives(0.02)]
    for index, worker in enumerate(ran):
        begun = worker.held.said("begin")
        assert [number for number, _ in begun] == [number for number in range(6) if number % workers == index]
        for number, due in begun:
            assert (due.at_ns - worker.start_ns) / NS_PER_S == pytest.approx(expected[number], abs=1e-6)
            assert due.window is Window.MEASURED
        assert [number for (number,) in worker.held.said("keep_alive")] == [
            number for number in asked if number % workers == index
        ]
        assert worker.held.said("early") == []
        assert worker.held.said("watch") == [()]
    probes = sorted(offset for worker in ran for offset in worker.offsets())
    assert probes == pytest.approx(list(HOLDING.due(0.02)), abs=1e-5)


def test_signs_of_life_are_asked_for_when_they_are_due_and_after_a_pause_a_few_in_a_turn_of_the_loop() -> None:
    load = HoldLoad(sessions=40, ramp_up_s=0.0, duration_s=600.0, keep_alive_s=0.1, probe_rate=1)
    asked: list[tuple[int, int]] = []

    class Asked(Held):
        def keep_alive(self, _number: int) -> None:
            asked.append((monotonic_ns(), gevent.get_hub().loop.iteration))

    config, held = configured(load), Asked()
    start_ns = monotonic_ns()
    made = Generator(config, Share(0, 1), cast("Any", Played()), cast("Any", held), start_ns)
    work = gevent.spawn(made.run)
    gevent.sleep(0.01)
    stand_still(0.08)
    while len(asked) < 80:
        gevent.sleep(0.01)
    work.kill()
    due_s = (at_s for at_s, _ in load.keep_alives(0.0))
    assert all(at_ns >= start_ns + int(due * NS_PER_S) for (at_ns, _), due in zip(asked, due_s, strict=False))
    assert max(Counter(turn for _, turn in asked).values()) <= generator._KEEP_ALIVES_PER_TURN


def test_at_the_end_replies_are_awaited_within_the_drain_then_sessions_end_as_held_to_the_end() -> None:
    worker = whole(configured(HOLDING, drain_s=5.0))
    names = [name for name, *_ in worker.held.told]
    ((left_s,),) = worker.held.said("await_replies")
    assert 0 < left_s <= 5.0
    assert names.index("await_replies") < names.index("close")
    assert worker.held.said("close")[:2] == [(Outcome.OK,), (Outcome.UNFINISHED,)]
    assert monotonic_ns() >= worker.start_ns + int(0.16 * NS_PER_S)


def test_the_end_of_the_drain_has_no_time_for_replies_left() -> None:
    worker = whole(configured(HOLDING, drain_s=0.0))
    assert worker.held.said("await_replies") == [(0.0,)]


def test_what_has_arrived_by_the_end_is_served_before_sessions_end_as_held_to_it() -> None:
    class Answered(Held):
        def await_replies(self, _left_s: float) -> None:
            gevent.spawn(self.hear)

        def hear(self) -> None:
            for _ in range(4):
                gevent.sleep(1e-6)
            self.told.append(("heard",))

    held = Answered()
    config = configured(replace(HOLDING, sessions=1, ramp_up_s=0.0, duration_s=0.02))
    Generator(config, Share(0, 1), cast("Any", Played()), cast("Any", held), monotonic_ns()).run()
    told = [name for name, *_ in held.told]
    assert told.index("heard") < told.index("close")


def test_a_load_of_users_lasts_to_its_end_though_all_users_have_ended() -> None:
    worker = whole(configured(users(UsersStage(2, 0.1))), Played(work=lambda _: False))
    assert len(worker.played.begun) == 2
    assert monotonic_ns() >= worker.start_ns + int(0.1 * NS_PER_S)


def test_a_stop_ends_what_looks_after_held_sessions() -> None:
    load = replace(HOLDING, duration_s=FAR_S, keep_alive_s=0.01)
    with at_work(configured(load)) as worker:
        until(lambda: worker.held.said("keep_alive") and worker.held.said("watch"))
        worker.generator.stop()
        asked = len(worker.held.said("keep_alive"))
        assert worker.held.said("watched") == [()]
        gevent.sleep(0.03)
        assert len(worker.held.said("keep_alive")) == asked


def test_waiting_ends_at_the_instant_not_before_and_says_whether_it_was_in_the_future() -> None:
    instants = (monotonic_ns() + int(offset_s * NS_PER_S) for offset_s in count(0.001, 0.002))
    for instant_ns, _ in zip(instants, range(5), strict=False):
        assert generator._wait_until(instant_ns)
        assert monotonic_ns() >= instant_ns
        assert not generator._wait_until(instant_ns)


def test_several_stages_of_arrivals_have_the_ramp_of_each() -> None:
    ramp = replace(constant((1, 1)), stages=(ArrivalsStage(0, 0.1, 200),))
    worker = whole(configured(ramp))
    assert worker.offsets() == pytest.approx(list(ramp.due(0.0)), abs=1e-5)
