import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from sshload_contract.gateway_policy import PolicyName
from sshload_gateway.metrics import PoolMetrics
from sshload_gateway.ssh.failures import BusyError, LoginError, LoginFailure, SupersededError
from sshload_gateway.ssh.login import Account, Secrets
from sshload_gateway.ssh.pauses import LONGEST_PAUSE_S
from sshload_gateway.ssh.policy import Limits
from sshload_gateway.ssh.pool import Pool

LIMITS = Limits(
    policy=PolicyName.POOL,
    connections=4,
    connections_per_host=3,
    connections_per_credential=2,
    sessions=6,
    sessions_per_connection=2,
    logins_per_host=2,
    waiting=100,
    wait_s=100,
    idle_s=1_000,
    age_s=1_000,
    refusal_pause_s=10,
)
ADA = Account("host", 22, "load", "ada", 1)
BOB = Account("host", 22, "load", "bob", 1)


@dataclass(eq=False)
class _Connection:
    """A connection as the pool sees it."""

    on_lost: Callable[[], None]
    is_closed: bool = False

    def close(self) -> None:
        self.is_closed = True
        asyncio.get_running_loop().call_soon(self.on_lost)

    def lose(self) -> None:
        """End as where the server hangs up."""
        self.is_closed = True
        self.on_lost()

    async def wait_closed(self) -> None:
        await asyncio.sleep(0)

    def abort(self) -> None:
        raise AssertionError("a connection that closes is not aborted")


@dataclass
class _Servers:
    """Servers that let the pool log in, or fail as they are told, and count."""

    failures: list[LoginFailure | None] = field(default_factory=list)
    opened: list[_Connection] = field(default_factory=list)
    logins: Counter[str] = field(default_factory=Counter)
    most_logins: int = 0
    held: asyncio.Event = field(default_factory=asyncio.Event)

    async def login(self, account: Account, secrets: Callable[[], Secrets], on_lost: Callable[[], None]) -> Any:
        secrets()
        self.logins[account.host] += 1
        self.most_logins = max(self.most_logins, self.logins[account.host])
        await self.held.wait()
        self.logins[account.host] -= 1
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise LoginError(failure, "as told")
        self.opened.append(_Connection(on_lost))
        return self.opened[-1]

    @property
    def open_ones(self) -> int:
        return sum(not one.is_closed for one in self.opened)


def _secrets() -> Secrets:
    return Secrets(b"", ())


def _play(
    claim: Callable[[Pool, _Servers], Coroutine[None, None, None]],
    limits: Limits = LIMITS,
    *,
    is_held: bool = False,
    clock: Callable[[], float] | None = None,
) -> None:
    async def hold() -> None:
        servers = _Servers()
        if not is_held:
            servers.held.set()
        time = clock or asyncio.get_running_loop().time
        pool = Pool(limits, servers.login, PoolMetrics(CollectorRegistry()), time)
        await claim(pool, servers)
        servers.held.set()
        await pool.close(0)
        assert (pool.connections, servers.open_ones) == (0, 0)

    asyncio.run(hold())


async def _settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def _sweep(pool: Pool) -> None:
    """Let a pool that sweeps each millisecond close what is idle, and forget what it needs no more."""
    while pool.connections:  # noqa: ASYNC110 - the pool tells nobody of a sweep
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.02)


def test_a_connection_that_has_room_is_used_before_another_is_opened() -> None:
    async def claim(pool: Pool, servers: _Servers) -> None:
        first = await pool.acquire(ADA, _secrets, pool.deadline_s())
        second = await pool.acquire(ADA, _secrets, pool.deadline_s())
        third = await pool.acquire(ADA, _secrets, pool.deadline_s())
        assert first.connection is second.connection is not third.connection
        assert [one.is_new for one in (first, second, third)] == [True, False, True]
        for session in (first, second, third):
            pool.release(session)
        assert len(servers.opened) == 2

    _play(claim)


