"""Connections to a gateway: how many there are, who gets which, and what is found out before the load."""

import socket
import ssl
from collections.abc import Iterator
from dataclasses import replace
from itertools import count, repeat
from pathlib import Path
from time import monotonic_ns
from typing import Any, cast

import gevent
import pytest
from free_ports import free_port
from gateway_stand_in import CREDENTIAL, Reply, StandIn, stand_in
from gevent.event import Event
from reports import REPORT
from run_configs import arrivals, client, run_config, scenario
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.report import LoginFailure, Report
from sshload_contract.wire.run_config import SessionReuse
from sshload_worker.clients.gateway.access import GatewayAccess, prepare_access
from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario import gateway_sessions
from sshload_worker.scenario.gateway_sessions import (
    Gateway,
    GatewayConnector,
    GatewayPool,
)
from sshload_worker.scenario.sessions import SessionPerIteration, SessionPerUser
from sshload_worker.scenario.step_clock import Due, StepClock

HAS_IT = Reply(body={"credentials": [{"name": "other"}, {"name": CREDENTIAL}]})
NOBODY = StandIn(port=1)


def gateway_at(access: GatewayAccess) -> Gateway:
    """Return a gateway of the run's own."""
    return Gateway(access, is_managed=True)


def clock_of(recorder: Recorder) -> StepClock:
    return StepClock(recorder, Due(monotonic_ns(), Window.WARM_UP))


def access_to(folder: Path, gateway: StandIn, **timeouts_s: float) -> GatewayAccess:
    addresses = ((socket.AF_INET, ("127.0.0.1", gateway.port)),)
    return prepare_access(gateway.endpoint(folder), addresses, client(**timeouts_s))


def report_of(recorder: Recorder) -> Report:
    return recorder.take_report(REPORT.health, final=True)


def timed(report: Report) -> list[tuple[str, Outcome]]:
    return [(one.step, one.outcome) for one in report.histograms]


def test_a_connection_counts_until_it_is_ended_and_each_that_began_is_remembered(tmp_path: Path) -> None:
    recorder = Recorder("run", 0)
    with stand_in(lambda *_: HAS_IT) as gateway:
        connector = GatewayConnector(access_to(tmp_path, gateway), recorder)
        first, second = connector.connect(clock_of(recorder)), connector.connect(clock_of(recorder), "named")
        assert (recorder.connections, recorder.opened) == (2, 2)
        assert first.credentials() == second.credentials() == {CREDENTIAL, "other"}
        connector.disconnect(first)
        assert (recorder.connections, first.is_lost(), second.is_lost()) == (1, True, False)
        connector.disconnect(second)
    assert (recorder.connections, recorder.opened) == (0, 2)
    assert timed(report_of(recorder)) == [("connect", Outcome.OK), ("named.connect", Outcome.OK)]


def test_a_connection_that_is_refused_does_not_count_any_more(tmp_path: Path) -> None:
    recorder = Recorder("run", 0)
    connector = GatewayConnector(access_to(tmp_path, StandIn(free_port())), recorder)
    with pytest.raises((StepFailure, OSError)):
        connector.connect(clock_of(recorder))
    assert (recorder.connections, recorder.opened) == (0, 1)


def test_a_connection_that_cannot_be_begun_counts_no_more_either(tmp_path: Path) -> None:
    recorder = Recorder("run", 0)
    connector = GatewayConnector(replace(access_to(tmp_path, NOBODY), addresses=iter(())), recorder)
    with pytest.raises(StopIteration):
        connector.connect(clock_of(recorder))
    assert (recorder.connections, recorder.opened) == (0, 1)


@pytest.mark.parametrize("named", ["", "named"])
def test_the_handshake_of_tls_is_a_step_of_its_own_with_its_own_limit(tmp_path: Path, named: str) -> None:
    """The server takes the connection and says nothing."""
    recorder, context = Recorder("run", 0), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        access = access_to(tmp_path, StandIn(silent.getsockname()[1]), kex_s=0.01)
        connector = GatewayConnector(replace(access, tls=context), recorder)
        with pytest.raises(StepFailure, match=r"^tls took longer than 0\.01 s$") as raised:
            connector.connect(clock_of(recorder), named)
        with gevent.Timeout(60), silent.accept()[0] as gateway:
            while gateway.recv(10_000):  # its end comes, though the error is kept
                pass
    assert raised.value.outcome is Outcome.TLS_TIMEOUT
    prefix = f"{named}." if named else ""
    assert timed(report_of(recorder)) == [(f"{prefix}connect", Outcome.OK), (f"{prefix}tls", Outcome.TLS_TIMEOUT)]
    assert recorder.connections == 0


