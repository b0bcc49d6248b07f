"""What the pool gives back, forgets and counts anew: over hours, in virtual time, and with several users at once."""

import asyncio
import gc
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from sshload_contract.gateway_policy import PolicyName
from sshload_gateway.metrics import PoolMetrics
from sshload_gateway.ssh.failures import BusyError, LoginError, LoginFailure, SupersededError
from sshload_gateway.ssh.login import Account, Secrets
from sshload_gateway.ssh.pauses import LONGEST_PAUSE_S
from sshload_gateway.ssh.policy import Limits
from sshload_gateway.ssh.pool import Pool, Session
from virtual_time import run_at_once

LIMITS = Limits(
    policy=PolicyName.POOL,
    connections=4,
    connections_per_host=4,
    connections_per_credential=2,
    sessions=6,
    sessions_per_connection=1,
    logins_per_host=4,
    waiting=100,
    wait_s=100,
    idle_s=1_000_000,
    age_s=1_000_000,
    refusal_pause_s=10,
)
ADA, BOB, EVE = (Account("host", 22, "load", who, 1) for who in ("ada", "bob", "eve"))
FIRST_PAUSE_S = 0.2
"""The longest pause after a first failure."""


@dataclass(eq=False)
class Connection:
    """A connection as the pool sees it. One that `hangs` does not close by itself."""

    account: Account
    on_lost: Callable[[], None]
    hangs: bool
    is_closed: bool = False
    is_aborted: bool = False

    def close(self) -> None:
        self.is_closed = True
        if not self.hangs:
            self.on_lost()

    async def wait_closed(self) -> None:
        await asyncio.sleep(3_600 if self.hangs else 0)

    def abort(self) -> None:
        self.is_aborted = True


@dataclass
class Servers:
    """Servers that let everybody log in at once, but for failures that they are told beforehand."""

    failures: list[BaseException | None] = field(default_factory=list)
    opened: list[Connection] = field(default_factory=list)
    logins_at_s: list[float] = field(default_factory=list)
    lose_at_once: bool = False
    hang: bool = False
    login_takes_s: float = 0.0

    async def login(self, account: Account, secrets: Callable[[], Secrets], on_lost: Callable[[], None]) -> Any:
        self.logins_at_s.append(asyncio.get_running_loop().time())
        secrets()
        await asyncio.sleep(self.login_takes_s)
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        self.opened.append(Connection(account, on_lost, self.hang))
        if self.lose_at_once:
            on_lost()
        return self.opened[-1]

    def whose_are_open(self) -> list[str]:
        return [one.account.credential for one in self.opened if not one.is_closed]


Claim = Callable[[Pool, Servers], Coroutine[None, None, None]]


def play(claim: Claim, **limits: Any) -> None:
    """Play a claim, and let the pool end: nothing of it is left then."""

    async def hold() -> None:
        servers = Servers()
        pool = Pool(replace(LIMITS, **limits), servers.login, METRICS(), asyncio.get_running_loop().time)
        await claim(pool, servers)
        await pool.close(0)
        assert (pool.connections, pool.sessions, pool.waiting, servers.whose_are_open()) == (0, 0, 0, [])

    run_at_once(hold())


def METRICS() -> PoolMetrics:  # noqa: N802 - each pool its own
    return PoolMetrics(CollectorRegistry())


def secrets() -> Secrets:
    return Secrets(b"", ())


def now_s() -> float:
    return asyncio.get_running_loop().time()


async def settle() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


async def session_of(pool: Pool, account: Account) -> Session:
    return await pool.acquire(account, secrets, pool.deadline_s())


def asked(pool: Pool, account: Account) -> "asyncio.Task[Session]":
    return asyncio.ensure_future(session_of(pool, account))


async def used(pool: Pool, account: Account) -> None:
    pool.release(await session_of(pool, account))


async def lost(pool: Pool, servers: Servers, account: Account) -> None:
    """Let a connection of a credential end before anything was done on it."""
    session = await session_of(pool, account)
    servers.opened[-1].is_closed = True
    servers.opened[-1].on_lost()
    pool.broken(session)


# Who makes room