def test_the_end_of_the_gateway_waits_for_no_login() -> None:
    async def hold() -> None:
        servers = _Servers()  # whose logins never end
        pool = Pool(LIMITS, servers.login, PoolMetrics(CollectorRegistry()), asyncio.get_running_loop().time)
        waiting = asyncio.ensure_future(pool.acquire(ADA, _secrets, pool.deadline_s()))
        await _settle()
        assert servers.logins["host"] == 1
        closing = asyncio.ensure_future(pool.close(0))
        await _settle()
        assert closing.done()
        assert pool.connections == 0
        with pytest.raises(BusyError, match="shutting down"):
            await waiting

    asyncio.run(hold())


def test_no_connection_is_opened_for_sessions_that_may_not_be() -> None:
    async def claim(pool: Pool, servers: _Servers) -> None:
        first = await pool.acquire(ADA, _secrets, pool.deadline_s())
        wait = asyncio.ensure_future(pool.acquire(BOB, _secrets, pool.deadline_s()))
        await _settle()
        assert len(servers.opened) == 1
        pool.release(first)
        pool.release(await wait)

    _play(claim, replace(LIMITS, sessions=1))


def test_callers_never_share_a_connection() -> None:
    async def claim(pool: Pool, _servers: _Servers) -> None:
        ada = await pool.acquire(ADA, _secrets, pool.deadline_s())
        bob = await pool.acquire(BOB, _secrets, pool.deadline_s())
        assert ada.connection is not bob.connection
        pool.release(ada)
        pool.release(bob)

    _play(claim)


def test_a_refused_session_leaves_the_connection_as_many_as_it_has() -> None:
    async def claim(pool: Pool, servers: _Servers) -> None:
        first = await pool.acquire(ADA, _secrets, pool.deadline_s())
        second = await pool.acquire(ADA, _secrets, pool.deadline_s())
        assert pool.refused(second)
        third = await pool.acquire(ADA, _secrets, pool.deadline_s())
        assert third.connection is not first.connection
        bob = [await pool.acquire(BOB, _secrets, pool.deadline_s()) for _ in range(1)]
        assert bob[0].connection.session_limit == 1
        for session in (first, third, *bob):
            pool.release(session)
        assert len(servers.opened) == 3

    _play(claim)


def test_unlimited_sessions_of_one_connection_are_opened_at_once_and_none_that_is_refused_is_tried_elsewhere() -> None:
    async def claim(pool: Pool, servers: _Servers) -> None:
        sessions = [await pool.acquire(ADA, _secrets, pool.deadline_s()) for _ in range(LIMITS.sessions)]
        assert not pool.refused(sessions.pop())
        sessions.append(await pool.acquire(ADA, _secrets, pool.deadline_s()))
        for session in sessions:
            pool.release(session)
        assert len(servers.opened) == 1

    _play(claim, replace(LIMITS, policy=PolicyName.CONNECTION_PER_USER_UNLIMITED))


def test_a_server_that_opens_no_session_is_not_tried_again() -> None:
    async def claim(pool: Pool, _servers: _Servers) -> None:
        session = await pool.acquire(ADA, _secrets, pool.deadline_s())
        assert not pool.refused(session)

    _play(claim)


def test_a_server_that_opens_no_session_is_logged_in_to_once_where_each_request_logs_in() -> None:
    async def claim(pool: Pool, servers: _Servers) -> None:
        session = await pool.acquire(ADA, _secrets, pool.deadline_s())
        assert not pool.refused(session)
        assert len(servers.opened) == 1

    _play(claim, replace(LIMITS, policy=PolicyName.LOGIN_PER_REQUEST))


def test_a_connection_that_has_served_and_opens_no_session_any_more_is_replaced_the_second_time() -> None:
    async def claim(pool: Pool, servers: _Servers) -> None:
        for _ in range(2):  # what it serves in between makes the next refusal the first one again
            pool.release(await pool.acquire(ADA, _secrets, pool.deadline_s()))
            assert pool.refused(await pool.acquire(ADA, _secrets, pool.deadline_s()))
        assert pool.refused(await pool.acquire(ADA, _secrets, pool.deadline_s()))
        another = await pool.acquire(ADA, _secrets, pool.deadline_s())
        assert [one.is_closed for one in servers.opened] == [True, False]
        pool.release(another)

    _play(claim)


