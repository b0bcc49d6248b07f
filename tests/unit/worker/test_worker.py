"""A worker in virtual time: what it tells its master, what it does at each order, and what it is patient with.

Its master, its target and its load are played. `tests/integration/worker` has the same with real ones.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from socket import AddressFamily
from types import SimpleNamespace
from typing import Any

import gevent
import pytest
from reports import REPORT
from run_configs import NOWHERE, arrivals, client, run_config
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.report import LoginFailure, Report
from sshload_contract.wire.run_config import RunConfig
from sshload_worker.coordination import messages
from sshload_worker.coordination import worker as module
from sshload_worker.coordination.worker import Worker
from sshload_worker.login.login import Login
from sshload_worker.outcomes import GeneratorFaultError, StepFailure, TargetNotAllowedError
from sshload_worker.pacing.share import Share, TrialOrder
from sshload_worker.scenario import gateway_sessions, target_sessions
from sshload_worker.scenario.first_login import UnreachableError
from sshload_worker.scenario.gateway_sessions import Gateway
from sshload_worker.scenario.target_sessions import SshServer
from virtual_greenlets import VirtualClock

BEGIN_S = 1_000.0
NS_PER_S = 1_000_000_000
LOST_S = messages.LOST_AFTER_S
PATIENCE_S = 30.0
CONNECT_S = 8.0
PORTS_S = 60.0
ADDRESS = (AddressFamily.AF_INET, ("192.0.2.7", 22))
EXTERNAL = replace(
    run_config(replace(NOWHERE, host="192.0.2.7"), arrivals(20, 10.0), workers=4),
    workers_timeout_s=PATIENCE_S,
    client=client(connect_s=CONNECT_S),
    processes_per_pod=3,
)
MANAGED = replace(EXTERNAL, stats_url="http://target/stats")
FAILURE = LoginFailure(1, 0, "192.0.2.7", 22, Outcome.AUTH_REJECTED, "permission denied")


def sshd() -> SshServer:
    nothing: Any = None
    login = Login(None, "192.0.2.7", 22, "u", nothing, nothing, EXTERNAL.client, (), None)
    return SshServer(login, (ADDRESS,))


def a_gateway(*, is_managed: bool = False) -> Gateway:
    endpoint = SimpleNamespace(host="192.0.2.7", port=443)
    access: Any = SimpleNamespace(authority="192.0.2.7:443", client=EXTERNAL.client, endpoint=endpoint)
    return Gateway(access, is_managed)


@dataclass
class World:
    """A worker's master and target. `told` is what the worker says, `asked` what it asks for, with the times.

    Each of the functions that a worker asks for something is here; a test may replace what it does.
    """

    clock: VirtualClock
    config: RunConfig
    told: list[tuple[float, str, dict[str, Any]]] = field(default_factory=list)
    asked: list[tuple[float, str]] = field(default_factory=list)
    parts: list["Part"] = field(default_factory=list)
    listeners: dict[str, Callable[..., None]] = field(default_factory=dict)
    heartbeats: list[Callable[..., None]] = field(default_factory=list)
    first_beat_s: float = 0.0
    beats_until_s: float = 1e9
    opens: int = 7
    ports_after_s: float = 0.0
    dials: Callable[[Callable[[str], None]], None] = lambda _: None
    joins: Callable[["World"], None] = lambda _: None
    prepares: Callable[[], Any] = sshd
    checks: Callable[[], StepFailure | None] = lambda: None
    logs_in: Callable[[Callable[[str], None]], LoginFailure | None] = lambda _: None
    closed: int = 0
    killed: int = 0
    worker: Any = None

    @property
    def at_s(self) -> float:
        """The time since the begin."""
        return round(self.clock.now_s - BEGIN_S, 3)

    def words(self) -> list[str]:
        return [kind for _, kind, _ in self.told]

    def times_of(self, kind: str) -> list[float]:
        return [at_s for at_s, said, _ in self.told if said == kind]

    def only(self, kind: str) -> dict[str, Any]:
        (fields,) = [fields for _, said, fields in self.told if said == kind]
        return fields

    def order(self, kind: str, **fields: Any) -> None:
        """Send an order of the master's."""
        self.listeners[kind](msg=SimpleNamespace(data=fields))

    def send_message(self, kind: str, fields: dict[str, Any]) -> None:
        self.told.append((self.at_s, kind, fields))

    def register_message(self, kind: str, listener: Callable[..., None]) -> None:
        self.listeners[kind] = listener

    @property
    def greenlet(self) -> Any:
        return SimpleNamespace(kill=self._kill)

    def _kill(self) -> None:
        self.killed += 1

    client: Any = None

    def create_worker_runner(self, host: str, port: int) -> "World":
        self.asked.append((self.at_s, f"join {host}:{port}"))
        gevent.spawn(self._beat)
        return self

    def _beat(self) -> None:
        self.clock.sleep(self.first_beat_s)
        while self.at_s < self.beats_until_s:
            for heard in self.heartbeats:
                heard()
            self.clock.sleep(1.0)

    def environment(self) -> Any:
        heard = SimpleNamespace(add_listener=self.heartbeats.append)
        return SimpleNamespace(
            events=SimpleNamespace(heartbeat_received=heard), create_worker_runner=self.create_worker_runner
        )

    def dial_until_accepted(self, host: str, port: int, tell: Callable[[str], None]) -> None:
        if host == "master":
            self.joins(self)
            return
        self.asked.append((self.at_s, f"accepted {host}:{port}"))
        self.dials(tell)

    def dial_until_banner(self, host: str, port: int, tell: Callable[[str], None]) -> None:
        self.asked.append((self.at_s, f"banner {host}:{port}"))
        self.dials(tell)

    def has_port_room(self, needed: int, port: int) -> bool:
        self.asked.append((self.at_s, f"room {needed} {port}"))
        return not needed or self.at_s >= self.ports_after_s

    def resolve(self, _config: RunConfig, _tell: Callable[[str], None], first: int) -> Any:
        self.asked.append((self.at_s, f"resolve {first}"))
        return (ADDRESS,)

    def wait_within(self, limit_s: float, wait: Callable[[Callable[[str], None]], Any], tell: Any) -> Any:
        self.asked.append((self.at_s, f"within {limit_s:g}"))
        return wait(tell)

    def prepare(self, _config: RunConfig, _addresses: Any) -> Any:
        return self.prepares()

    def log_in_once(self, index: int, _login: Login, _addresses: Any, tell: Callable[[str], None]) -> Any:
        self.asked.append((self.at_s, f"log in {index}"))
        return self.logs_in(tell)

    def better_kex(self, _login: Login, _addresses: Any) -> str:
        self.asked.append((self.at_s, "better kex"))
        return BETTER

    def check(self, _access: Any) -> StepFailure | None:
        self.asked.append((self.at_s, "served"))
        return self.checks()

    def close(self, _line: Any, _linger_ms: int) -> None:
        self.closed += 1


