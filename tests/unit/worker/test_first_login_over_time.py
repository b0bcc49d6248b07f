"""How often and how long a server is tried before the load, in virtual time.

`tests/integration/worker/test_first_login.py` and `test_dial.py` have the same with real servers.
"""

import socket
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import islice
from types import SimpleNamespace
from typing import Any, Self

import pytest
from gevent.event import Event
from run_configs import NOWHERE, client
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.report import LoginFailure
from sshload_worker.login.login import Address, Login
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario import first_login as module
from sshload_worker.scenario.first_login import (
    UnreachableError,
    dial_until_accepted,
    dial_until_banner,
    log_in_once,
    patience_s,
    pauses_s,
    unreachable_failure,
    wait_within,
)
from virtual_greenlets import VirtualClock

NOTHING: Any = None
REFUSED = StepFailure(Outcome.REFUSED, "Connection refused")
REJECTED = StepFailure(Outcome.AUTH_REJECTED, "permission denied")
THROTTLED = StepFailure(Outcome.THROTTLED, "one too many")


def address(last: int) -> Address:
    return socket.AF_INET, (f"192.0.2.{last}", 22)


def login(*via: Login, host: str = "target", **timeouts_s: float) -> Login:
    limits = {"connect_s": 8.0, "banner_s": 8.0, "kex_s": 8.0, "auth_s": 8.0} | timeouts_s
    return Login(None, host, 22, "u", NOTHING, NOTHING, client(**limits), via, iter(()))


@dataclass
class World:
    """Servers by address: how each login ends (None: well), after `takes_s`, and the attempts with their times."""

    clock: VirtualClock = field(default_factory=VirtualClock)
    ends: Callable[["World", str], StepFailure | None] = lambda *_: None
    takes_s: float = 0.0
    attempts: list[tuple[float, str, Login]] = field(default_factory=list)
    disconnected: int = 0
    dialled: list[tuple[float, float]] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)

    @property
    def at_s(self) -> float:
        """The time since the begin."""
        return round(self.clock.now_s - 1_000.0, 3)

    def times(self) -> list[float]:
        return [at_s for at_s, _, _ in self.attempts]

    def attempt(self, tried: Login, failed_step: Callable[[str], None]) -> None:
        first = tried.via[0] if tried.via else tried
        assert first.address is not None
        assert first.turns is None
        at = str(first.address[1][0])
        self.attempts.append((self.at_s, at, tried))
        self.clock.sleep(self.takes_s)
        failure = self.ends(self, at)
        if failure is not None:
            failed_step("via1.connect" if failure.message.startswith("jump host") else "connect")
            raise failure

    def dial(self, where: tuple[str, int], timeout: float) -> Any:
        assert where == ("server", 22)
        self.dialled.append((self.at_s, timeout))
        answer = self.answers.pop(0)
        if isinstance(answer, TimeoutError):
            self.clock.sleep(timeout)
        if isinstance(answer, Exception):
            raise answer
        return answer


Make = Callable[..., World]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Make:
    def made(**how: Any) -> World:
        world = World(**how)

        class Connecting:
            def __init__(self, tried: Login, _recorder: object) -> None:
                self.tried = tried

            def connect(self, clock: Any) -> str:
                world.attempt(self.tried, clock.mark_failed)
                return "a connection"

            def disconnect(self, connection: str) -> None:
                assert connection == "a connection"
                world.disconnected += 1

        monkeypatch.setattr(module, "gevent", SimpleNamespace(sleep=world.clock.sleep))
        monkeypatch.setattr(module, "monotonic", world.clock.monotonic)
        monkeypatch.setattr(module, "Connector", Connecting)
        monkeypatch.setattr(module, "socket", SimpleNamespace(create_connection=world.dial))
        return world

    return made


def log_in(world: World, tried: Login, *addresses: Address) -> tuple[LoginFailure | None, list[str]]:
    told: list[str] = []
    failure = world.clock.run(lambda: log_in_once(3, tried, addresses, told.append))
    return failure, told


def always(failure: StepFailure) -> Callable[[World, str], StepFailure]:
    return lambda *_: failure


def test_a_login_that_succeeds_is_made_once_and_ended(make: Make) -> None:
    world = make()
    assert log_in(world, login(), address(1)) == (None, [])
    assert (len(world.attempts), world.disconnected) == (1, 1)


