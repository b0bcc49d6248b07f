"""Held sessions: each that was opened is ended once, and counted once, however it ends; and replies are waited for."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from time import monotonic_ns
from typing import Any, cast

import gevent
import pytest
from gevent import GreenletExit
from gevent.event import Event
from sshload_contract.client import Timeouts
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.report import Health
from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario import held_sessions
from sshload_worker.scenario.held_sessions import HeldSessions
from sshload_worker.scenario.step_clock import Due
from virtual_greenlets import VirtualClock

HOLD, KEEP_ALIVE = "held.hold", "held.keepAlive"
TIMEOUTS = Timeouts(connect_s=10.0, banner_s=10.0, kex_s=10.0, auth_s=10.0, channel_s=10.0, step_s=0.05)
HEALTHY = Health(0.1, 0.0, None, 1, 1, 1, 2, 2, 3, 28_232, 0)


class Watched:
    """A connection of a library that is served by its own reader: it is asked whether it is lost."""

    def __init__(self) -> None:
        self.lost = False
        self.ended = 0
        self.replies = Event()
        self.failure: BaseException | None = None

    def is_lost(self) -> bool:
        return self.lost

    def keep_alive(self) -> None:
        self.replies.wait()
        if self.failure is not None:
            raise self.failure


class Resting(Watched):
    """A connection that tells of its loss and of replies by itself."""

    on_loss: Callable[[StepFailure], object]
    on_reply: Callable[[], object] | None = None

    def rest(self, lost: Callable[[StepFailure], object]) -> None:
        self.on_loss = lost

    def request_keep_alive(self, replied: Callable[[], object]) -> None:
        assert self.on_reply is None
        self.on_reply = replied

    def resume(self) -> None:
        raise AssertionError

    def reply(self) -> None:
        replied, self.on_reply = self.on_reply, None
        assert replied is not None
        replied()


class Server:
    """Logs in, or refuses; counts."""

    def __init__(self, kind: type[Watched]) -> None:
        self.kind = kind
        self.recorder = Recorder("run", 0)
        self.opened: list[Any] = []
        self.failure: BaseException | None = None
        self.may_log_in = Event()
        self.may_log_in.set()
        self.sessions = HeldSessions(cast("Any", self), TIMEOUTS, self.recorder)

    def connect(self, _clock: object, name: str) -> Any:
        assert name == "held"
        self.may_log_in.wait()
        if self.failure is not None:
            raise self.failure
        self.opened.append(self.kind())
        return self.opened[-1]

    def disconnect(self, connection: Watched) -> None:
        connection.ended += 1
        connection.failure = GONE
        connection.replies.set()

    def hold(self, *numbers: int) -> list[Any]:
        for number in numbers:
            self.sessions.begin(number, Due(monotonic_ns(), Window.MEASURED))
        return self.opened[-len(numbers) :]

    def counted(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return how many samples of each step and outcome there were, and how many failures of each outcome."""
        report = self.recorder.take_report(HEALTHY, final=True)
        samples: Counter[str] = Counter()
        for histogram in report.histograms:
            samples[f"{histogram.step} {histogram.outcome}"] += histogram.count
        return dict(samples), {error.outcome: error.count for error in report.errors}

    def ends(self) -> list[int]:
        """Return how often each connection that was opened was ended."""
        return [one.ended for one in self.opened]


BOTH = pytest.mark.parametrize("kind", [Watched, Resting])
GONE = StepFailure(Outcome.DISCONNECTED, "gone")


def settle() -> None:
    for _ in range(10):
        gevent.sleep(0)


@BOTH
def test_sessions_are_held_from_their_login_to_the_end_and_each_is_ended_once(kind: type[Watched]) -> None:
    server = Server(kind)
    server.hold(*range(40))
    assert server.recorder.held == 40
    server.sessions.close(Outcome.OK)
    assert (server.recorder.held, server.ends()) == (0, [1] * 40)
    assert server.counted() == ({f"{HOLD} ok": 40}, {})


@BOTH
def test_a_login_that_fails_is_a_failure_and_nothing_is_held(kind: type[Watched]) -> None:
    server = Server(kind)
    server.failure = StepFailure(Outcome.REFUSED, "no")
    server.sessions.begin(0, Due(monotonic_ns(), Window.MEASURED))
    server.failure = ValueError("a bug")
    with pytest.raises(ValueError, match="a bug"):
        server.sessions.begin(1, Due(monotonic_ns(), Window.MEASURED))
    assert (server.recorder.held, server.opened) == (0, [])
    assert server.counted()[1][Outcome.REFUSED] == 1