def test_a_server_that_opens_no_session_says_nothing_of_how_many_it_allows_to_others() -> None:
    async def claim(pool: Pool, _servers: _Servers) -> None:
        pool.refused(await pool.acquire(ADA, _secrets, pool.deadline_s()))
        bob = await pool.acquire(BOB, _secrets, pool.deadline_s())
        assert bob.connection.session_limit == LIMITS.sessions_per_connection
        pool.release(bob)

    _play(claim)


def test_how_many_sessions_a_host_allows_is_remembered_when_its_last_connection_has_gone() -> None:
    async def claim(pool: Pool, servers: _Servers) -> None:
        first, second = [await pool.acquire(ADA, _secrets, pool.deadline_s()) for _ in range(2)]
        pool.refused(second)
        pool.release(first)
        now_s[0] += LONGEST_PAUSE_S  # the sweep has nothing else to remember of the host then
        await _sweep(pool)
        bob = await pool.acquire(BOB, _secrets, pool.deadline_s())
        assert (len(servers.opened), bob.connection.session_limit) == (2, 1)
        pool.release(bob)

    now_s = [0.0]
    _play(claim, replace(LIMITS, idle_s=0.002), clock=lambda: now_s[0])


def test_a_new_version_lets_old_connections_end_with_their_sessions() -> None:
    async def claim(pool: Pool, servers: _Servers) -> None:
        old = await pool.acquire(ADA, _secrets, pool.deadline_s())
        new = await pool.acquire(replace(ADA, version=2), _secrets, pool.deadline_s())
        await _settle()
        assert [one.is_closed for one in servers.opened] == [False, False]
        pool.release(old)
        pool.release(new)
        await _settle()
        assert [one.is_closed for one in servers.opened] == [True, False]
        with pytest.raises(SupersededError):
            await pool.acquire(ADA, _secrets, pool.deadline_s())

    _play(claim)


def test_a_deleted_credential_fails_those_that_wait_and_closes_what_is_opened_for_them() -> None:
    async def claim(pool: Pool, servers: _Servers) -> None:
        waits = [asyncio.ensure_future(pool.acquire(ADA, _secrets, pool.deadline_s())) for _ in range(3)]
        await _settle()
        pool.supersede("ada")
        for wait in waits:
            with pytest.raises(SupersededError):
                await wait
        servers.held.set()
        await _settle()
        assert (servers.open_ones, pool.connections) == (0, 0)

    _play(claim, is_held=True)


def test_an_idle_connection_of_another_makes_room() -> None:
    async def claim(pool: Pool, servers: _Servers) -> None:
        pool.release(await pool.acquire(ADA, _secrets, pool.deadline_s()))
        bob = await pool.acquire(BOB, _secrets, pool.deadline_s())
        assert [one.is_closed for one in servers.opened] == [True, False]
        pool.release(bob)

    _play(claim, replace(LIMITS, connections=1))


def test_a_credential_with_several_connections_gives_one_to_another() -> None:
    async def claim(pool: Pool, _servers: _Servers) -> None:
        ada = [await pool.acquire(ADA, _secrets, pool.deadline_s()) for _ in range(4)]
        bob = asyncio.ensure_future(pool.acquire(BOB, _secrets, pool.deadline_s()))
        await _settle()
        again = asyncio.ensure_future(pool.acquire(ADA, _secrets, pool.deadline_s()))
        for session in ada:
            pool.release(session)
        await _settle()
        pool.release(await bob)
        pool.release(await again)

    _play(claim, replace(LIMITS, connections=2))