class Part:
    """A part of a trial that lasts until it is told to end."""

    def __init__(
        self, equipment: Any, order: TrialOrder, share: Share, start_ns: int, send: Callable[[Report], None]
    ) -> None:
        self.world: World = equipment.listener
        self.equipment, self.order, self.share = equipment, order, share
        self.start_s = start_ns / NS_PER_S - BEGIN_S
        self.send = send
        self.over = self.world.clock.event()
        self.stopped_s: list[float] = []
        self.world.parts.append(self)

    @property
    def opened(self) -> int:
        return self.world.opens

    def tell_of_used_up_users(self, tell: Callable[[float], object]) -> None:
        self.tell = tell

    def run(self) -> None:
        self.over.wait()
        self.send(replace(REPORT, final=True))

    def finish(self) -> float:
        self.over.set()
        return 6.5

    def stop(self) -> None:
        self.stopped_s.append(self.world.at_s)
        self.over.set()


@dataclass
class Over:
    """A worker that has ended."""

    world: World
    code: int
    took_s: float


Happening = tuple[float, Callable[[World], object]]
Play = Callable[..., Over]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    """Return what plays the worker 1 of a run to its end, with what happens meanwhile."""

    def played(config: RunConfig, *happens: Happening, index: int = 1, **of_world: Any) -> Over:
        clock = VirtualClock()
        world = World(clock, config, **of_world)
        timed = SimpleNamespace(spawn=gevent.spawn, sleep=clock.sleep, wait=clock.await_first)
        for name, replaced in {
            "gevent": timed,
            "Event": clock.event,
            "monotonic": clock.monotonic,
            "monotonic_ns": lambda: round(clock.now_s * NS_PER_S),
            "Environment": world.environment,
            "SummedRequests": lambda _: world,
            "TrialPart": Part,
            "dial_until_accepted": world.dial_until_accepted,
            "has_port_room": world.has_port_room,
            "resolve_first_hop": world.resolve,
            "wait_within": world.wait_within,
            "prepare_target": world.prepare,
            "flush_and_close": world.close,
            "gc": SimpleNamespace(collect=int, freeze=int),
        }.items():
            monkeypatch.setattr(module, name, replaced)
        monkeypatch.setattr(module.runners, "WORKER_LOG_REPORT_INTERVAL", 10)
        monkeypatch.setattr(target_sessions, "dial_until_banner", world.dial_until_banner)
        monkeypatch.setattr(target_sessions, "log_in_once", world.log_in_once)
        monkeypatch.setattr(target_sessions, "better_kex", world.better_kex)
        monkeypatch.setattr(gateway_sessions, "dial_until_accepted", world.dial_until_accepted)
        monkeypatch.setattr(gateway_sessions, "_check", world.check)
        monkeypatch.setattr(gateway_sessions, "gevent", timed)
        monkeypatch.setattr(gateway_sessions, "monotonic", clock.monotonic)

        def happen(at_s: float, what: Callable[[World], object]) -> None:
            clock.sleep(at_s)
            what(world)

        nothing: Any = None
        worker = Worker(config, index, nothing)

        def work() -> int:
            for at_s, what in happens:
                gevent.spawn(happen, at_s, what)
            code = worker.run("master", 5557)
            over_s.append(world.at_s)
            left = (len(world.asked), len(world.told))
            if messages.LOG_IN in world.listeners:
                log_in(world)
            clock.sleep(200.0)
            assert (len(world.asked), len(world.told)) == left, "it goes on after its end"
            return code

        world.worker = worker
        over_s: list[float] = []
        code = clock.run(work)
        return Over(world, code, over_s[0])

    return played