def test_what_may_pass_is_tried_again_after_pauses_that_grow_within_the_time_of_a_connection(make: Make) -> None:
    world = make(ends=always(REFUSED))
    failure, told = log_in(world, login(), address(1))
    assert world.times() == pytest.approx([0.0, 0.2, 0.6, 1.4, 3.0, 5.0, 7.0])
    assert failure is not None
    assert (failure.worker, failure.jump_host, failure.host, failure.port) == (3, 0, "target", 22)
    assert (failure.outcome, failure.message) == (Outcome.REFUSED, "192.0.2.1: Connection refused")
    assert told == ["target:22: Connection refused"] * 6


def test_the_pauses_double_up_to_2_s() -> None:
    assert list(islice(pauses_s(), 6)) == [0.2, 0.4, 0.8, 1.6, 2.0, 2.0]


@pytest.mark.parametrize(("connect_s", "patient_s"), [(0.5, 3.0), (3.0, 3.0), (8.0, 8.0)])
def test_patience_is_that_for_a_connection_and_at_least_3_s(connect_s: float, patient_s: float) -> None:
    assert patience_s(client(connect_s=connect_s).timeouts) == patient_s


def test_what_cannot_pass_is_not_tried_again(make: Make) -> None:
    world = make(ends=always(REJECTED))
    failure, told = log_in(world, login(), address(1))
    assert (world.times(), told) == ([0.0], [])
    assert failure is not None
    assert failure.outcome is Outcome.AUTH_REJECTED


def test_a_problem_that_has_passed_is_no_failure(make: Make) -> None:
    world = make(ends=lambda world, _: REFUSED if world.at_s < 1.0 else None)
    assert log_in(world, login(), address(1))[0] is None
    assert world.times() == pytest.approx([0.0, 0.2, 0.6, 1.4])
    assert world.disconnected == 1


def test_one_of_several_addresses_is_enough_and_the_others_are_not_tried(make: Make) -> None:
    world = make(ends=lambda _, at: REJECTED if at == "192.0.2.1" else None)
    assert log_in(world, login(), address(1), address(2), address(3))[0] is None
    assert [at for _, at, _ in world.attempts] == ["192.0.2.1", "192.0.2.2"]


def test_several_addresses_share_the_time_of_one_and_so_do_their_limits(make: Make) -> None:
    world = make(ends=always(REFUSED))
    log_in(world, login(), address(1), address(2))
    first, second = ([one for one in world.attempts if one[1] == f"192.0.2.{last}"] for last in (1, 2))
    assert [round(at_s, 3) for at_s, _, _ in first] == [0.0, 0.2, 0.6, 1.4, 3.0]
    limits = first[0][2].client.timeouts
    assert (limits.connect_s, limits.banner_s, limits.kex_s, limits.auth_s) == (4.0, 4.0, 4.0, 4.0)
    assert second[0][2].client.timeouts.connect_s == pytest.approx(8.0 * (40.0 - 3.0) / 40.0, abs=0.01)
    assert limits.step_s == login().client.timeouts.step_s


def test_the_last_of_many_addresses_has_some_time_too(make: Make) -> None:
    world = make(ends=always(REFUSED), takes_s=39.9)
    log_in(world, login(kex_s=0.01), address(1), address(2))
    limits = world.attempts[-1][2].client.timeouts
    assert (limits.connect_s, limits.kex_s) == (0.16, 0.001)


def test_the_limits_of_jump_hosts_are_shared_too_and_the_first_one_has_the_address(make: Make) -> None:
    world = make()
    log_in(world, login(login(host="jump"), login(host="second")), address(1), address(2))
    (_, at, tried) = world.attempts[0]
    assert (at, tried.address, [hop.address for hop in tried.via]) == ("192.0.2.1", None, [address(1), None])
    assert [hop.client.timeouts.connect_s for hop in (*tried.via, tried)] == [4.0, 4.0, 4.0]


def test_the_failure_says_what_happened_at_each_address(make: Make) -> None:
    ends = {
        "192.0.2.1": REJECTED,
        "192.0.2.2": StepFailure(Outcome.KEX_FAILED, "unknown key"),
        "192.0.2.3": REJECTED,
    }
    world = make(ends=lambda _, at: ends[at])
    failure, _ = log_in(world, login(), address(1), address(2), address(3))
    assert failure is not None
    assert failure.message == "192.0.2.1, 192.0.2.3: permission denied; 192.0.2.2: unknown key"
    assert failure.outcome is Outcome.AUTH_REJECTED


def test_the_failure_at_the_one_address_that_the_host_is_has_no_address_in_its_words(make: Make) -> None:
    world = make(ends=always(REJECTED))
    failure, _ = log_in(world, login(host="192.0.2.1"), address(1))
    assert failure is not None
    assert failure.message == "permission denied"


