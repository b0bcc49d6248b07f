"""Who gets which session, and that each that was opened is ended: of the pool, of users, of iterations."""

from collections.abc import Callable
from time import monotonic_ns
from types import SimpleNamespace
from typing import Any, cast

import gevent
import pytest
from gevent.event import Event
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.report import Health
from sshload_contract.wire.run_config import SessionReuse
from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.sessions import SessionPerIteration, SessionPerUser, SessionPool, make_sessions
from sshload_worker.scenario.step_clock import Due, StepClock


class PlayedSession:
    """A session that ends where a test says so. It rests between iterations."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lost = False
        self.heard: list[str] = []

    def __repr__(self) -> str:
        return self.name

    def is_lost(self) -> bool:
        return self.lost

    def rest(self, on_loss: Callable[[StepFailure], None]) -> None:
        on_loss(StepFailure(Outcome.DISCONNECTED, "it changes nothing for the run"))
        self.heard.append("rest")

    def request_keep_alive(self, replied: Callable[[], object]) -> None:
        raise AssertionError(replied)

    def resume(self) -> None:
        self.heard.append("resume")


class PlayedConnector:
    """Logs in once it may, or raises what it is told; counts what is open."""

    def __init__(self, *failures: BaseException) -> None:
        self.failures = list(failures)
        self.may_log_in = Event()
        self.may_log_in.set()
        self.begun = 0
        self.opened: list[PlayedSession] = []
        self.ended: list[PlayedSession] = []

    def connect(self, clock: StepClock, name: str = "") -> PlayedSession:
        assert (clock.__class__, name) == (StepClock, "")
        self.begun += 1
        self.may_log_in.wait()
        if self.failures:
            raise self.failures.pop(0)
        self.opened.append(PlayedSession("abcdefghij"[len(self.opened)]))
        return self.opened[-1]

    def disconnect(self, session: PlayedSession) -> None:
        assert session not in self.ended
        self.ended.append(session)

    def open_ones(self) -> list[PlayedSession]:
        return [one for one in self.opened if one not in self.ended]


def a_clock() -> StepClock:
    return StepClock(Recorder("run", 0), Due(monotonic_ns(), Window.MEASURED))


def a_pool(connector: PlayedConnector, size: int) -> SessionPool:
    pool = SessionPool(cast("Any", connector), range(size))
    pool.prepare(a_clock(), 0.0)
    return pool


def names(sessions: list[Any]) -> str:
    return "".join(one.name for one in sessions)


def settle() -> None:
    for _ in range(10):
        gevent.sleep(0)


HEALTHY = Health(0.1, 0.0, None, 1, 1, 1, 2, 2, 3, 28_232, 0)
REFUSED = StepFailure(Outcome.REFUSED, "refused")


def test_iterations_use_the_sessions_of_a_pool_in_turn_and_all_are_ended_with_it() -> None:
    connector = PlayedConnector()
    pool = a_pool(connector, 3)
    assert names([pool.acquire(a_clock(), None) for _ in range(7)]) == "abcabca"
    for session in connector.opened:
        pool.release(cast("Any", session), None, usable=False)
        pool.leave(1)
    assert names(connector.open_ones()) == "abc"
    pool.close()
    pool.close()
    assert connector.open_ones() == []


def test_a_lost_session_is_ended_once_and_skipped_until_the_one_login_in_its_place_is_done() -> None:
    connector = PlayedConnector()
    pool = a_pool(connector, 3)
    connector.opened[1].lost = True
    connector.may_log_in.clear()
    assert names([pool.acquire(a_clock(), None) for _ in range(6)]) == "acacac"
    settle()
    assert (names(connector.ended), connector.begun) == ("b", 4)
    connector.may_log_in.set()
    settle()
    assert names([pool.acquire(a_clock(), None) for _ in range(3)]) == "adc"
    pool.close()
    assert connector.open_ones() == []


def test_where_no_session_is_left_iterations_wait_for_different_logins() -> None:
    connector = PlayedConnector()
    pool = a_pool(connector, 2)
    for session in connector.opened:
        session.lost = True
    connector.may_log_in.clear()
    waiting = [gevent.spawn(pool.acquire, a_clock(), None) for _ in range(4)]
    settle()
    assert (connector.begun, [one.ready() for one in waiting]) == (4, [False] * 4)
    connector.may_log_in.set()
    assert sorted(names([one.get() for one in waiting])) == ["c", "c", "d", "d"]
    pool.close()
    assert connector.open_ones() == []


def test_an_iteration_whose_login_fails_fails_with_it_and_the_next_one_tries_again() -> None:
    connector = PlayedConnector()
    pool = a_pool(connector, 1)
    connector.opened[0].lost = True
    connector.failures = [REFUSED, OSError("no route")]
    clock = a_clock()
    with pytest.raises(StepFailure, match="no session of the pool is left, and a new login failed: refused") as failure:
        pool.acquire(clock, None)
    assert failure.value.outcome is Outcome.REFUSED
    with pytest.raises(StepFailure, match="no route"):
        pool.acquire(a_clock(), None)
    assert pool.acquire(a_clock(), None) is connector.opened[1]
    assert connector.begun == 4


def test_the_end_of_a_pool_ends_its_logins_too() -> None:
    connector = PlayedConnector()
    pool = a_pool(connector, 2)
    for session in connector.opened:
        session.lost = True
    connector.may_log_in.clear()
    waiting = gevent.spawn(pool.acquire, a_clock(), None)
    settle()
    pool.close()
    connector.may_log_in.set()
    settle()
    assert waiting.ready()
    assert (connector.open_ones(), len(pool._logging_in)) == ([], 0)
    assert [(place.session, place.login) for place in pool._places] == [(None, None)] * 2


def test_each_user_keeps_its_own_session_which_rests_between_its_iterations() -> None:
    connector = PlayedConnector()
    sessions = SessionPerUser(cast("Any", connector))
    for _ in range(2):
        mine, yours = (sessions.acquire(a_clock(), user) for user in (0, 1))
        assert names([mine, yours]) == "ab"
        sessions.release(mine, 0, usable=True)
        sessions.release(yours, 1, usable=True)
    assert connector.opened[0].heard == ["rest", "resume", "rest"]
    sessions.leave(0)
    sessions.leave(7)
    assert names(connector.open_ones()) == "b"
    assert names([sessions.acquire(a_clock(), 0)]) == "c"
    sessions.close()
    assert names(connector.open_ones()) == "c"  # which its iteration has, and gives back


def test_a_session_that_is_unusable_or_lost_is_ended_and_the_user_logs_in_again() -> None:
    connector = PlayedConnector()
    sessions = SessionPerUser(cast("Any", connector))
    sessions.release(sessions.acquire(a_clock(), 0), 0, usable=False)
    assert names(connector.ended) == "a"
    sessions.release(sessions.acquire(a_clock(), 0), 0, usable=True)
    connector.opened[1].lost = True
    assert names([sessions.acquire(a_clock(), 0)]) == "c"
    assert names(connector.ended) == "ab"


def test_an_iteration_without_a_user_keeps_no_session_and_takes_nobodys() -> None:
    connector = PlayedConnector()
    sessions = SessionPerUser(cast("Any", connector))
    sessions.release(sessions.acquire(a_clock(), 0), 0, usable=True)
    mine = sessions.acquire(a_clock(), None)
    assert names([mine]) == "b"
    sessions.release(mine, None, usable=True)
    assert names(connector.open_ones()) == "a"


def test_a_session_per_iteration_is_ended_with_it_usable_or_not() -> None:
    connector = PlayedConnector()
    sessions = SessionPerIteration(cast("Any", connector))
    for usable in (True, False):
        sessions.release(sessions.acquire(a_clock(), 3), 3, usable=usable)
    assert (names(connector.opened), connector.open_ones()) == ("ab", [])


def test_while_a_pool_is_prepared_iterations_begin_no_login_that_it_will_begin_itself() -> None:
    connector = PlayedConnector()
    pool = SessionPool(cast("Any", connector), range(3))
    preparing = gevent.spawn(pool.prepare, a_clock(), 0.3)
    while not connector.opened:
        gevent.sleep(0)
    assert names([pool.acquire(a_clock(), None) for _ in range(4)]) == "aaaa"
    settle()
    assert connector.begun == 1
    preparing.get()
    assert connector.begun == 3
    pool.close()


def test_while_a_pool_is_prepared_an_iteration_waits_for_a_login_that_was_begun_rather_than_beginning_one() -> None:
    connector = PlayedConnector(REFUSED, REFUSED)
    pool = SessionPool(cast("Any", connector), range(3))
    preparing = gevent.spawn(pool.prepare, a_clock(), 1e6)
    while not connector.begun:
        gevent.sleep(0)
    with pytest.raises(StepFailure):
        pool.acquire(a_clock(), None)
    connector.may_log_in.clear()
    waiting = [gevent.spawn(pool.acquire, a_clock(), None) for _ in range(3)]
    settle()
    assert connector.begun == 3
    connector.may_log_in.set()
    assert names([one.get() for one in waiting]) == "aaa"
    preparing.kill()
    pool.close()
    assert connector.open_ones() == []


def test_a_login_of_a_pool_that_fails_is_a_failure_of_its_own() -> None:
    connector, clock = PlayedConnector(REFUSED), a_clock()
    pool = SessionPool(cast("Any", connector), range(1))
    pool.prepare(clock, 0.0)
    assert connector.begun == 1
    failures = clock._recorder.take_report(HEALTHY, final=True).errors
    assert [(one.outcome, one.count, one.first_message) for one in failures] == [(Outcome.REFUSED, 1, "refused")]
    pool.close()


@pytest.mark.parametrize("error", [REFUSED, OSError("no route"), KeyError("a bug")])
def test_only_a_bug_ends_a_login_of_a_pool_with_an_error(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    pool = SessionPool(cast("Any", PlayedConnector(error)), range(1))
    pool.prepare(a_clock(), 0.0)
    assert ("Traceback" in capsys.readouterr().err) is isinstance(error, KeyError)


@pytest.mark.parametrize("shares", [True, False])
def test_a_scenario_says_who_logs_in_and_whether_its_steps_share_a_connection(shares: bool) -> None:  # noqa: FBT001
    steps = (SimpleNamespace(shares_connection=False), SimpleNamespace(shares_connection=shares))
    recorder, login = Recorder("run", 0), cast("Any", "a login")

    def made(reuse: SessionReuse) -> Any:
        return make_sessions(cast("Any", SimpleNamespace(steps=steps, session_reuse=reuse)), login, recorder, range(4))

    own, of_user, pool = (made(reuse) for reuse in (SessionReuse.NONE, SessionReuse.USER, SessionReuse.POOL))
    assert (type(own), type(of_user), type(pool)) == (SessionPerIteration, SessionPerUser, SessionPool)
    assert (own.connector._shared, of_user._connector._shared, pool._connector._shared) == (shares, shares, True)
    assert {connector._login for connector in (own.connector, of_user._connector, pool._connector)} == {"a login"}
    assert len(pool._places) == 4