def test_of_idle_connections_the_one_that_is_idle_for_longest_makes_room() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        ada, bob = await session_of(pool, ADA), await session_of(pool, BOB)
        pool.release(bob)
        await asyncio.sleep(5)
        pool.release(ada)
        await asyncio.sleep(5)
        await used(pool, EVE)
        assert servers.whose_are_open() == ["ada", "eve"]

    play(claim, connections=2)


def test_how_long_a_connection_is_idle_counts_from_its_last_session_and_not_from_its_login() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        await used(pool, ADA)
        await asyncio.sleep(5)
        await used(pool, BOB)
        await asyncio.sleep(5)
        await used(pool, ADA)
        await used(pool, EVE)
        assert servers.whose_are_open() == ["ada", "eve"]

    play(claim, connections=2)


def test_a_connection_to_another_host_makes_no_room_at_a_host_that_is_full() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        elsewhere = replace(EVE, host="elsewhere")
        await used(pool, elsewhere)
        await asyncio.sleep(5)
        await used(pool, ADA)
        await used(pool, BOB)
        assert servers.whose_are_open() == ["eve", "bob"]

    play(claim, connections_per_host=1)


def test_where_the_gateway_is_full_a_connection_to_any_host_makes_room() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        await used(pool, replace(EVE, host="elsewhere"))
        await used(pool, ADA)
        assert servers.whose_are_open() == ["ada"]

    play(claim, connections=1)


def test_one_connection_at_a_time_makes_room() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        servers.hang = True
        for account in (ADA, BOB):
            await used(pool, account)
        waiting = [asked(pool, EVE), asked(pool, replace(EVE, credential="zoe"))]
        await settle()
        assert servers.whose_are_open() == ["bob"]
        servers.hang = False
        for one in waiting:
            pool.release(await one)

    play(claim, connections=2, sessions_per_connection=1)


def test_of_credentials_that_are_busy_the_one_with_most_connections_gives_one_up() -> None:
    async def claim(pool: Pool, _servers: Servers) -> None:
        sessions = [await session_of(pool, who) for who in (BOB, BOB, ADA, ADA, ADA)]
        eve = asked(pool, EVE)
        await settle()
        assert [one.connection.is_draining for one in sessions] == [False, False, True, False, False]
        zoe = asked(pool, replace(EVE, credential="zoe"))
        await settle()
        assert sum(one.connection.is_draining for one in sessions) == 1
        for one in sessions:
            pool.release(one)
        pool.release(await eve)
        pool.release(await zoe)

    play(claim, connections=5, connections_per_host=5, connections_per_credential=3)


def test_credentials_with_one_connection_each_keep_it_while_they_use_it() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        sessions = [await session_of(pool, who) for who in (ADA, BOB)]
        eve = asked(pool, EVE)
        await settle()
        assert not any(one.connection.is_draining for one in sessions)
        assert servers.whose_are_open() == ["ada", "bob"]
        for one in sessions:
            pool.release(one)
        pool.release(await eve)

    play(claim, connections=2)


# Whose turn it is


def test_credentials_take_turns_however_many_requests_of_one_wait() -> None:
    async def claim(pool: Pool, _servers: Servers) -> None:
        order: list[str] = []

        async def request(account: Account) -> None:
            session = await session_of(pool, account)
            order.append(account.credential)
            await asyncio.sleep(1)
            pool.release(session)

        first = await session_of(pool, EVE)
        requests = [asyncio.ensure_future(request(who)) for who in (ADA, ADA, ADA, BOB, BOB)]
        await settle()
        pool.release(first)
        await asyncio.gather(*requests)
        assert order == ["ada", "bob", "ada", "bob", "ada"]

    play(claim, sessions=1)


def test_a_request_that_gives_up_leaves_its_place_to_the_next() -> None:
    async def claim(pool: Pool, _servers: Servers) -> None:
        session = await session_of(pool, ADA)
        waiting = [asked(pool, ADA) for _ in range(3)]
        await settle()
        waiting[0].cancel()
        await settle()
        assert pool.waiting == 2
        pool.release(session)
        pool.release(await waiting[1])
        pool.release(await waiting[2])
        assert (pool.sessions, pool.waiting) == (0, 0)

    play(claim, sessions=1)