def test_too_many_requests_that_wait_and_waits_that_are_too_long_are_busy() -> None:
    async def claim(pool: Pool, _servers: _Servers) -> None:
        wait = asyncio.ensure_future(pool.acquire(ADA, _secrets, pool.deadline_s()))
        await _settle()
        with pytest.raises(BusyError) as busy:
            await pool.acquire(ADA, _secrets, pool.deadline_s())
        assert busy.value.retry_after_s == 1
        with pytest.raises(BusyError, match=r"within 0\.01 s: a login to host port 22 is not done"):
            await wait
        assert pool.waiting == 0

    _play(claim, replace(LIMITS, waiting=1, wait_s=0.01), is_held=True)


def test_a_refused_login_is_not_tried_again_at_once() -> None:
    async def claim(pool: Pool, servers: _Servers) -> None:
        servers.failures = [LoginFailure.AUTHENTICATION]
        for _ in range(3):
            with pytest.raises(LoginError):
                await pool.acquire(ADA, _secrets, pool.deadline_s())
        assert servers.failures == []
        assert servers.opened == []

    _play(claim)


def test_a_refusal_that_is_told_again_and_again_keeps_no_requests_in_memory() -> None:
    async def claim(pool: Pool, servers: _Servers) -> None:
        servers.failures = [LoginFailure.AUTHENTICATION]
        frames = []
        for _ in range(4):
            with pytest.raises(LoginError) as refusal:
                await pool.acquire(ADA, _secrets, pool.deadline_s())
            frames.append(len(refusal.traceback))
        assert len(set(frames[1:])) == 1

    _play(claim)


def test_a_refused_login_beside_an_open_connection_is_not_tried_again_and_delays_no_other_credential() -> None:
    async def claim(pool: Pool, servers: _Servers) -> None:
        sessions = [await pool.acquire(ADA, _secrets, pool.deadline_s()) for _ in range(2)]
        servers.failures = [LoginFailure.AUTHENTICATION, None]
        wait = asyncio.ensure_future(pool.acquire(ADA, _secrets, pool.deadline_s()))
        await _settle()
        bob = asyncio.ensure_future(pool.acquire(BOB, _secrets, pool.deadline_s()))
        await _settle()
        assert bob.done()
        assert servers.failures == []
        assert not wait.done()
        for session in (*sessions, await bob):
            pool.release(session)
        pool.release(await wait)

    _play(claim)


@pytest.mark.parametrize("spellings", [("a.example.com", "A.example.com."), ("10.0.0.1", "10.1", "::ffff:10.0.0.1")])
def test_spellings_of_a_host_share_its_limits(spellings: tuple[str, ...]) -> None:
    async def claim(pool: Pool, servers: _Servers) -> None:
        async def request(host: str, who: str) -> None:
            account = Account(host, 22, "load", f"{who}@{host}", 1)
            pool.release(await pool.acquire(account, _secrets, pool.deadline_s()))

        requests = [asyncio.ensure_future(request(host, who)) for host in spellings for who in ("ada", "bob")]
        await _settle()
        assert servers.logins.total() == LIMITS.logins_per_host
        servers.held.set()
        await asyncio.gather(*requests)

    _play(claim, is_held=True)


def test_a_dropped_login_is_tried_again() -> None:
    async def claim(pool: Pool, servers: _Servers) -> None:
        servers.failures = [LoginFailure.DROPPED, LoginFailure.DROPPED]
        pool.release(await pool.acquire(ADA, _secrets, pool.deadline_s()))
        assert servers.failures == []

    _play(claim)


def test_connections_that_end_before_they_served_are_not_replaced_at_once_and_delay_no_other_credential() -> None:
    async def claim(pool: Pool, servers: _Servers) -> None:
        ada = await pool.acquire(ADA, _secrets, pool.deadline_s())
        servers.opened[0].lose()
        pool.refused(ada)
        wait = asyncio.ensure_future(pool.acquire(ADA, _secrets, pool.deadline_s()))
        bob = await pool.acquire(BOB, _secrets, pool.deadline_s())
        await _settle()
        assert not wait.done()
        assert len(servers.opened) == 2
        pool.release(bob)
        pool.release(await wait)

    _play(claim)