def test_one_login_too_many_at_any_address_is_what_is_told(make: Make) -> None:
    world = make(ends=lambda _, at: THROTTLED if at == "192.0.2.1" else REJECTED)
    failure, _ = log_in(world, login(), address(1), address(2))
    assert failure is not None
    assert (failure.outcome, failure.message) == (Outcome.THROTTLED, "one too many")


def test_a_jump_host_that_fails_is_the_server_of_the_failure(make: Make) -> None:
    world = make(ends=always(StepFailure(Outcome.AUTH_REJECTED, "jump host jump: permission denied")))
    failure, _ = log_in(world, login(login(host="jump")), address(1))
    assert failure is not None
    assert (failure.jump_host, failure.host, failure.message) == (1, "jump", "192.0.2.1: permission denied")


def test_without_an_address_there_is_nothing_to_say(make: Make) -> None:
    assert log_in(make(), login()) == (None, [])


class Answer:
    """A connection of which the server sends these pieces, then closes it."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = [*pieces, b""]
        self.limit_s = 0.0
        self.closed = 0

    def close(self) -> None:
        self.closed += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def settimeout(self, limit_s: float) -> None:
        self.limit_s = limit_s

    def recv(self, most: int) -> bytes:
        assert most == 8_192
        return self.pieces.pop(0)


NO_ROUTE = OSError(113, "No route to host")


def dialled(world: World, dial: Callable[..., None]) -> list[str]:
    told: list[str] = []
    world.clock.run(lambda: dial("server", 22, told.append))
    return told


def test_a_port_is_dialled_ten_times_a_second_and_given_twice_the_time_after_each_silence(make: Make) -> None:
    answer = Answer()
    silent, refused = TimeoutError("timed out"), NO_ROUTE
    world = make(answers=[refused, refused, silent, silent, silent, silent, refused, answer])
    told = dialled(world, dial_until_accepted)
    assert [limit_s for _, limit_s in world.dialled] == [0.2, 0.2, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0]
    assert [at_s for at_s, _ in world.dialled] == pytest.approx([0.0, 0.1, 0.2, 0.5, 1.0, 1.9, 3.0, 3.1])
    assert told[0] == "server:22: No route to host"
    assert told[2] == "server:22: timed out"
    assert answer.closed == 1


def test_a_server_is_asked_for_its_version_twice_a_second_until_it_has_sent_one(make: Make) -> None:
    greeting = Answer(b"a line before it\r\nSS", b"H-2.0-x\r\n", b"more")
    turned_away, silent, garbled = Answer(b"Exceeded MaxStartups\r\n"), Answer(), Answer(b"not SSH-2.0\r\n")
    world = make(answers=[turned_away, silent, NO_ROUTE, garbled, greeting])
    told = dialled(world, dial_until_banner)
    assert [at_s for at_s, _ in world.dialled] == pytest.approx([0.0, 0.5, 1.0, 1.5, 2.0])
    assert {limit_s for _, limit_s in world.dialled} == {1.0}
    assert told == [
        "server:22: the server sent 'Exceeded MaxStartups', which is not an SSH version",
        "server:22: the server closed the connection",
        "server:22: No route to host",
        "server:22: the server sent 'not SSH-2.0', which is not an SSH version",
    ]
    assert (greeting.closed, greeting.limit_s, greeting.pieces) == (1, 5.0, [b"more", b""])
    assert turned_away.closed == 1


def test_a_wait_that_ends_in_time_has_its_result_and_one_that_does_not_its_last_problem() -> None:
    told: list[str] = []

    def wait_for_ever(tell: Callable[[str], None]) -> None:
        tell("first")
        tell("last")
        Event().wait()

    assert wait_within(300.0, lambda tell: (tell("a problem"), 7)[1], told.append) == 7
    with pytest.raises(UnreachableError, match=r"^last$"):
        wait_within(0.001, wait_for_ever, told.append)
    with pytest.raises(UnreachableError, match=r"^no answer$"):
        wait_within(0.001, lambda _: Event().wait(), told.append)
    assert told == ["a problem", "first", "last"]


@pytest.mark.parametrize(("behind", "jump_host"), [(True, 1), (False, 0)])
def test_the_first_server_on_the_way_is_a_jump_host_where_the_target_is_behind_it(
    behind: bool,  # noqa: FBT001
    jump_host: int,
) -> None:
    failure = unreachable_failure(3, replace(NOWHERE, host="first"), behind=behind, outcome=None, why="no such name")
    assert failure == LoginFailure(3, jump_host, "first", 22, None, "no such name")