def test_a_request_that_is_cancelled_as_it_gets_its_session_gives_it_back() -> None:
    async def claim(pool: Pool, _servers: Servers) -> None:
        session = await session_of(pool, ADA)
        waiting = asked(pool, ADA)
        await settle()
        pool.release(session)
        waiting.cancel()
        await settle()
        assert (pool.sessions, pool.waiting) == (0, 0)
        await used(pool, ADA)

    play(claim, sessions=1)


# Back-off that grows, and begins anew


def pauses_of(servers: Servers) -> list[float]:
    return [later - earlier for earlier, later in zip(servers.logins_at_s, servers.logins_at_s[1:], strict=False)]


def test_logins_that_a_host_drops_are_tried_again_after_pauses_that_grow_to_the_longest() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        servers.failures = [LoginError(LoginFailure.DROPPED, "full") for _ in range(12)]
        await used(pool, ADA)
        pauses = pauses_of(servers)
        assert len(pauses) == 12
        assert pauses[0] <= FIRST_PAUSE_S < 1.0 <= min(pauses[5:])
        assert max(pauses) <= LONGEST_PAUSE_S

    play(claim)


def test_the_pauses_of_a_host_begin_anew_once_a_login_has_come_about() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        servers.failures = [LoginError(LoginFailure.DROPPED, "full") for _ in range(8)]
        ada = await session_of(pool, ADA)
        servers.failures = [LoginError(LoginFailure.DROPPED, "full")]
        await used(pool, BOB)
        assert pauses_of(servers)[-1] <= FIRST_PAUSE_S
        pool.release(ada)

    play(claim)


def test_a_host_that_drops_logins_delays_no_other_host() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        servers.failures = [LoginError(LoginFailure.DROPPED, "full")]
        ada = asked(pool, ADA)
        await settle()
        bob = asked(pool, replace(BOB, host="elsewhere"))
        await settle()
        assert (ada.done(), bob.done()) == (False, True)
        for one in (ada, bob):
            pool.release(await one)

    play(claim)


def test_a_host_that_drops_a_login_delays_the_logins_of_all_its_users() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        servers.failures = [LoginError(LoginFailure.DROPPED, "full")]
        waiting = [asked(pool, ADA)]
        await settle()
        waiting.append(asked(pool, BOB))
        await settle()
        assert (len(servers.logins_at_s), [one.done() for one in waiting]) == (1, [False, False])
        for one in waiting:
            pool.release(await one)

    play(claim)


def test_the_pauses_after_connections_on_which_nothing_was_done_grow_and_begin_anew_once_one_has_served() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        for _ in range(8):
            await lost(pool, servers, ADA)
        assert max(pauses_of(servers)) >= 1.0
        await used(pool, ADA)
        pool.broken(await session_of(pool, ADA))  # it served before: no reason to wait
        await settle()
        await lost(pool, servers, ADA)
        await used(pool, ADA)
        assert pauses_of(servers)[-1] <= FIRST_PAUSE_S

    play(claim)


def test_what_was_done_on_one_connection_lets_the_next_be_opened_at_once() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        served = await session_of(pool, ADA)
        await lost(pool, servers, ADA)
        waiting = asked(pool, ADA)
        await settle()
        assert not waiting.done()
        pool.release(served)
        pool.broken(await waiting)
        again = asked(pool, ADA)
        await settle()
        assert again.done()
        pool.release(await again)

    play(claim)


def test_a_login_that_was_refused_is_tried_again_after_its_pause_and_not_before() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        servers.failures = [LoginError(LoginFailure.AUTHENTICATION, "no")]
        began_s = now_s()
        with pytest.raises(LoginError):
            await session_of(pool, ADA)
        await asyncio.sleep(9)
        with pytest.raises(LoginError):
            await session_of(pool, ADA)
        await asyncio.sleep(2)
        await used(pool, ADA)
        assert [at_s - began_s for at_s in servers.logins_at_s] == [0, 11]

    play(claim)