def test_a_connection_that_ends_with_a_session_that_was_served_is_replaced_at_once() -> None:
    async def claim(pool: Pool, servers: _Servers) -> None:
        ada = await pool.acquire(ADA, _secrets, pool.deadline_s())
        servers.opened[0].lose()
        pool.release(ada)
        again = asyncio.ensure_future(pool.acquire(ADA, _secrets, pool.deadline_s()))
        await _settle()
        assert again.done()
        pool.release(await again)

    _play(claim)


def test_a_wait_that_begins_too_late_is_busy_although_a_session_is_free() -> None:
    async def claim(pool: Pool, _servers: _Servers) -> None:
        pool.release(await pool.acquire(ADA, _secrets, pool.deadline_s()))
        with pytest.raises(BusyError):
            await pool.acquire(ADA, _secrets, asyncio.get_running_loop().time())

    _play(claim)


@pytest.mark.parametrize(
    ("policy", "connections", "logins"),
    [
        (PolicyName.LOGIN_PER_REQUEST, 2, 5),
        (PolicyName.CONNECTION_PER_USER, 1, 1),
        (PolicyName.CONNECTION_PER_USER_UNLIMITED, 1, 1),
        (PolicyName.POOL, 2, 2),
    ],
)
def test_a_policy_says_how_requests_share_connections(policy: PolicyName, connections: int, logins: int) -> None:
    async def claim(pool: Pool, servers: _Servers) -> None:
        most = 0

        async def request() -> None:
            nonlocal most
            session = await pool.acquire(ADA, _secrets, pool.deadline_s())
            most = max(most, pool.connections)
            await asyncio.sleep(0)
            pool.release(session)

        await asyncio.gather(*(request() for _ in range(5)))
        assert (most, len(servers.opened)) == (connections, logins)

    _play(claim, replace(LIMITS, policy=policy))


_REQUESTS = st.tuples(
    st.sampled_from(["ada", "bob", "eve"]),
    st.sampled_from(["one", "two"]),
    st.integers(0, 3),
    st.sampled_from(["release", "refused", "broken", "lost", "cancel"]),
)
_FAILURES = st.lists(st.sampled_from([None, None, LoginFailure.UNREACHABLE, LoginFailure.HOST_KEY]), max_size=6)


@settings(max_examples=60)
@given(st.lists(_REQUESTS, max_size=25), _FAILURES, st.sampled_from(list(PolicyName)))
def test_limits_hold_and_every_request_ends(
    requests: list[tuple[str, str, int, str]], failures: list[LoginFailure | None], policy: PolicyName
) -> None:
    async def claim(pool: Pool, servers: _Servers) -> None:
        servers.failures = list(failures)

        async def request(who: str, host: str, turns: int, end: str) -> None:
            account = Account(host, 22, "load", f"{who}@{host}", 1)
            session = await pool.acquire(account, _secrets, pool.deadline_s())
            assert pool.connections <= LIMITS.connections
            assert pool.sessions <= LIMITS.sessions
            assert session.connection.sessions <= replace(LIMITS, policy=policy).sessions_of_one
            for _ in range(turns):
                await asyncio.sleep(0)
            if end == "lost":
                session.connection.ssh.close()
                await _settle()
            {"refused": pool.refused, "broken": pool.broken}.get(end, pool.release)(session)

        tasks = [asyncio.ensure_future(request(*one)) for one in requests]
        await asyncio.sleep(0)
        for task, (*_, end) in zip(tasks, requests, strict=True):
            if end == "cancel":
                task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            assert outcome is None or isinstance(outcome, LoginError | asyncio.CancelledError), outcome
        assert (pool.sessions, pool.waiting) == (0, 0)
        assert servers.most_logins <= LIMITS.logins_per_host

    _play(claim, replace(LIMITS, policy=policy, refusal_pause_s=0))