class Played:
    """A connection, which the gateway may have closed."""

    def __init__(self) -> None:
        self.lost = False

    def is_lost(self) -> bool:
        return self.lost


class Connector:
    """Connects once `open_now` is set, or fails so often; `open` are the connections that it was not told to end."""

    def __init__(self, failures: int = 0, error: Exception | None = None) -> None:
        self.failures = failures
        self.error = error or StepFailure(Outcome.REFUSED, "it listens no more")
        self.begun_ns: list[int] = []
        self.open: list[Played] = []
        self.open_now = Event()
        self.open_now.set()

    def connect(self, _: StepClock) -> Played:
        self.begun_ns.append(monotonic_ns())
        if self.failures:
            self.failures -= 1
            raise self.error
        self.open_now.wait()
        self.open.append(Played())
        return self.open[-1]

    def disconnect(self, connection: Played) -> None:
        self.open.remove(connection)


def pool_of(connector: Connector, size: int) -> Any:
    return GatewayPool(cast("Any", connector), size)


CLOCK = clock_of(Recorder("run", 0))


def test_the_connection_that_was_used_last_is_used_next() -> None:
    connector = Connector()
    pool = pool_of(connector, 2)
    first, second = pool.acquire(CLOCK, None), pool.acquire(CLOCK, None)
    for one in (first, second):
        pool.release(one, None, usable=True)
    assert [pool.acquire(CLOCK, None), pool.acquire(CLOCK, None)] == [second, first]
    assert connector.open == [first, second]


def test_no_iteration_waits_and_what_is_beyond_the_size_of_the_pool_is_ended_when_it_comes_back() -> None:
    connector = Connector()
    pool = pool_of(connector, 2)
    taken = [pool.acquire(CLOCK, None) for _ in range(3)]
    for one in taken:
        pool.release(one, None, usable=True)
    assert connector.open == taken[:2]
    pool.close()
    assert connector.open == []
    pool.close()


@pytest.mark.parametrize(("usable", "lost"), [(False, False), (True, True), (False, True)])
def test_a_connection_that_is_of_no_more_use_is_ended(*, usable: bool, lost: bool) -> None:
    connector = Connector()
    pool = pool_of(connector, 2)
    used = pool.acquire(CLOCK, None)
    used.lost = lost
    pool.release(used, None, usable=usable)
    assert connector.open == []
    assert pool.acquire(CLOCK, None) is not used


def test_a_connection_that_the_gateway_has_closed_meanwhile_is_ended_and_the_next_one_taken() -> None:
    connector = Connector()
    pool = pool_of(connector, 3)
    taken = [pool.acquire(CLOCK, None) for _ in range(3)]
    for one in taken:
        pool.release(one, None, usable=True)
    taken[1].lost = taken[2].lost = True
    assert pool.acquire(CLOCK, None) is taken[0]
    assert connector.open == [taken[0]]


def test_all_connections_are_opened_before_the_load_one_after_the_other() -> None:
    connector = Connector()
    pool = pool_of(connector, 4)
    pool.prepare(CLOCK, 0.2)
    assert len(connector.open) == 4
    assert connector.begun_ns[-1] - connector.begun_ns[0] >= 0.14 * 1e9
    opened = list(connector.open)
    assert [pool.acquire(CLOCK, None) for _ in range(4)] == opened[::-1]


def test_the_last_one_is_waited_for() -> None:
    connector = Connector()
    connector.open_now.clear()
    pool = pool_of(connector, 2)
    preparing = gevent.spawn(pool.prepare, CLOCK, 0.0)
    while len(connector.begun_ns) < 2:
        gevent.sleep(0)
    gevent.sleep(0.01)
    assert not preparing.ready()
    connector.open_now.set()
    preparing.get()
    assert len(connector.open) == 2


def test_an_end_of_the_load_ends_those_too_that_are_being_opened() -> None:
    connector = Connector()
    connector.open_now.clear()
    pool = pool_of(connector, 2)
    preparing = gevent.spawn(pool.prepare, CLOCK, 0.0)
    while len(connector.begun_ns) < 2:
        gevent.sleep(0)
    pool.close()
    preparing.get()
    connector.open_now.set()
    gevent.sleep(0.01)
    assert connector.open == []


