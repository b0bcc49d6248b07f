"""The pool of SSH connections: sessions for requests, within hard limits, in turns.

All decisions are made without awaiting anything, so that each sees the counts as they are. A connection counts from
before its login begins until it has been closed.
"""

import asyncio
import math
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import asyncssh

from sshload_gateway.metrics import PoolMetrics
from sshload_gateway.ssh.destinations import canonical_host
from sshload_gateway.ssh.failures import BusyError, LoginError, LoginFailure, SupersededError
from sshload_gateway.ssh.lane import Connection, Host, Lane
from sshload_gateway.ssh.login import Account, Login, Secrets
from sshload_gateway.ssh.pauses import LONGEST_PAUSE_S, pause_s
from sshload_gateway.ssh.policy import Limits

_CLOSE_S: Final = 2.0
_SWEEP_S: Final = 1.0


@dataclass(slots=True, eq=False)
class Session:
    """The right to one session on a connection, until it is given back."""

    connection: Connection
    wait_s: float
    is_new: bool
    """Whether it is the first session of its connection."""

    @property
    def ssh(self) -> asyncssh.SSHClientConnection:
        """The connection."""
        return self.connection.ssh


class Pool:
    """Gives sessions to requests. It belongs to one event loop."""

    def __init__(
        self, limits: Limits, login: Login, metrics: PoolMetrics, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limits = limits
        self._login = login
        self._metrics = metrics
        self._clock = clock
        self._lanes: dict[Account, Lane] = {}
        self._waiting: dict[Account, Lane] = {}
        self._secrets: dict[Account, Callable[[], Secrets]] = {}
        self._hosts: dict[tuple[str, int], Host] = {}
        self._connections = 0
        self._closing = 0
        self._sessions = 0
        self._waiters = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._logins: set[asyncio.Task[None]] = set()
        self._sweeper: asyncio.Task[None] | None = None
        self._is_closed = False
        self._all_given_back = asyncio.Event()

    @property
    def connections(self) -> int:
        """How many connections there are, those that are being opened or closed included."""
        return self._connections

    @property
    def sessions(self) -> int:
        """How many sessions requests have."""
        return self._sessions

    @property
    def waiting(self) -> int:
        """How many requests wait for a session."""
        return self._waiters

    async def acquire(self, account: Account, secrets: Callable[[], Secrets], deadline_s: float) -> Session:
        """Return a session on a connection of this account, to be given back by `release`, `refused` or `broken`.

        `secrets` is called for each login. `deadline_s` is a time of the pool's clock.

        Raises LoginError, BusyError where there is no session in time, and SupersededError where the credential has
        changed meanwhile.
        """
        began_s = self._clock()
        lane = self._lane(account, secrets)
        self._admit(lane, began_s, deadline_s)
        waiter: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
        lane.waiters.append(waiter)
        self._waiting[account] = lane
        self._waiters += 1
        self._serve()
        try:
            async with asyncio.timeout(deadline_s - began_s):
                connection = await waiter
        except BaseException as error:
            self._give_up(lane, waiter)
            if isinstance(error, TimeoutError):
                raise self._busy(lane) from None
            raise
        finally:
            self._waiters -= 1
        wait_s = self._clock() - began_s
        self._metrics.wait_seconds.observe(wait_s)
        return Session(connection, wait_s, is_new=connection.uses == 1)

    def deadline_s(self) -> float:
        """Return until when a request that comes now may wait."""
        return self._clock() + self._limits.wait_s

    def release(self, session: Session) -> None:
        """Take a session back that has ended as it should."""
        session.connection.has_served, session.connection.has_refused_its_only = True, False
        session.connection.lane.has_served()
        self._end_session(session.connection)
        self._serve()

    def refused(self, session: Session) -> bool:
        """Take a session back that the server refused to open: the connection holds no more than it has.

        One that has none, and refuses one for the second time since it served, is closed. The first time, the server
        may not have counted the end of the session before.

        Tell whether another try may succeed: the server has opened others on this connection, or the connection ended.
        A policy that learns nothing from refusals tries no other.
        """
        connection = session.connection
        self._metrics.refused_sessions.inc()
        if not self._limits.learns_from_refusals:
            self._end_session(connection)
            self._serve()
            return False
        others, was_lost = connection.sessions - 1, connection.is_lost
        may_succeed = others > 0 or connection.has_served or was_lost
        if others and not was_lost:
            connection.session_limit = others
            connection.host.allow_fewer(others, self._clock() + self._limits.age_s)
        elif connection.has_served:
            connection.is_draining = connection.is_draining or connection.has_refused_its_only
            connection.has_refused_its_only = True
        self._end_session(connection)
        self._serve()
        return may_succeed

    def broken(self, session: Session) -> None:
        """Take a session back whose connection is not to be trusted any more: it gets no new session."""
        session.connection.is_draining = True
        self._end_session(session.connection)
        self._serve()

    def supersede(self, credential: str, *, before_version: int | None = None) -> None:
        """Let the connections of a credential end with their sessions: all, or those of versions before one."""
        for account, lane in list(self._lanes.items()):
            if account.credential == credential and (before_version is None or account.version < before_version):
                lane.is_superseded = True
                self._fail(lane, SupersededError())
                self._close_all(lane.drain(), "superseded")
                self._forget_unused(lane)

    async def close(self, within_s: float) -> None:
        """Give no more sessions; wait for those that there are, and close all connections then.

        Logins that are under way are given up.
        """
        self._is_closed = True
        for login in self._logins:
            login.cancel()
        for lane in list(self._lanes.values()):
            self._fail(lane, BusyError("the gateway is shutting down", 1))
            self._close_all(lane.drain(), "shutdown")
        if self._sessions:
            with suppress(TimeoutError):
                async with asyncio.timeout(within_s):
                    await self._all_given_back.wait()
        for lane in list(self._lanes.values()):
            self._close_all(lane.connections, "shutdown")
        if self._sweeper is not None:
            self._sweeper.cancel()
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _admit(self, lane: Lane, now_s: float, deadline_s: float) -> None:
        if self._is_closed:
            raise BusyError("the gateway is shutting down", 1)
        if lane.is_superseded:
            raise SupersededError
        if lane.failure is not None and now_s < lane.refused_until_s:
            raise lane.failure.again()
        if now_s >= deadline_s:
            raise self._busy(lane)
        if self._waiters >= self._limits.waiting:
            raise BusyError(f"{self._waiters} requests wait for a session already", self._retry_after_s())

    def _lane(self, account: Account, secrets: Callable[[], Secrets]) -> Lane:
        if self._sweeper is None:
            self._sweeper = asyncio.create_task(self._sweep())
        lane = self._lanes.get(account)
        if lane is None:
            if any(one.credential == account.credential and one.version > account.version for one in self._lanes):
                raise SupersededError
            self.supersede(account.credential, before_version=account.version)
            lane = self._lanes[account] = Lane(account)
            self._secrets[account] = secrets
        return lane

    def _serve(self) -> None:
        """Give what there is to requests that wait, one of each lane in turn."""
        moved = True
        while moved and self._waiting:
            moved = False
            for account, lane in list(self._waiting.items()):
                if self._advance(lane):
                    moved = True
                    if account in self._waiting:  # behind the others
                        del self._waiting[account]
                        self._waiting[account] = lane
                if not lane.waiters:
                    self._waiting.pop(account, None)

    def _advance(self, lane: Lane) -> bool:
        """Serve one request of a lane, or begin one login for it; tell whether that was possible."""
        while lane.waiters and lane.waiters[0].done():
            lane.waiters.popleft()
        if not lane.waiters or self._sessions >= self._limits.sessions:
            return False
        connection = lane.with_room()
        if connection is not None:
            connection.begin()
            self._sessions += 1
            lane.waiters.popleft().set_result(connection)
            return True
        if not self._may_log_in(lane):
            return False
        self._begin_login(lane)
        return True

    def _may_log_in(self, lane: Lane) -> bool:
        limits, host = self._limits, self._host(lane.account)
        sessions = host.sessions_of_one(limits, self._clock())
        if not lane.wants_connection(sessions, limits.connections_of_one) or host.logins >= limits.logins_per_host:
            return False
        if self._clock() < max(lane.refused_until_s, lane.pause_until_s, host.pause_until_s):
            return False
        if host.connections >= limits.connections_per_host:
            self._make_room(lane, host)
            return False
        if self._connections >= limits.connections:
            self._make_room(lane, None)
            return False
        return True

    def _make_room(self, lane: Lane, host: Host | None) -> None:
        """Let another lane's connection go, if none goes already: an idle one, else one of a lane that has several."""
        if self._closing:
            return
        others = [
            connection
            for other in self._lanes.values()
            if other is not lane
            for connection in other.connections
            if host in (None, connection.host)
        ]
        idle = [connection for connection in others if connection.sessions == 0]
        if idle:
            self._close_all([min(idle, key=lambda one: one.idle_since_s)], "room")
            return
        crowded = [connection for connection in others if len(connection.lane.connections) > 1]
        if crowded and not any(connection.is_draining for connection in others):
            max(crowded, key=lambda one: len(one.lane.connections)).is_draining = True

    def _begin_login(self, lane: Lane) -> None:
        host = self._host(lane.account)
        lane.opening += 1
        host.logins += 1
        host.connections += 1
        self._connections += 1
        login = self._start(self._log_in(lane, host))
        self._logins.add(login)
        login.add_done_callback(self._logins.discard)

    async def _log_in(self, lane: Lane, host: Host) -> None:
        began_s = self._clock()
        lost: list[Connection] = []
        ended = asyncio.Event()

        def on_lost() -> None:
            ended.set()
            for connection in lost:
                self._lost(connection)

        try:
            ssh = await self._login(lane.account, self._secrets[lane.account], on_lost)
        except asyncio.CancelledError:  # by close
            lane.opening -= 1
            self._uncount(host)
            raise
        except LoginError as error:
            failure: LoginError | None = error
        except Exception as error:  # noqa: BLE001 - whatever a server brings about must not leave requests waiting
            failure = LoginError(LoginFailure.PROTOCOL, f"the login failed: {type(error).__name__}")
        else:
            failure = None
        now_s = self._clock()
        lane.opening -= 1
        host.logins -= 1
        self._metrics.logins.labels("ok" if failure is None else failure.kind).inc()
        if failure is not None:
            self._uncount(host)
            self._login_failed(lane, host, failure)
            self._forget_unused(lane)
        else:
            self._metrics.login_seconds.observe(now_s - began_s)
            lane.failure, host.drops_in_a_row = None, 0
            limit = host.sessions_of_one(self._limits, now_s)
            uses = self._limits.uses_of_one
            connection = Connection(ssh, lane, host, now_s, now_s - began_s, limit, uses, now_s)
            lane.connections.append(connection)
            lost.append(connection)
            if ended.is_set():
                self._lost(connection)
            elif lane.is_superseded or self._is_closed:
                self._close_all([connection], "superseded")
        self._serve()

    def _login_failed(self, lane: Lane, host: Host, failure: LoginError) -> None:
        """Let requests wait on where a later login may succeed, or connections are there; else tell them."""
        lane.failure = failure
        now_s = self._clock()
        if failure.may_pass:
            host.drops_in_a_row += 1
            host.pause_until_s = now_s + self._serve_after_pause(host.drops_in_a_row)
            return
        if failure.is_refusal:  # others may log in to this host meanwhile
            lane.refused_until_s = now_s + self._limits.refusal_pause_s
        if not any(not one.is_draining for one in lane.connections):
            self._fail(lane, failure)
        elif failure.is_refusal:
            asyncio.get_running_loop().call_later(self._limits.refusal_pause_s, self._serve)
        else:
            host.pause_until_s = now_s + LONGEST_PAUSE_S
            asyncio.get_running_loop().call_later(LONGEST_PAUSE_S, self._serve)

    def _fail(self, lane: Lane, error: Exception) -> None:
        while lane.waiters:
            waiter = lane.waiters.popleft()
            if not waiter.done():
                waiter.set_exception(error)
        self._waiting.pop(lane.account, None)

    def _give_up(self, lane: Lane, waiter: "asyncio.Future[Connection]") -> None:
        """Take a request out of the queue that waits no longer, and a session back that it got at that moment."""
        with suppress(ValueError):
            lane.waiters.remove(waiter)
        if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
            self._end_session(waiter.result())
            self._serve()
        self._forget_unused(lane)

    def _busy(self, lane: Lane) -> BusyError:
        self._metrics.waits_given_up.inc()
        if lane.failure is not None:
            why = f": {lane.failure.detail}"
        elif lane.opening:
            why = f": a login to {lane.account.host} port {lane.account.port} is not done"
        else:
            why = ""
        return BusyError(f"no session became free within {self._limits.wait_s:g} s{why}", self._retry_after_s())

    def _retry_after_s(self) -> int:
        return max(1, math.ceil(self._limits.wait_s))

    def _end_session(self, connection: Connection) -> None:
        connection.sessions -= 1
        self._sessions -= 1
        if self._is_closed and self._sessions == 0:
            self._all_given_back.set()
        connection.idle_since_s = self._clock()
        if connection.sessions == 0 and not connection.is_lost:
            if connection.is_draining:
                self._close_all([connection], "drained")
            elif connection.uses_left == 0:
                self._close_all([connection], "used")

    def _close_all(self, connections: Iterable[Connection], why: str) -> None:
        for connection in list(connections):
            if connection.is_lost:
                continue
            connection.is_lost = connection.is_draining = True
            connection.lane.connections.remove(connection)
            connection.lane.closing += 1
            self._closing += 1
            self._metrics.closed.labels(why).inc()
            self._start(self._close(connection))

    async def _close(self, connection: Connection) -> None:
        connection.ssh.close()
        try:
            async with asyncio.timeout(_CLOSE_S):
                await connection.ssh.wait_closed()
        except TimeoutError:
            connection.ssh.abort()
        self._closing -= 1
        connection.lane.closing -= 1
        self._gone(connection)

    def _lost(self, connection: Connection) -> None:
        """Forget a connection that the server ended, or the network."""
        if connection.is_lost:
            return
        connection.is_lost = True
        connection.lane.connections.remove(connection)
        self._metrics.closed.labels("lost").inc()
        if not connection.has_served:
            self._served_nothing(connection.lane)
        self._gone(connection)

    def _served_nothing(self, lane: Lane) -> None:
        """Let a credential wait whose connection ended before anything was done on it: the next one may end so too.

        Others of the host go on: what one user does may end that user's connections.
        """
        lane.losses_in_a_row += 1
        where = f"{lane.account.host} port {lane.account.port}"
        lane.failure = LoginError(LoginFailure.DROPPED, f"{where} ended a connection on which nothing was done yet")
        lane.pause_until_s = self._clock() + self._serve_after_pause(lane.losses_in_a_row)

    def _serve_after_pause(self, failures_in_a_row: int) -> float:
        """Return how long to pause after so many failures, after which requests are served again."""
        time_s = pause_s(failures_in_a_row)
        asyncio.get_running_loop().call_later(time_s, self._serve)
        return time_s

    def _gone(self, connection: Connection) -> None:
        self._uncount(connection.host)
        self._forget_unused(connection.lane)
        self._serve()

    def _uncount(self, host: Host) -> None:
        host.connections -= 1
        self._connections -= 1

    def _host(self, account: Account) -> Host:
        return self._hosts.setdefault((canonical_host(account.host), account.port), Host())

    def _forget_unused(self, lane: Lane) -> None:
        if lane.is_unused(self._clock()) and self._lanes.get(lane.account) is lane:
            del self._lanes[lane.account]
            del self._secrets[lane.account]

    def _start(self, work: "asyncio._CoroutineLike[None]") -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _sweep(self) -> None:
        """Close what is too old or idle for too long, and forget what nobody asks for, again and again."""
        while True:
            await asyncio.sleep(min(_SWEEP_S, self._limits.idle_s / 2))
            now_s = self._clock()
            for lane in list(self._lanes.values()):
                for connection in [one for one in lane.connections if one.is_over(self._limits, now_s)]:
                    connection.is_draining = True
                    if connection.sessions == 0:
                        self._close_all([connection], "expired")
                self._forget_unused(lane)
            for place, host in list(self._hosts.items()):
                if host.is_unused(now_s):
                    del self._hosts[place]
            self._serve()
