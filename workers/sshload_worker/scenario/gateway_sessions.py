"""Connections to a gateway, how iterations get one, and the check of the gateway before the load.

A connection is TCP and, if the URL is https, TLS, each timed and with its own timeout. `login`, `banner`, `kex` and
`auth` happen in the gateway, which reports how long they took.
"""

import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic, monotonic_ns

import gevent
from gevent.pool import Group
from sshload_contract.vocabulary import Outcome, Timing, Window, measured_step
from sshload_contract.wire.report import LoginFailure
from sshload_contract.wire.run_config import GatewayEndpoint, RunConfig, Scenario, SessionReuse

from sshload_worker.clients.delay import prepare_delay
from sshload_worker.clients.gateway.access import GatewayAccess, prepare_access
from sshload_worker.clients.gateway.connection import GatewayConnection
from sshload_worker.clients.interface import Connection
from sshload_worker.login.login import Address
from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.first_login import OnProblem, dial_until_accepted, patience_s, pauses_s
from sshload_worker.scenario.sessions import Connecting, SessionPerIteration, SessionPerUser, Sessions
from sshload_worker.scenario.step_clock import Due, StepClock, TimeLimit, classify_error

_MAY_PASS = frozenset(
    {
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
)
"""Outcomes that another attempt may change."""

log = logging.getLogger(__name__)


class GatewayConnector:
    """Makes connections to one gateway, and ends them. The recorder counts them."""

    def __init__(self, access: GatewayAccess, recorder: Recorder) -> None:
        self._access = access
        self._recorder = recorder

    def connect(self, clock: StepClock, name: str = "") -> GatewayConnection:
        """Return a new connection that is ready for requests; raises StepFailure or OSError."""
        timeouts = self._access.client.timeouts
        self._recorder.connections += 1
        self._recorder.opened += 1
        connection = None
        try:
            made = connection = GatewayConnection(self._access)
            with TimeLimit(timeouts.connect_s, Timing.CONNECT):
                clock.timed(measured_step(name, Timing.CONNECT), made.connect)
            if self._access.tls is not None:
                with TimeLimit(timeouts.kex_s, Timing.TLS):
                    clock.timed(measured_step(name, Timing.TLS), made.handshake)
        except BaseException:  # also if the greenlet is killed
            self._recorder.connections -= 1
            if connection is not None:
                connection.close()
            raise
        return made

    def disconnect(self, connection: Connection) -> None:
        """End a connection that `connect` made. Never waits."""
        self._recorder.connections -= 1
        connection.close()


class GatewayPool:
    """At most `size` idle connections, which iterations take and return, as in HTTP clients.

    An iteration that finds no idle connection opens a new one. So no iteration waits for a connection, and the load
    stays as configured.
    """

    def __init__(self, connector: GatewayConnector, size: int) -> None:
        self._connector = connector
        self._size = size
        self._idle: deque[Connection] = deque()
        self._opening = Group()

    def prepare(self, clock: StepClock, within_s: float) -> None:
        """Open all connections, evenly spread over the time, and wait for the last one."""
        for _ in range(self._size):
            self._opening.add(gevent.spawn(self._open, clock.sibling(0)))
            gevent.sleep(within_s / self._size)
        self._opening.join()

    def acquire(self, clock: StepClock, user: int | None) -> Connection:  # noqa: ARG002 - all users share the pool
        """Return the idle connection that was used last, or a new one."""
        while self._idle:
            found = self._idle.pop()
            if not found.is_lost():
                return found
            self._connector.disconnect(found)
        return self._connector.connect(clock)

    def release(self, connection: Connection, user: int | None, *, usable: bool) -> None:  # noqa: ARG002 - likewise
        """Keep the connection if it is usable and there is room, otherwise end it."""
        if usable and not connection.is_lost() and len(self._idle) < self._size:
            self._idle.append(connection)
        else:
            self._connector.disconnect(connection)

    def leave(self, user: int) -> None:
        """Do nothing: no connection belongs to a user."""

    def close(self) -> None:
        """End all connections that are kept or being opened."""
        self._opening.kill()
        while self._idle:
            self._connector.disconnect(self._idle.pop())

    def _open(self, clock: StepClock) -> None:
        try:
            self.release(self._connector.connect(clock), None, usable=True)
        except (StepFailure, OSError) as error:
            failure = classify_error(error)
            clock.failed(failure.outcome, failure.message)


@dataclass(frozen=True, slots=True)
class Gateway:
    """A gateway as the target. The run makes it if it `is_managed`."""

    access: GatewayAccess
    is_managed: bool
    population: None = None

    def connector(self, recorder: Recorder) -> Connecting:
        """Return what connects."""
        return GatewayConnector(self.access, recorder)

    def sessions(self, scenario: Scenario, recorder: Recorder, pool: Sequence[int]) -> Sessions:
        """Return the worker's connections. `pool` are the numbers of the pool's that are this worker's."""
        connector = GatewayConnector(self.access, recorder)
        match scenario.session_reuse:
            case SessionReuse.NONE:
                return SessionPerIteration(connector)
            case SessionReuse.USER:
                return SessionPerUser(connector)
            case SessionReuse.POOL:
                return GatewayPool(connector, len(pool))

    def wait_until_usable(self, opened: int, host: str, port: int, tell: OnProblem) -> bool:
        """Wait until a managed one serves the caller's credential, which may still be starting; others, to accept."""
        if not self.is_managed:
            if opened:
                dial_until_accepted(host, port, tell)
            return opened > 0
        for pause_s in pauses_s():
            failure = _check(self.access)
            if failure is None:
                break
            tell(f"{self.access.authority}: {failure.message}")
            gevent.sleep(pause_s)
        return True

    def use_once(self, worker: int, tell: OnProblem) -> LoginFailure | None:
        """Request the caller's credentials; return why this failed, or that the configured one is missing.

        Return None if all is well. Problems that may pass are reported, and the request is repeated for a while. No
        command runs.
        """
        access, deadline_s = self.access, monotonic() + patience_s(self.access.client.timeouts)
        failure = _check(access)
        for pause_s in pauses_s():
            if failure is None or failure.outcome not in _MAY_PASS or monotonic() + pause_s >= deadline_s:
                break
            tell(f"{access.authority}: {failure.message}")
            gevent.sleep(pause_s)
            failure = _check(access)
        if failure is None:
            return None
        return LoginFailure(worker, 0, access.endpoint.host, access.endpoint.port, failure.outcome, failure.message)

    def better_kex(self) -> None:
        """None: the workers do not exchange keys with the server."""


def prepare(config: RunConfig, addresses: tuple[Address, ...]) -> Gateway:
    """Return the gateway at these addresses; raises GeneratorFaultError if a file cannot be used."""
    assert isinstance(config.target, GatewayEndpoint)  # noqa: S101 - its kind says so
    prepare_delay(config.client)
    return Gateway(prepare_access(config.target, addresses, config.client), config.is_managed)


def _check(access: GatewayAccess) -> StepFailure | None:
    recorder = Recorder("", 0)  # discarded, with all that it counts
    connector, due = GatewayConnector(access, recorder), Due(at_ns=monotonic_ns(), window=Window.WARM_UP)
    try:
        connection = connector.connect(StepClock(recorder, due))
        try:
            with TimeLimit(access.client.timeouts.step_s, Timing.COMMAND):
                names = connection.credentials()
        finally:
            connector.disconnect(connection)
    except Exception as error:  # the master must know of any error at once
        if not isinstance(error, StepFailure | OSError):
            log.exception("internal error of the worker")
        return classify_error(error)
    if access.endpoint.credential not in names:
        others = f"only others ({len(names)})" if names else "and no other"
        return StepFailure(
            Outcome.REQUEST_REFUSED, f"the caller has no credential {access.endpoint.credential}, {others}"
        )
    return None