def test_one_that_cannot_be_opened_beforehand_is_told_and_the_others_are_opened() -> None:
    connector, recorder = Connector(failures=1), Recorder("run", 0)
    pool_of(connector, 3).prepare(clock_of(recorder), 0.0)
    assert len(connector.open) == 2
    (error,) = report_of(recorder).errors
    assert (error.outcome, error.window, error.count) == (Outcome.REFUSED, Window.WARM_UP, 1)
    assert error.first_message == "it listens no more"


def test_one_that_the_system_lacks_a_file_for_is_told_likewise() -> None:
    connector, recorder = Connector(failures=1, error=OSError(24, "Too many open files")), Recorder("run", 0)
    pool_of(connector, 2).prepare(clock_of(recorder), 0.0)
    assert len(connector.open) == 1
    assert [error.outcome for error in report_of(recorder).errors] == [Outcome.GENERATOR_FAULT]


def test_who_opens_a_connection_is_as_the_scenario_says(tmp_path: Path) -> None:
    recorder, access = Recorder("run", 0), access_to(tmp_path, NOBODY)
    made: list[Any] = [
        gateway_at(access).sessions(replace(scenario(), session_reuse=reuse), recorder, range(3))
        for reuse in (SessionReuse.NONE, SessionReuse.USER, SessionReuse.POOL)
    ]
    assert [type(one) for one in made] == [SessionPerIteration, SessionPerUser, GatewayPool]
    assert made[2]._size == 3


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what may pass be tried again at once, for long."""
    monkeypatch.setattr(gateway_sessions, "pauses_s", lambda: repeat(0.001))
    monkeypatch.setattr(gateway_sessions, "patience_s", lambda timeouts: timeouts.connect_s)


def told_by(folder: Path, replies: Iterator[Reply], **timeouts_s: float) -> tuple[LoginFailure | None, list[str], int]:
    """Return what a check finds, what it tells meanwhile, and how often it asks."""
    told: list[str] = []
    with stand_in(lambda *_: next(replies)) as gateway:
        found = gateway_at(access_to(folder, gateway, **timeouts_s)).use_once(7, told.append)
        assert {(method, path) for method, path, _ in gateway.heard} == {("GET", "/sshapi/v2/credentials")}
        place = f"127.0.0.1:{gateway.port}"
        if found is not None:
            assert (found.worker, found.jump_host, found.host, found.port) == (7, 0, "127.0.0.1", gateway.port)
        return found, [one.removeprefix(f"{place}: ") for one in told], len(gateway.heard)


def test_a_gateway_that_has_the_credential_is_asked_once(tmp_path: Path) -> None:
    assert told_by(tmp_path, repeat(HAS_IT)) == (None, [], 1)


def test_a_problem_that_may_pass_is_told_and_the_gateway_asked_again(tmp_path: Path) -> None:
    busy = Reply(503, {"kind": "busy", "detail": "wait a little"})
    found, told, asked = told_by(tmp_path, iter([busy, busy, HAS_IT]))
    assert (found, told, asked) == (None, ["status 503, busy: wait a little"] * 2, 3)


def test_a_problem_that_does_not_pass_in_time_is_the_end(tmp_path: Path) -> None:
    found, _, asked = told_by(tmp_path, repeat(Reply(429, {"kind": "rate", "detail": "too fast"})), connect_s=0.3)
    assert found is not None
    assert (found.outcome, found.message) == (Outcome.RATE_LIMITED, "status 429, rate: too fast")
    assert asked > 1


MAY_PASS = {
    Outcome.REFUSED,
    Outcome.CONNECT_FAILED,
    Outcome.CONNECT_TIMEOUT,
    Outcome.DISCONNECTED,
    Outcome.RATE_LIMITED,
    Outcome.GATEWAY_BUSY,
    Outcome.GATEWAY_TIMEOUT,
    Outcome.BAD_GATEWAY,
    Outcome.PROXY_ERROR,
}


@pytest.mark.parametrize("outcome", list(Outcome))
def test_what_a_busy_or_absent_gateway_answers_may_pass_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outcome: Outcome
) -> None:
    ends = iter([StepFailure(outcome, "words"), None])
    monkeypatch.setattr(gateway_sessions, "_check", lambda _: next(ends))
    found = gateway_at(access_to(tmp_path, NOBODY)).use_once(7, lambda _: None)
    assert (found is None) is (outcome in MAY_PASS)


def test_between_tries_there_are_pauses_and_none_that_would_end_too_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway_sessions, "pauses_s", lambda: repeat(0.2))
    busy = repeat(Reply(503, {"kind": "busy", "detail": "wait"}))
    began_ns = monotonic_ns()
    _, told, asked = told_by(tmp_path, busy, connect_s=0.3)
    assert asked <= 2
    assert monotonic_ns() - began_ns >= len(told) * 0.2 * 1e9
    numbers, began_ns = count(), monotonic_ns()
    with stand_in(lambda *_: HAS_IT if next(numbers) == 2 else next(busy)) as gateway:
        gateway_at(access_to(tmp_path, gateway)).wait_until_usable(0, "", 0, lambda _: None)
    assert monotonic_ns() - began_ns >= 2 * 0.2 * 1e9


def test_a_gateway_is_prepared_with_the_delay_of_the_way_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: list[Any] = []
    monkeypatch.setattr(gateway_sessions, "prepare_delay", prepared.append)
    asked = run_config(NOBODY.endpoint(tmp_path), arrivals(1, 1))
    made = gateway_sessions.prepare(asked, ())
    assert (made.access.client, made.access.token, prepared) == (asked.client, "a-token", [asked.client])
    assert made.is_managed is asked.is_managed


@pytest.mark.parametrize("opened", [0, 3])
def test_a_gateway_of_somebody_else_is_not_asked_but_waited_for_until_it_takes_a_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: int
) -> None:
    dialled: list[Any] = []
    monkeypatch.setattr(gateway_sessions, "dial_until_accepted", lambda *arguments: dialled.append(arguments))
    gateway = Gateway(access_to(tmp_path, NOBODY), is_managed=False)
    assert gateway.wait_until_usable(opened, "there", 22, pytest.fail) is bool(opened)
    assert dialled == ([("there", 22, pytest.fail)] if opened else [])


def test_a_problem_that_stays_is_the_end_at_once(tmp_path: Path) -> None:
    found, told, asked = told_by(tmp_path, repeat(Reply(401, {"kind": "token", "detail": "it has expired"})))
    assert found is not None
    assert (found.outcome, found.message) == (Outcome.AUTH_REJECTED, "status 401, token: it has expired")
    assert (told, asked) == ([], 1)


@pytest.mark.parametrize(
    ("names", "others"), [((), "and no other"), (("one",), "only others (1)"), (("one", "two"), "only others (2)")]
)
def test_a_credential_that_the_caller_lacks_is_told(tmp_path: Path, names: tuple[str, ...], others: str) -> None:
    listed = Reply(body={"credentials": [{"name": name} for name in names]})
    found, told, asked = told_by(tmp_path, repeat(listed))
    assert found is not None
    assert found.outcome is Outcome.REQUEST_REFUSED
    assert found.message == f"the caller has no credential {CREDENTIAL}, {others}"
    assert (told, asked) == ([], 1)


def test_an_answer_that_does_not_come_is_given_up_after_the_limit_of_a_step(tmp_path: Path) -> None:
    replies = iter([Reply(body=HAS_IT.body, after_s=0.5), *repeat(HAS_IT, 3)])
    found, told, _ = told_by(tmp_path, replies, step_s=0.05)
    assert found is not None
    assert (found.outcome, found.message) == (Outcome.STEP_TIMEOUT, "command took longer than 0.05 s")
    assert told == []


def test_whatever_happens_is_told_and_what_is_not_the_gateways_is_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    access = access_to(tmp_path, NOBODY)
    found = gateway_at(replace(access, addresses=iter(()))).use_once(7, pytest.fail)
    assert found is not None
    assert found.outcome is Outcome.GENERATOR_FAULT
    assert "internal error of the worker" in caplog.text
    caplog.clear()
    closed = access_to(tmp_path, StandIn(free_port()), connect_s=0.5)
    found = gateway_at(closed).use_once(7, lambda _: None)
    assert found is not None
    assert found.outcome is Outcome.REFUSED
    assert not caplog.text


def test_a_check_leaves_no_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Recorder] = []

    def recorded(*arguments: Any) -> Recorder:
        made.append(Recorder(*arguments))
        return made[-1]

    monkeypatch.setattr(gateway_sessions, "Recorder", recorded)
    told_by(tmp_path, iter([Reply(500), HAS_IT]))
    assert [(one.connections, one.opened) for one in made] == [(0, 1)]


def test_a_gateway_that_is_not_ready_is_waited_for_and_each_problem_told(tmp_path: Path) -> None:
    numbers = count()
    told: list[str] = []
    with stand_in(lambda *_: HAS_IT if next(numbers) == 3 else Reply(500, {"kind": "k", "detail": "not yet"})) as one:
        assert gateway_at(access_to(tmp_path, one)).wait_until_usable(0, "127.0.0.1", one.port, told.append)
        assert told == [f"127.0.0.1:{one.port}: status 500, k: not yet"] * 3