def test_a_login_that_came_about_is_no_failure_any_more() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        servers.failures = [LoginError(LoginFailure.DROPPED, "the server is full")]
        session = await session_of(pool, ADA)
        with pytest.raises(BusyError, match=r"^no session became free within 100 s$"):
            await session_of(pool, ADA)
        pool.release(session)

    play(claim, sessions=1)


def test_a_wait_in_vain_is_told_with_what_the_last_login_failed_of() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        servers.failures = [LoginError(LoginFailure.DROPPED, "the server is full") for _ in range(10_000)]
        with pytest.raises(BusyError, match=r"^no session became free within 100 s: the server is full$") as busy:
            await session_of(pool, ADA)
        assert busy.value.retry_after_s == 100

    play(claim)


def test_a_connection_that_ended_as_its_login_was_done_is_not_used_and_counts_as_one_that_served_nothing() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        servers.lose_at_once = True
        waiting = asked(pool, ADA)
        await settle()
        assert (len(servers.opened), pool.connections, pool.sessions) == (1, 0, 0)
        servers.opened[0].is_closed, servers.lose_at_once = True, False
        pool.release(await waiting)
        assert 0 < pauses_of(servers)[0] <= FIRST_PAUSE_S

    play(claim)


@pytest.mark.parametrize("failure", [LoginError(LoginFailure.UNREACHABLE, "no route"), RuntimeError("a bug")])
def test_whatever_a_login_ends_with_it_is_counted_no_more_and_the_next_may_begin(failure: Exception) -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        for _ in range(LIMITS.connections + 1):
            servers.failures = [failure]
            with pytest.raises(LoginError):
                await session_of(pool, ADA)
            assert (pool.connections, pool.sessions, pool.waiting) == (0, 0, 0)
        await used(pool, ADA)

    play(claim)


# What is given back and forgotten


def test_a_connection_that_hangs_as_it_is_closed_is_aborted_and_counted_no_more() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        servers.hang = True
        await used(pool, ADA)
        pool.supersede("ada")
        servers.hang = False
        assert pool.connections == 1
        await asyncio.sleep(10)
        assert (pool.connections, servers.opened[0].is_aborted) == (0, True)

    play(claim)


def test_a_connection_that_is_being_closed_counts_for_its_credential_until_it_has_gone() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        servers.hang = True
        pool.broken(await session_of(pool, ADA))
        servers.hang = False
        waiting = asked(pool, ADA)
        await settle()
        assert len(servers.opened) == 1
        pool.release(await waiting)

    play(claim, connections_per_credential=1)


def test_what_is_idle_for_long_or_too_old_is_closed_and_the_rest_stays() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        busy = await session_of(pool, ADA)
        await used(pool, BOB)
        await asyncio.sleep(40)
        await used(pool, EVE)
        await asyncio.sleep(40)
        assert servers.whose_are_open() == ["ada", "eve"]
        await asyncio.sleep(40)
        assert (servers.whose_are_open(), busy.connection.is_draining) == (["ada"], True)
        pool.release(busy)
        await settle()
        assert servers.whose_are_open() == []

    play(claim, idle_s=60, age_s=100)


def test_a_credential_that_nobody_uses_is_forgotten_with_its_secrets_and_so_is_its_host() -> None:
    async def claim(pool: Pool, _servers: Servers) -> None:
        await used(pool, ADA)
        assert (list(pool._secrets), len(pool._hosts)) == ([ADA], 1)
        await asyncio.sleep(20)
        assert (pool._lanes, pool._secrets, pool._hosts, pool._waiting) == ({}, {}, {}, {})

    play(claim, idle_s=5)


def test_a_host_that_drops_logins_is_remembered_until_its_pause_is_long_over() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        servers.failures = [LoginError(LoginFailure.DROPPED, "full") for _ in range(3)]
        waiting = asked(pool, ADA)
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.sleep(1)
        assert len(pool._hosts) == 1
        await asyncio.sleep(60)
        assert (pool._hosts, pool._lanes, pool._secrets) == ({}, {}, {})

    play(claim)


def test_tasks_of_connections_that_have_gone_are_forgotten() -> None:
    async def claim(pool: Pool, _servers: Servers) -> None:
        for _ in range(3):
            pool.broken(await session_of(pool, ADA))
            await asyncio.sleep(5)
        assert (pool._tasks, pool._logins) == (set(), set())

    play(claim)