@BOTH
def test_a_login_that_is_done_after_the_end_is_ended_at_once(kind: type[Watched]) -> None:
    server = Server(kind)
    server.may_log_in.clear()
    login = gevent.spawn(server.sessions.begin, 0, Due(monotonic_ns(), Window.MEASURED))
    settle()
    server.sessions.close(Outcome.OK)
    server.may_log_in.set()
    login.get()
    assert (server.recorder.held, server.ends()) == (0, [1])


def test_a_session_that_its_server_ends_is_ended_and_counted_once_and_the_others_are_held_on() -> None:
    server = Server(Resting)
    first, second = server.hold(0, 1)
    first.on_loss(GONE)
    assert (server.recorder.held, server.ends()) == (1, [1, 0])
    server.sessions.keep_alive(0)
    assert first.on_reply is None
    server.sessions.close(Outcome.OK)
    assert (server.recorder.held, server.ends(), second.ended) == (0, [1, 1], 1)
    assert server.counted() == ({f"{HOLD} disconnected": 1, f"{HOLD} ok": 1}, {Outcome.DISCONNECTED: 1})


def test_sessions_that_do_not_rest_are_looked_at_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_sessions, "_CHECK_INTERVAL_S", 0.001)
    server = Server(Watched)
    watching = gevent.spawn(server.sessions.watch)
    gevent.sleep(0.003)  # with none, it looks again
    server.hold(*range(130))
    server.opened[129].lost = True
    while server.recorder.held == 130:
        gevent.sleep(0.001)
    server.opened[0].lost = True
    while server.recorder.held == 129:
        gevent.sleep(0.001)
    watching.kill()
    assert [number for number, ended in enumerate(server.ends()) if ended] == [0, 129]
    server.sessions.close(Outcome.OK)
    assert server.ends() == [1] * 130


@BOTH
def test_what_is_lost_unnoticed_counts_as_failed_at_the_end_and_what_was_stopped_as_stopped(
    kind: type[Watched],
) -> None:
    server = Server(kind)
    first, _ = server.hold(0, 1)
    first.lost = True
    server.sessions.close(Outcome.OK)
    assert server.counted() == ({f"{HOLD} disconnected": 1, f"{HOLD} ok": 1}, {Outcome.DISCONNECTED: 1})
    stopped = Server(kind)
    stopped.hold(0)
    stopped.sessions.close(Outcome.UNFINISHED)
    assert stopped.counted() == ({f"{HOLD} unfinished": 1}, {Outcome.UNFINISHED: 1})


def test_a_reply_is_waited_for_and_counted_once_for_each_request() -> None:
    server = Server(Resting)
    first, second = server.hold(0, 1)
    for number in (0, 1, 0):
        server.sessions.keep_alive(number)
    waiting = gevent.spawn(server.sessions.await_replies, 5.0)
    first.reply()
    settle()
    assert not waiting.ready()
    second.reply()
    waiting.get()
    server.sessions.keep_alive(0)
    first.reply()
    server.sessions.await_replies(5.0)
    server.sessions.close(Outcome.OK)
    assert server.counted() == ({f"{KEEP_ALIVE} ok": 3, f"{HOLD} ok": 2}, {})


def test_a_session_that_does_not_rest_is_asked_again_once_it_has_replied() -> None:
    server = Server(Watched)
    (only,) = server.hold(0)
    for _ in range(3):
        only.replies.clear()
        server.sessions.keep_alive(0)
        server.sessions.keep_alive(0)
        settle()
        only.replies.set()
        settle()
    server.sessions.close(Outcome.OK)
    assert server.counted() == ({f"{KEEP_ALIVE} ok": 3, f"{HOLD} ok": 1}, {})


@BOTH
def test_a_session_without_a_reply_in_time_is_lost_and_waited_for_no_more(kind: type[Watched]) -> None:
    server = Server(kind)
    server.hold(0, 1)
    server.sessions.keep_alive(0)
    while server.recorder.held == 2:
        gevent.sleep(0.001)
    server.sessions.await_replies(5.0)
    assert server.ends() == [1, 0]
    server.sessions.close(Outcome.OK)
    samples, failures = server.counted()
    assert samples == {f"{KEEP_ALIVE} stepTimeout": 1, f"{HOLD} stepTimeout": 1, f"{HOLD} ok": 1}
    assert failures == {Outcome.STEP_TIMEOUT: 1}


def test_a_reply_in_time_ends_its_limit() -> None:
    server = Server(Resting)
    (only,) = server.hold(0)
    server.sessions.keep_alive(0)
    only.reply()
    gevent.sleep(3 * TIMEOUTS.step_s)
    assert (server.recorder.held, server.ends()) == (1, [0])


