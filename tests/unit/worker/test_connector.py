"""A login, over jump hosts too: each part is timed, and each connection is counted, and ended if its login fails."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import monotonic_ns
from typing import Any, cast

import gevent
import pytest
from gevent.event import Event
from run_configs import client
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.report import Health, Negotiated, Report
from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario import sessions
from sshload_worker.scenario.sessions import Connector
from sshload_worker.scenario.step_clock import Due, StepClock

NS_PER_S = 1_000_000_000
HEALTHY = Health(0.1, 0.0, None, 1, 1, 1, 2, 2, 3, 28_232, 0)
AGREED = Negotiated(kex="k", cipher="c", mac="m", host_key="h", server_version="v")
PARTS = ("connect", "banner", "kex", "auth")
REJECTED = StepFailure(Outcome.AUTH_REJECTED, "permission denied")


class Opened:
    """A connection to a server, through another one or not, which does what the test says."""

    authentication = None

    def __init__(self, server: "Server", through: "Opened | None", *, shared: bool) -> None:
        self.server, self.through, self.shared = server, through, shared
        self.done: list[str] = []
        self.closed = 0

    def _do(self, part: str) -> None:
        self.done.append(part)
        self.server.fails.get(part, bool)()

    def connect(self) -> None:
        self._do("connect")

    def banner(self) -> None:
        self._do("banner")

    def kex(self) -> None:
        self._do("kex")

    def auth(self) -> None:
        self._do("auth")

    def negotiated(self) -> Negotiated:
        return replace(AGREED, server_version=self.server.host)

    def close(self) -> None:
        self.closed += 1


class Program(Opened):
    """One whose program has to start before it connects."""

    connecting_ns = 110 * NS_PER_S


@dataclass
class Server:
    """A server that a login goes to, or a jump host."""

    host: str
    fails: dict[str, Callable[[], object]] = field(default_factory=dict)
    limits_s: dict[str, float] = field(default_factory=dict)
    via: tuple["Server", ...] = ()
    kind: type[Opened] = Opened
    place: int | None = None
    explain: Callable[[StepFailure], StepFailure] = lambda failure: failure
    logins: int = 0

    @property
    def client(self) -> Any:
        return client(**self.limits_s)

    def accepted(self) -> None:
        self.logins += 1

    def at_next_address(self) -> "Server":
        return self

    def in_turn(self, turn: int) -> "Server":
        del turn
        return self


@dataclass
class Logins:
    """Connections to a server, which are counted by `recorder`."""

    recorder: Recorder
    opened: list[Opened]
    connector: Connector

    def clock(self) -> StepClock:
        return StepClock(self.recorder, Due(monotonic_ns(), Window.MEASURED))

    def connect(self, name: str = "") -> Any:
        return self.connector.connect(self.clock(), name)

    def fails(self, error: type[BaseException] = StepFailure) -> Any:
        with pytest.raises(error) as found:
            self.connect()
        return found.value

    def report(self) -> Report:
        return self.recorder.take_report(HEALTHY, final=True)

    def counted(self) -> dict[str, str]:
        """Return how each timing ended, of which there is one."""
        histograms = self.report().histograms
        assert [one.count for one in histograms] == [1] * len(histograms)
        return {one.step: str(one.outcome) for one in histograms}


@pytest.fixture(name="logins")
def _logins(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Logins]:
    opened: list[Opened] = []

    def new_connection(server: Server, through: Opened | None = None, *, shared: bool = False) -> Opened:
        opened.append(server.kind(server, through, shared=shared))
        return opened[-1]

    def make(server: Server, **how: bool) -> Logins:
        recorder = Recorder("run", 0)
        return Logins(recorder, opened, Connector(cast("Any", server), recorder, **how))

    monkeypatch.setattr(sessions, "new_connection", new_connection)
    return make


def raises(error: BaseException) -> Callable[[], object]:
    def fail() -> None:
        raise error

    return fail


def ok(*prefixes: str) -> dict[str, str]:
    return {f"{prefix}{part}": "ok" for prefix in prefixes for part in (*PARTS, "login")}


def test_a_login_has_four_parts_and_is_counted_until_it_is_ended(logins: Callable[..., Logins]) -> None:
    made = logins(Server("a"), shared=True)
    first, second = made.connect("step"), made.connect("step")
    assert (first.done, first.shared, first.through) == ([*PARTS], True, None)
    assert (made.recorder.connections, made.recorder.opened) == (2, 2)
    made.connector.disconnect(first)
    assert (first.closed, second.closed, made.recorder.connections, made.recorder.opened) == (1, 0, 1, 2)
    report = made.report()
    assert {one.step: one.count for one in report.histograms} == dict.fromkeys(
        (f"step.{part}" for part in (*PARTS, "login")), 2
    )
    assert [(one.negotiated.server_version, one.count) for one in report.negotiated] == [("a", 2)]


def test_jump_hosts_are_logged_into_in_their_order_each_through_the_one_before(logins: Callable[..., Logins]) -> None:
    made = logins(Server("target", via=(Server("one"), Server("two"))))
    target = made.connect()
    assert [one.server.host for one in made.opened] == ["one", "two", "target"]
    assert [one.through for one in made.opened] == [None, *made.opened[:2]]
    assert [one.done for one in made.opened] == [[*PARTS]] * 3
    assert (made.recorder.connections, made.recorder.opened) == (1, 1)
    assert made.counted() == ok("via1.", "via2.", "")
    assert target.shared is False


@pytest.mark.parametrize("part", PARTS)
def test_a_login_that_fails_counts_the_parts_before_it_and_is_ended(logins: Callable[..., Logins], part: str) -> None:
    made = logins(Server("target", {part: raises(StepFailure(Outcome.DISCONNECTED, "gone"))}))
    assert made.fails().message == "gone"
    before = PARTS[: PARTS.index(part)]
    assert made.counted() == {**dict.fromkeys(before, "ok"), part: "disconnected", "login": "disconnected"}
    assert (made.opened[0].closed, made.recorder.connections, made.recorder.opened) == (1, 0, 1)
    assert made.report().negotiated == ()


def test_a_jump_host_that_fails_is_named_and_nothing_is_opened_behind_it(logins: Callable[..., Logins]) -> None:
    made = logins(Server("target", via=(Server("one"), Server("two", {"auth": raises(REJECTED)}), Server("three"))))
    failure = made.fails()
    assert (failure.outcome, failure.message) == (Outcome.AUTH_REJECTED, "jump host two: permission denied")
    assert [one.server.host for one in made.opened] == ["one", "two"]
    assert made.opened[1].closed == 1
    assert made.recorder.connections == 0
    assert made.counted() == {
        **ok("via1."),
        **{f"via2.{part}": "ok" for part in PARTS[:3]},
        "via2.auth": "authRejected",
        "via2.login": "authRejected",
    }


def test_where_no_connection_can_be_made_none_is_left_counted(
    logins: Callable[..., Logins], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = logins(Server("target"))
    monkeypatch.setattr(sessions, "new_connection", lambda *_, **__: raises(OSError("no descriptors"))())
    made.fails(OSError)
    assert (made.recorder.connections, made.recorder.opened) == (0, 1)


@pytest.mark.parametrize("part", PARTS)
def test_each_part_has_its_own_limit(logins: Callable[..., Logins], part: str) -> None:
    made = logins(Server("target", {part: Event().wait}, {f"{part}_s": 0.01}))
    assert made.fails().message == f"{part} took longer than 0.01 s"
    assert made.counted()[part] == f"{part}Timeout"
    assert made.opened[0].closed == 1


def test_a_login_that_is_killed_is_ended(logins: Callable[..., Logins]) -> None:
    made = logins(Server("target", {"kex": Event().wait}))
    login = gevent.spawn(made.connect)
    gevent.sleep(0.001)
    assert made.recorder.connections == 1
    login.kill()
    assert (made.opened[0].closed, made.recorder.connections) == (1, 0)
    assert made.counted() == {"connect": "ok", "banner": "ok", "kex": "unfinished", "login": "unfinished"}


def test_what_a_certificate_says_of_a_refusal_is_its_outcome_in_every_count(logins: Callable[..., Logins]) -> None:
    ended = StepFailure(Outcome.CERTIFICATE_EXPIRED, "its certificate ended")
    made = logins(Server("target", {"auth": raises(REJECTED)}, explain=lambda _: ended))
    assert made.fails() is ended
    counted = made.counted()
    assert (counted["auth"], counted["login"]) == ("certificateExpired", "certificateExpired")


@pytest.mark.parametrize("fails", [False, True])
def test_the_time_that_a_program_takes_to_start_is_no_part_of_the_time_to_connect(
    logins: Callable[..., Logins], monkeypatch: pytest.MonkeyPatch, *, fails: bool
) -> None:
    """It begins to connect ten seconds after the login has begun, and each part takes a second."""
    instants_ns = iter(second * NS_PER_S for second in (100, 111, 112, 113, 114))
    made = logins(Server("target", {"kex": raises(REJECTED)} if fails else {}, kind=Program))
    clock = made.clock()
    monkeypatch.setattr(sessions, "monotonic_ns", lambda: next(instants_ns))
    if fails:
        with pytest.raises(StepFailure):
            made.connector.connect(clock)
    else:
        made.connector.connect(clock)
    took_s = {
        one.step: round((LatencyHistogram.decode(one.data).min_us() or 0) / 1e6) for one in made.report().histograms
    }
    assert (took_s["connect"], took_s["banner"]) == (1, 1)
    assert fails or took_s["login"] == 14