# One version follows another


def test_what_an_older_version_asks_for_and_a_newer_one_has_are_kept_apart() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        await used(pool, BOB)
        old = await session_of(pool, ADA)
        await used(pool, replace(ADA, version=2))
        with pytest.raises(SupersededError):
            await session_of(pool, ADA)
        pool.release(old)
        await settle()
        assert [(one.account.version, one.is_closed) for one in servers.opened] == [(1, False), (1, True), (2, False)]
        assert set(pool._lanes) == {BOB, replace(ADA, version=2)}

    play(claim)


def test_only_the_versions_before_one_are_superseded_and_of_that_credential() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        for account in (ADA, BOB):
            await used(pool, account)
        pool.supersede("ada", before_version=1)
        await settle()
        assert servers.whose_are_open() == ["ada", "bob"]
        pool.supersede("ada", before_version=2)
        await settle()
        assert servers.whose_are_open() == ["bob"]

    play(claim)


# The end


def test_a_gateway_that_ends_waits_for_sessions_that_are_given_back_in_time() -> None:
    async def hold() -> tuple[float, list[str]]:
        servers = Servers()
        pool = Pool(LIMITS, servers.login, METRICS(), asyncio.get_running_loop().time)
        sessions = [await session_of(pool, who) for who in (ADA, BOB)]
        began_s = now_s()
        closing = asyncio.ensure_future(pool.close(60))
        await settle()
        with pytest.raises(BusyError, match="shutting down"):
            await session_of(pool, EVE)
        pool.release(sessions[0])
        await asyncio.sleep(20)
        assert not closing.done()
        pool.release(sessions[1])
        await closing
        return now_s() - began_s, servers.whose_are_open()

    assert run_at_once(hold()) == (20, [])


def test_a_gateway_that_ends_closes_connections_whose_sessions_are_not_given_back() -> None:
    async def hold() -> tuple[float, list[str]]:
        servers = Servers()
        pool = Pool(LIMITS, servers.login, METRICS(), asyncio.get_running_loop().time)
        await session_of(pool, ADA)
        began_s = now_s()
        await pool.close(60)
        return now_s() - began_s, servers.whose_are_open()

    assert run_at_once(hold()) == (60, [])


def test_a_login_that_is_done_after_the_credential_was_replaced_is_closed() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        servers.login_takes_s = 5
        waiting = asked(pool, ADA)
        await settle()
        pool.supersede("ada")
        with pytest.raises(SupersededError):
            await waiting
        await asyncio.sleep(10)
        assert ([one.is_closed for one in servers.opened], pool.connections) == ([True], 0)

    play(claim)


# At once, and not when the pool next looks around


def test_what_is_given_back_goes_to_one_who_waits_at_once() -> None:
    async def claim(pool: Pool, _servers: Servers) -> None:
        for give_back in (pool.release, pool.broken, pool.refused):
            session = await session_of(pool, ADA)
            waiting = asked(pool, BOB)
            await settle()
            assert not waiting.done()
            give_back(session)
            await settle()
            assert waiting.done()
            pool.release(await waiting)

    play(claim, sessions=1)


def test_a_session_that_is_given_back_as_its_request_goes_is_the_next_ones_at_once() -> None:
    async def claim(pool: Pool, _servers: Servers) -> None:
        session = await session_of(pool, ADA)
        going, next_one = asked(pool, ADA), asked(pool, ADA)
        await settle()
        pool.release(session)
        going.cancel()
        await settle()
        assert next_one.done()
        pool.release(await next_one)

    play(claim, sessions=1)


def test_as_many_as_a_new_connection_has_room_for_are_served_at_once() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        servers.login_takes_s = 0.3
        waiting = [asked(pool, ADA) for _ in range(4)]
        await asyncio.sleep(0.3)
        await settle()
        assert [one.done() for one in waiting] == [True] * 4
        for one in waiting:
            pool.release(await one)

    play(claim, sessions_per_connection=4, connections_per_credential=1)