def test_a_session_that_is_lost_while_its_reply_is_missing_is_waited_for_no_more() -> None:
    server = Server(Resting)
    (only,) = server.hold(0)
    server.sessions.keep_alive(0)
    waiting = gevent.spawn(server.sessions.await_replies, 5.0)
    settle()
    only.on_loss(GONE)
    waiting.get()
    assert server.counted() == (
        {f"{KEEP_ALIVE} disconnected": 1, f"{HOLD} disconnected": 1},
        {Outcome.DISCONNECTED: 1},
    )


@BOTH
def test_replies_that_are_not_waited_for_any_more_are_unfinished_and_the_sessions_are_held_on(
    kind: type[Watched],
) -> None:
    server = Server(kind)
    server.hold(0)
    server.sessions.keep_alive(0)
    settle()
    server.sessions.stop_waiting()
    settle()
    assert server.recorder.held == 1
    server.sessions.await_replies(0.0)
    assert server.counted()[0] == {f"{KEEP_ALIVE} unfinished": 1}


@BOTH
def test_the_end_counts_a_reply_that_is_missing_then_as_unfinished_and_the_session_as_failed(
    kind: type[Watched],
) -> None:
    server = Server(kind)
    server.hold(0)
    server.sessions.keep_alive(0)
    settle()
    server.sessions.close(Outcome.OK)
    gevent.sleep(3 * TIMEOUTS.step_s)
    assert (server.recorder.held, server.ends()) == (0, [1])
    assert server.counted() == (
        {f"{KEEP_ALIVE} unfinished": 1, f"{HOLD} unfinished": 1},
        {Outcome.UNFINISHED: 1},
    )


@pytest.mark.parametrize(("sessions", "least", "most"), [(1, 10, 11), (64, 10, 11), (640, 9, 11)])
def test_sessions_that_do_not_rest_are_looked_at_once_a_second_however_many_they_are(
    monkeypatch: pytest.MonkeyPatch, sessions: int, least: int, most: int
) -> None:
    clock, server = VirtualClock(), Server(Watched)
    monkeypatch.setattr(held_sessions, "sleep", clock.sleep)
    looks: Counter[Any] = Counter()
    for session in server.hold(*range(sessions)):
        session.is_lost = lambda one=session: bool(looks.update((id(one),)))

    def work() -> None:
        watching = gevent.spawn(server.sessions.watch)
        clock.sleep(10.0)
        watching.kill()

    clock.run(work)
    assert len(looks) == sessions
    assert all(least <= count <= most for count in looks.values())


def test_sessions_that_end_while_others_are_looked_at_are_not_looked_at_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server, turns = Server(Watched), 0
    server.hold(*range(130))

    def sleep(seconds: float) -> None:
        nonlocal turns
        turns += seconds > 0
        if seconds and turns == 1:
            server.sessions.close(Outcome.OK)
        if turns == 4:
            raise GreenletExit

    monkeypatch.setattr(held_sessions, "sleep", sleep)
    with pytest.raises(GreenletExit):
        server.sessions.watch()
    assert (server.ends(), server.sessions._to_check) == ([1] * 130, {})


def test_a_session_that_awaits_a_reply_is_left_to_who_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_sessions, "_CHECK_INTERVAL_S", 0.001)
    server = Server(Watched)
    (only,) = server.hold(0)
    server.sessions.keep_alive(0)
    settle()
    only.lost = True
    watching = gevent.spawn(server.sessions.watch)
    gevent.sleep(0.01)
    watching.kill()
    assert server.recorder.held == 1
    only.failure = GONE
    only.replies.set()
    settle()
    assert (server.recorder.held, server.ends(), server.sessions._to_check) == (0, [1], {})
    assert server.counted() == (
        {f"{KEEP_ALIVE} disconnected": 1, f"{HOLD} disconnected": 1},
        {Outcome.DISCONNECTED: 1},
    )


class Waited:
    """An event that is never set, and for how long it was waited for."""

    def __init__(self) -> None:
        self.limits_s: list[float] = []

    def clear(self) -> None: ...

    def set(self) -> None: ...

    def wait(self, limit_s: float) -> None:
        self.limits_s.append(limit_s)


@BOTH
def test_replies_are_waited_for_no_longer_than_is_asked_for(kind: type[Watched]) -> None:
    server = Server(kind)
    server.sessions = HeldSessions(cast("Any", server), replace(TIMEOUTS, step_s=1e6), server.recorder)
    server.hold(0)
    server.sessions.keep_alive(0)
    settle()
    waited: Any = Waited()
    server.sessions._no_reply_missing = waited
    gevent.spawn(server.sessions.await_replies, 0.001).get(timeout=300.0)
    assert waited.limits_s == ([] if kind is Watched else [pytest.approx(0.0, abs=0.002)])
    server.sessions.close(Outcome.UNFINISHED)