def start(world: World) -> None:
    world.order(messages.START, trial=2, amount=40.0, lead_s=0.5, of=4)


def end(world: World) -> None:
    world.order(messages.END)


def stop_load(world: World) -> None:
    world.order(messages.STOP)


def leave(world: World) -> None:
    world.worker.leave("told to terminate")


def test_a_worker_joins_is_ready_makes_its_share_and_ends_when_it_is_told(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    over = play(EXTERNAL, (3.0, start), (8.0, stop_load), (9.0, end))
    assert caplog.messages == []
    assert (over.code, over.took_s, over.world.closed, over.world.killed) == (0, 9.0, 1, 1)
    assert over.world.words() == [messages.HELLO, messages.READY, messages.FINISHED, messages.REPORT]
    assert over.world.only(messages.HELLO) == {"run_id": "test-run", "worker": 1}
    assert over.world.only(messages.READY) == {"worker": 1}
    (part,) = over.world.parts
    assert (part.order, part.share, part.start_s) == (TrialOrder(2, 40.0), Share(1, 4), 3.5)
    assert part.equipment.run is EXTERNAL
    assert (0.0, "join master:5557") in over.world.asked


def test_a_load_that_is_finished_ends_by_itself_and_one_that_is_stopped_is_cut_off(play: Play) -> None:
    finished = play(EXTERNAL, (3.0, start), (8.0, lambda world: world.order(messages.FINISH)), (9.0, end))
    assert finished.world.only(messages.FINISHED) == {"worker": 1, "after_s": 6.5}
    assert finished.world.parts[0].stopped_s == [9.0]  # at the end of the run
    stopped = play(EXTERNAL, (3.0, start), (8.0, stop_load), (9.0, end))
    assert stopped.world.only(messages.FINISHED) == {"worker": 1, "after_s": 6.5}
    assert stopped.world.parts[0].stopped_s == [8.0, 9.0]


def test_orders_about_a_load_that_there_is_not_do_nothing(play: Play) -> None:
    over = play(EXTERNAL, (1.0, stop_load), (2.0, lambda world: world.order(messages.FINISH)), (3.0, end))
    assert (over.code, over.world.words()) == (0, [messages.HELLO, messages.READY])


def test_the_end_of_a_run_ends_a_load_that_is_still_made(play: Play) -> None:
    over = play(EXTERNAL, (3.0, start), (8.0, end))
    assert (over.code, over.took_s, over.world.parts[0].stopped_s) == (0, 8.0, [8.0])


def test_a_master_that_does_not_come_is_waited_for_as_long_as_a_run_waits_for_its_workers(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    over = play(EXTERNAL, joins=lambda world: world.clock.sleep(1e6))
    assert (over.code, over.took_s, over.world.told) == (1, PATIENCE_S, [])
    assert caplog.messages == ["no master within 30 s"]


def test_a_master_that_is_late_is_joined(play: Play) -> None:
    over = play(EXTERNAL, (29.5, end), joins=lambda world: world.clock.sleep(29.0))
    assert (over.code, over.world.times_of(messages.HELLO)) == (0, [29.0])


def test_a_worker_that_is_told_to_go_before_it_has_a_master_goes_at_once(play: Play) -> None:
    over = play(EXTERNAL, (2.0, leave), joins=lambda world: world.clock.sleep(1e6))
    assert (over.code, over.took_s, over.world.told) == (1, 2.0, [])


def test_a_worker_that_is_told_to_go_says_so_before_its_last_report(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    over = play(EXTERNAL, (3.0, start), (8.0, leave))
    assert caplog.messages == ["told to terminate"]
    assert (over.code, over.took_s, over.world.closed) == (1, 8.0, 1)
    assert over.world.words()[2:] == [messages.LEAVE, messages.REPORT]
    assert over.world.only(messages.LEAVE) == {"worker": 1, "message": "told to terminate"}
    assert over.world.parts[0].stopped_s == [8.0]


def test_a_master_that_is_silent_for_more_than_10_s_is_left(play: Play) -> None:
    over = play(EXTERNAL, (3.0, start), beats_until_s=20.0)
    assert 19.0 + LOST_S < over.took_s <= 19.0 + LOST_S + 1.0
    assert over.code == 1
    assert over.world.only(messages.LEAVE)["message"] == "the master was silent for 10 s"


def test_a_time_in_which_the_worker_itself_stood_still_is_no_silence_of_the_master(play: Play) -> None:
    def stand_still(world: World) -> None:
        world.clock.now_s += 30.0

    over = play(EXTERNAL, (3.0, start), (6.25, stand_still), (60.0, end), beats_until_s=1e9)
    assert over.code == 0


def test_a_worker_that_looks_late_forgives_its_master_what_is_beyond_two_looks(play: Play) -> None:
    """It looks twice a second, once 0.9 s late: of that 0.4 s are no silence. The last word came at 19.3 s."""

    def stand_still(world: World) -> None:
        world.clock.now_s += 1.3

    over = play(EXTERNAL, (3.0, start), (25.1, stand_still), first_beat_s=0.3, beats_until_s=20.0)
    assert over.took_s == pytest.approx(29.9)


TWO_TRIALS: tuple[Happening, ...] = (
    (3.0, start),
    (8.0, stop_load),
    (9.0, lambda world: world.order(messages.AGAIN)),
)


def test_before_another_trial_ports_for_as_many_connections_of_the_pod_and_the_targets_version_are_waited_for(
    play: Play,
) -> None:
    over = play(EXTERNAL, *TWO_TRIALS, (30.0, start), (31.0, stop_load), (32.0, end), ports_after_s=20.0)
    asked = [(at_s, what) for at_s, what in over.world.asked if at_s >= 9.0]
    assert asked[:2] == [(9.0, "room 21 22"), (9.5, "room 21 22")]
    assert asked[-1] == (20.0, "banner 192.0.2.7:22")
    assert over.world.times_of(messages.READY) == [0.0, 20.0]
    assert [part.start_s for part in over.world.parts] == [3.5, 30.5]
    assert over.code == 0


def test_ports_are_waited_for_as_long_as_a_kernel_keeps_them_and_no_longer(play: Play) -> None:
    over = play(EXTERNAL, *TWO_TRIALS, (80.0, end), ports_after_s=1e9)
    assert over.world.times_of(messages.READY) == [0.0, 9.0 + PORTS_S]


def test_an_end_while_ports_are_waited_for_is_an_end(play: Play) -> None:
    over = play(EXTERNAL, *TWO_TRIALS, (12.0, end), ports_after_s=1e9)
    assert (over.code, over.took_s, over.world.times_of(messages.READY)) == (0, 12.0, [0.0])


def test_the_iterations_of_all_trials_are_numbered_on(play: Play) -> None:
    over = play(EXTERNAL, *TWO_TRIALS, (30.0, start), (31.0, stop_load), (32.0, end))
    first, second = over.world.parts
    assert first.equipment.numbers is second.equipment.numbers


@pytest.mark.parametrize(
    ("config", "index", "asks"),
    [
        pytest.param(EXTERNAL, 0, True, id="the first worker of an external target"),
        pytest.param(EXTERNAL, 1, False, id="another one"),
        pytest.param(MANAGED, 0, False, id="a target that the master asks"),
        pytest.param(replace(EXTERNAL, log_in_first=True), 0, False, id="one that all log in to"),
    ],
)
def test_one_worker_looks_whether_a_target_takes_connections_that_nobody_else_looks_at(
    play: Play, config: RunConfig, index: int, *, asks: bool
) -> None:
    over = play(config, (20.0, end), index=index)
    accepted = [at_s for at_s, what in over.world.asked if what == "accepted 192.0.2.7:22"]
    assert accepted == ([0.0] if asks else [])
    assert (f"within {CONNECT_S:g}" in [what for _, what in over.world.asked]) is (config is not MANAGED)


def unreachable(tell: Callable[[str], None]) -> None:
    tell("Connection refused")
    raise UnreachableError("Connection refused")


def test_a_target_that_takes_no_connections_is_a_login_that_failed_and_the_end_is_waited_for(play: Play) -> None:
    over = play(EXTERNAL, (20.0, end), index=0, dials=unreachable)
    assert over.world.words() == [messages.HELLO, messages.TARGET_PROBLEM, messages.LOGIN_FAILED]
    failed = over.world.only(messages.LOGIN_FAILED)
    assert (failed["worker"], failed["host"], failed["port"], failed["jump_host"]) == (0, "192.0.2.7", 22, 0)
    assert (failed["outcome"], failed["message"]) == (Outcome.CONNECT_FAILED, "Connection refused")
    assert (over.code, over.took_s) == (0, 20.0)


def raising(error: Exception) -> Callable[[], Any]:
    def prepare() -> Any:
        raise error

    return prepare


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (GeneratorFaultError("no such file"), messages.FAULT, "no such file"),
        (TargetNotAllowedError("not on the list"), messages.NOT_ALLOWED, "not on the list"),
        (KeyError("a bug"), messages.FAULT, "internal error of the worker: KeyError: 'a bug'"),
    ],
)
def test_a_worker_that_cannot_take_part_says_why_and_ends(
    play: Play, error: Exception, kind: str, message: str
) -> None:
    over = play(EXTERNAL, prepares=raising(error))
    assert over.world.words() == [messages.HELLO, kind]
    assert over.world.only(kind) == {"worker": 1, "message": message}
    assert (over.code, over.took_s, over.world.closed) == (1, 0.0, 1)


def test_a_name_without_an_address_is_a_login_that_failed_without_an_outcome(play: Play) -> None:
    behind = replace(EXTERNAL, via=(replace(NOWHERE, host="jump"),))
    for config, jump_host in ((EXTERNAL, 0), (behind, 1)):
        over = play(config, (5.0, end), prepares=raising(UnreachableError("no such name")))
        failed = over.world.only(messages.LOGIN_FAILED)
        assert (failed["outcome"], failed["message"], failed["jump_host"]) == (None, "no such name", jump_host)
        assert over.code == 0


def test_an_end_while_the_target_is_prepared_is_an_end(play: Play) -> None:
    over = play(MANAGED, (4.0, end), prepares=lambda: gevent.get_hub().switch())
    assert (over.code, over.took_s, over.world.words()) == (0, 4.0, [messages.HELLO])


FIRST = replace(MANAGED, log_in_first=True)
BETTER = "sntrup761x25519-sha512"


def log_in(world: World) -> None:
    world.order(messages.LOG_IN)


@pytest.mark.parametrize(("index", "workers", "after_s"), [(1, 4, 0.1), (3, 4, 0.3), (30, 40, 1.5)])
def test_workers_log_in_one_after_the_other_when_they_are_told_all_within_2_s(
    play: Play, index: int, workers: int, after_s: float
) -> None:
    over = play(replace(FIRST, workers=workers), (5.0, log_in), (6.0, log_in), (20.0, end), index=index)
    assert [(at_s, what) for at_s, what in over.world.asked if what.startswith("log in")] == [
        (5.0 + after_s, f"log in {index}")
    ]
    assert over.world.only(messages.LOGGED_IN) == {"worker": index, "accepted": True, "better_kex": None}


def test_the_first_worker_alone_asks_for_the_servers_offer_after_its_login(play: Play) -> None:
    over = play(FIRST, (5.0, log_in), (20.0, end), index=0)
    assert [what for _, what in over.world.asked if what in {"log in 0", "better kex"}] == ["log in 0", "better kex"]
    assert over.world.only(messages.LOGGED_IN) == {"worker": 0, "accepted": True, "better_kex": BETTER}


def test_a_server_that_has_no_room_for_the_first_login_is_not_asked_for_more(play: Play) -> None:
    refused = replace(FAILURE, outcome=Outcome.THROTTLED)
    over = play(FIRST, (5.0, log_in), (20.0, end), index=0, logs_in=lambda _: refused)
    assert over.world.only(messages.LOGGED_IN) == {"worker": 0, "accepted": False, "better_kex": None}


def test_a_login_that_is_one_too_many_is_told_and_no_hindrance(play: Play) -> None:
    over = play(
        FIRST, (5.0, log_in), (7.0, start), (9.0, stop_load), (20.0, end),
        logs_in=lambda _: replace(FAILURE, outcome=Outcome.THROTTLED),
    )  # fmt: skip
    assert over.world.only(messages.LOGGED_IN) == {"worker": 1, "accepted": False, "better_kex": None}
    assert (len(over.world.parts), over.code) == (1, 0)


def test_a_login_that_fails_is_told_with_its_server_and_no_load_follows(play: Play) -> None:
    over = play(FIRST, (5.0, log_in), (20.0, end), logs_in=lambda _: FAILURE)
    assert over.world.only(messages.LOGIN_FAILED)["message"] == "permission denied"
    assert (over.code, over.world.parts, over.world.times_of(messages.LOGGED_IN)) == (0, [], [])


def test_a_login_that_fails_for_the_workers_own_fault_is_its_fault(play: Play) -> None:
    over = play(FIRST, (5.0, log_in), logs_in=lambda _: replace(FAILURE, outcome=Outcome.GENERATOR_FAULT))
    assert over.world.only(messages.FAULT) == {"worker": 1, "message": "permission denied"}
    assert over.code == 1


def test_an_end_before_the_order_to_log_in_is_an_end(play: Play) -> None:
    over = play(FIRST, (5.0, end))
    assert (over.code, over.took_s) == (0, 5.0)


def test_a_managed_gateway_is_asked_before_each_trial_until_it_serves_its_credential(play: Play) -> None:
    found = iter([StepFailure(Outcome.GATEWAY_BUSY, "not yet"), None] * 2)
    our_own = partial(a_gateway, is_managed=True)
    over = play(MANAGED, *TWO_TRIALS, (30.0, end), prepares=our_own, checks=lambda: next(found))
    assert [at_s for at_s, what in over.world.asked if what == "served"] == [0.0, 0.2, 9.0, 9.2]
    assert over.world.times_of(messages.TARGET_PROBLEM) == [0.0, 9.0]
    assert over.world.times_of(messages.READY) == [0.2, 9.2]


def test_a_gateway_of_others_is_to_take_connections_again_after_a_trial(play: Play) -> None:
    over = play(EXTERNAL, *TWO_TRIALS, (30.0, end), prepares=a_gateway)
    looked = [(at_s, what) for at_s, what in over.world.asked if what.split()[0] in ("accepted", "banner", "served")]
    assert looked == [(9.0, "accepted 192.0.2.7:22")]


def test_a_gateway_is_asked_once_before_the_load_in_place_of_a_login(play: Play) -> None:
    refused = StepFailure(Outcome.AUTH_REJECTED, "permission denied")
    over = play(FIRST, (5.0, log_in), (20.0, end), prepares=a_gateway, checks=lambda: refused)
    assert [at_s for at_s, what in over.world.asked if what == "served"] == [5.1]
    assert over.world.only(messages.LOGIN_FAILED)["message"] == "permission denied"


def test_the_logs_of_a_worker_are_its_pods_and_not_sent_to_its_master(play: Play) -> None:
    play(EXTERNAL, (3.0, end))
    assert module.runners.WORKER_LOG_REPORT_INTERVAL == -1


def test_problems_of_the_target_are_told_at_most_once_a_second(play: Play) -> None:
    def often(tell: Callable[[str], None]) -> None:
        for number in range(12):
            tell(f"problem {number}")
            clock_of[0].sleep(0.25)

    clock_of: list[VirtualClock] = []
    over = play(EXTERNAL, (20.0, end), index=0, dials=often, joins=lambda world: clock_of.append(world.clock))
    told = [(at_s, fields["message"]) for at_s, kind, fields in over.world.told if kind == messages.TARGET_PROBLEM]
    assert told == [(0.0, "problem 0"), (1.0, "problem 4"), (2.0, "problem 8")]