def test_a_request_beside_a_refused_login_is_served_just_when_the_pause_is_over() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        first = await session_of(pool, ADA)
        await asyncio.sleep(0.5)
        servers.failures = [LoginError(LoginFailure.AUTHENTICATION, "no")]
        second = await session_of(pool, ADA)
        assert second.wait_s == 10
        pool.release(first)
        pool.release(second)

    play(claim)


def test_a_request_beside_a_login_that_failed_waits_for_the_longest_pause() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        first = await session_of(pool, ADA)
        await asyncio.sleep(0.5)
        servers.failures = [LoginError(LoginFailure.UNREACHABLE, "no route")]
        second = await session_of(pool, ADA)
        assert second.wait_s == LONGEST_PAUSE_S
        pool.release(first)
        pool.release(second)

    play(claim)


def test_a_refused_login_may_be_tried_again_when_its_pause_is_over_to_the_moment() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        servers.failures = [LoginError(LoginFailure.HOST_KEY, "another server")]
        with pytest.raises(LoginError):
            await session_of(pool, ADA)
        await asyncio.sleep(10)
        await used(pool, ADA)

    play(claim)


def test_a_request_whose_time_is_over_to_the_moment_is_busy() -> None:
    async def claim(pool: Pool, _servers: Servers) -> None:
        await used(pool, ADA)
        with pytest.raises(BusyError):
            await pool.acquire(ADA, secrets, now_s())

    play(claim)


# Limits that hold for each


def test_a_host_that_is_full_gets_no_connection_more_however_many_users_wait() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        sessions = [await session_of(pool, who) for who in (ADA, BOB)]
        waiting = [asked(pool, EVE), asked(pool, replace(EVE, credential="zoe"))]
        await asyncio.sleep(5)
        assert (pool.connections, len(servers.opened)) == (2, 2)
        for one in sessions:
            pool.release(one)
        for one in waiting:
            pool.release(await one)
        assert pool.connections <= 2

    play(claim, connections_per_host=2)


def test_after_many_logins_as_few_as_before_are_under_way_at_once() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        for _ in range(3):
            pool.broken(await session_of(pool, ADA))
            servers.failures = [LoginError(LoginFailure.UNREACHABLE, "no route")]
            with pytest.raises(LoginError):
                await session_of(pool, BOB)
        await asyncio.sleep(5)
        before, servers.login_takes_s = len(servers.logins_at_s), 1
        waiting = [asked(pool, who) for who in (ADA, BOB, EVE)]
        await settle()
        assert len(servers.logins_at_s) == before + 1
        for one in waiting:
            pool.release(await one)

    play(claim, logins_per_host=1)


def test_no_more_requests_wait_than_may_and_they_are_told_so() -> None:
    async def claim(pool: Pool, _servers: Servers) -> None:
        session = await session_of(pool, ADA)
        waiting = [asked(pool, who) for who in (ADA, BOB)]
        await settle()
        with pytest.raises(BusyError, match=r"^2 requests wait for a session already$") as busy:
            await session_of(pool, EVE)
        assert busy.value.retry_after_s == 3
        pool.release(session)
        for one in waiting:
            pool.release(await one)

    play(claim, sessions=1, waiting=2, wait_s=2.5)


def test_a_connection_that_is_not_to_be_trusted_gets_no_session_more_though_it_has_others() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        first, second = [await session_of(pool, ADA) for _ in range(2)]
        assert first.connection is second.connection
        pool.broken(second)
        third = await session_of(pool, ADA)
        assert third.connection is not first.connection
        pool.release(first)
        await settle()
        assert [one.is_closed for one in servers.opened] == [True, False]
        pool.release(third)

    play(claim, sessions_per_connection=3)


def test_a_session_that_is_refused_because_its_connection_is_lost_may_be_tried_elsewhere() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        session = await session_of(pool, ADA)
        servers.opened[0].is_closed = True
        servers.opened[0].on_lost()
        assert pool.refused(session)
        await used(pool, ADA)

    play(claim)


# What is known of it


def test_a_session_says_how_long_it_was_waited_for_and_has_its_connection() -> None:
    async def claim(pool: Pool, servers: Servers) -> None:
        servers.login_takes_s = 3
        session = await session_of(pool, ADA)
        assert (session.wait_s, session.ssh) == (3, servers.opened[0])
        pool.release(session)

    play(claim)


def test_what_the_pool_did_is_counted() -> None:
    async def hold() -> dict[str, float]:
        servers, registry = Servers(), CollectorRegistry()
        pool = Pool(replace(LIMITS, wait_s=5), servers.login, PoolMetrics(registry), asyncio.get_running_loop().time)
        servers.failures = [None, None, LoginError(LoginFailure.AUTHENTICATION, "no")]
        servers.login_takes_s = 2
        ada, bob = await session_of(pool, ADA), await session_of(pool, BOB)
        pool.refused(ada)
        servers.opened[1].is_closed = True
        servers.opened[1].on_lost()
        pool.broken(bob)
        with pytest.raises(LoginError):
            await session_of(pool, EVE)
        with pytest.raises(BusyError):
            await pool.acquire(ADA, secrets, now_s())
        await pool.close(0)
        return {
            f"{sample.name} {' '.join(sample.labels.values())}".strip(): sample.value
            for family in registry.collect()
            for sample in family.samples
            if not sample.name.endswith(("_created", "_bucket")) and sample.value
        }

    counted = run_at_once(hold())
    assert {name.removeprefix("sshload_gateway_"): value for name, value in counted.items()} == {
        "logins_total ok": 2,
        "logins_total authentication": 1,
        "login_seconds_count": 2,
        "login_seconds_sum": 4,
        "wait_seconds_count": 2,
        "wait_seconds_sum": 4,
        "waits_given_up_total": 1,
        "refused_sessions_total": 1,
        "connections_closed_total lost": 1,
        "connections_closed_total shutdown": 1,
    }


# Nothing is left


def test_who_gives_up_is_forgotten_with_its_secrets_at_once_and_so_is_who_is_superseded() -> None:
    async def claim(pool: Pool, _servers: Servers) -> None:
        session = await session_of(pool, BOB)
        waiting = [asked(pool, ADA), asked(pool, EVE)]
        await settle()
        assert set(pool._secrets) == {ADA, BOB, EVE}
        waiting[0].cancel()
        pool.supersede("eve")
        await settle()
        assert set(pool._secrets) == set(pool._lanes) == {BOB}
        with pytest.raises(SupersededError):
            await waiting[1]
        pool.release(session)

    play(claim, sessions=1)


def test_a_gateway_that_ends_closes_idle_connections_at_once_and_looks_around_no_more() -> None:
    async def hold() -> None:
        said: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
        servers = Servers()
        pool = Pool(LIMITS, servers.login, METRICS(), asyncio.get_running_loop().time)
        session = await session_of(pool, ADA)
        await used(pool, BOB)
        servers.login_takes_s = 1_000
        waiting = asked(pool, EVE)
        await settle()
        closing = asyncio.ensure_future(pool.close(60))
        await settle()
        assert (servers.whose_are_open(), session.connection.is_draining) == (["ada"], True)
        with pytest.raises(BusyError) as busy:
            await waiting
        assert busy.value.retry_after_s == 1
        pool.release(session)
        await closing
        await settle()
        assert [lane.opening for lane in pool._lanes.values()] in ([], [0])
        assert (pool._logins, pool._tasks) == (set(), set())
        assert pool._sweeper is not None
        assert pool._sweeper.done()
        del waiting, closing
        gc.collect()
        assert said == []

    run_at_once(hold())


def test_a_request_whose_credential_was_taken_away_takes_nothing_from_one_of_the_same_that_came_after() -> None:
    """As where a request has looked the credential up just before that is deleted, and asks for its session after."""

    async def claim(pool: Pool, _: Servers) -> None:
        held = await pool.acquire(BOB, secrets, pool.deadline_s())
        first = asyncio.create_task(pool.acquire(ADA, secrets, pool.deadline_s()))
        await asyncio.sleep(0)
        pool.supersede(ADA.credential)
        asyncio.get_running_loop().call_later(1, pool.release, held)
        session = await pool.acquire(ADA, secrets, pool.deadline_s())
        pool.release(session)
        with pytest.raises(SupersededError):
            await first

    play(claim, sessions=1)
