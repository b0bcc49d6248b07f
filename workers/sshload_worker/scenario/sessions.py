"""Sessions (logged-in connections), and how iterations get one.

A login has the parts from connect to auth, on every host on the way, each timed and with its own timeout. An iteration
has its own login, its user's session, or one of a pool, whose channels are multiplexed (RFC 4254 section 5).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic_ns
from typing import Protocol, TypeAlias

import gevent
from gevent.event import AsyncResult
from gevent.pool import Group
from sshload_contract.vocabulary import Outcome, Timing, measured_step
from sshload_contract.wire.run_config import Scenario, SessionReuse

from sshload_worker.clients.authentication import Authentication
from sshload_worker.clients.interface import Connection, ProgramConnection, RestingConnection
from sshload_worker.clients.libraries import new_connection
from sshload_worker.login.login import Login
from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.parts import Parts
from sshload_worker.scenario.step_clock import StepClock, TimeLimit, classify_error

_LOGIN_PARTS = (Timing.CONNECT, Timing.BANNER, Timing.KEX, Timing.AUTH)
_Login: TypeAlias = "AsyncResult[Connection | StepFailure]"


class Connecting(Protocol):
    """Makes connections that can run a scenario's steps, and ends them."""

    def connect(self, clock: StepClock, name: str = "") -> Connection:
        """Return a new connection, its parts timed as those of the step `name`; raises StepFailure or OSError."""

    def disconnect(self, connection: Connection) -> None:
        """End a connection that `connect` made. Never waits."""


class Connector:
    """Makes logged-in connections to one server, and ends them. The recorder counts them."""

    def __init__(self, login: Login, recorder: Recorder, *, shared: bool = False) -> None:
        self._login = login
        self._recorder = recorder
        self._shared = shared

    def connect(self, clock: StepClock, name: str = "") -> Connection:
        """Return a new connection after connect to auth; raises StepFailure or OSError.

        Its parts are timed as those of the step `name`. The logins of jump hosts come first, and are timed as
        `via1.connect` to `via1.login` and so on. Whose turn it is logs in.
        """
        connection = None
        self._recorder.connections += 1
        self._recorder.opened += 1
        try:
            login = clock.login = self._login.in_turn(clock.turn)
            for number, jump in enumerate(self._login.via, start=1):
                connection = new_connection(jump.at_next_address(), connection)
                self._log_in_to_jump(connection, f"via{number}", jump, clock)
            connection = new_connection(login, connection, shared=self._shared)
            clock.logged_in(_log_in(connection, name, login, clock))
            self._recorder.login(connection.negotiated())
        except BaseException:  # also if the greenlet is killed
            self._recorder.connections -= 1
            if connection is not None:
                connection.close()
            raise
        return connection

    def disconnect(self, connection: Connection) -> None:
        """End a connection that `connect` made. Never waits."""
        self._recorder.connections -= 1
        connection.close()

    def _log_in_to_jump(self, connection: Connection, name: str, jump: Login, clock: StepClock) -> None:
        try:
            _log_in(connection, name, jump, clock)
        except StepFailure as failure:
            raise StepFailure(failure.outcome, f"jump host {jump.host}: {failure.message}") from None


def _authenticate(connection: Connection, login: Login) -> None:
    try:
        connection.auth()
    except StepFailure as failure:
        raise login.explain(failure) from None
    login.accepted()


def _log_in(connection: Connection, name: str, login: Login, clock: StepClock) -> int:
    timeouts = login.client.timeouts
    parts, begin_ns = Parts.of(name, Timing.LOGIN, *_LOGIN_PARTS), monotonic_ns()
    instants_ns = [begin_ns]
    try:
        with TimeLimit(timeouts.connect_s, Timing.CONNECT) as limit:
            try:
                connection.connect()
            finally:
                if isinstance(connection, ProgramConnection):
                    instants_ns[0] = connection.connecting_ns or begin_ns
            instants_ns.append(monotonic_ns())
            limit.go_on(timeouts.banner_s, Timing.BANNER)
            connection.banner()
            instants_ns.append(monotonic_ns())
            limit.go_on(timeouts.kex_s, Timing.KEX)
            connection.kex()
            instants_ns.append(monotonic_ns())
            limit.go_on(timeouts.auth_s, Timing.AUTH)
            _authenticate(connection, login)
            instants_ns.append(monotonic_ns())
    except BaseException as error:
        outcome = classify_error(error).outcome
        parts.count_failure(clock, begin_ns, instants_ns, outcome)
        if connection.authentication is not None:
            connection.authentication.end(is_accepted=False)
            _count_parts_of_auth(connection.authentication, name, clock, outcome)
        raise
    if connection.authentication is not None and connection.authentication.parts:
        _count_parts_of_auth(connection.authentication, name, clock, Outcome.OK)
    parts.count_success(clock, begin_ns, tuple(instants_ns))
    return instants_ns[-1] - begin_ns


def _count_parts_of_auth(authentication: Authentication, name: str, clock: StepClock, outcome: Outcome) -> None:
    for part, begin_ns, end_ns in authentication.parts:
        if end_ns:
            clock.succeeded(measured_step(name, part), begin_ns, end_ns)
        else:
            clock.record(measured_step(name, part), begin_ns, outcome)


class _Place:
    """A place in the pool: its session, or the login that will fill it, or neither after a login failed.

    `turn` is whose turn each of its logins is, and `user` the Login of the last one.
    """

    __slots__ = ("login", "session", "turn", "user")

    def __init__(self, turn: int) -> None:
        self.session: Connection | None = None
        self.login: _Login | None = None
        self.turn = turn
        self.user: Login | None = None


class SessionPool:
    """Sessions that iterations use in turn, one for each of `turns`. All logins run beside the iterations.

    When the turn of a lost session comes, it is ended, and a new login begins in its place. Its time and outcome count
    like those of any login. Iterations skip such places, and wait for a login only if no session is left. If that login
    fails, they fail with it. A failed step damages only its own channel, so the session stays in use. A turn of the
    population is a place's, so a lost session is replaced by one of the same user.
    """

    def __init__(self, connector: Connector, turns: Iterable[int]) -> None:
        self._connector = connector
        self._places = [_Place(turn) for turn in turns]
        self._turn = 0
        self._logging_in = Group()
        self._preparing = False

    def prepare(self, clock: StepClock, within_s: float) -> None:
        """Log in all sessions, evenly spread over the time, and wait for the last one."""
        self._preparing = True
        for place in self._places:
            if place.session is None:  # otherwise an iteration that found no other session has filled it
                self._fill(place, clock)
            gevent.sleep(within_s / len(self._places))
        self._preparing = False
        self._logging_in.join()

    def acquire(self, clock: StepClock, user: int | None) -> Connection:  # noqa: ARG002 - all users share the pool
        """Return the session whose turn it is; raises StepFailure if there is none."""
        found = self._live_in_turn(clock) or self._awaited(clock)
        if isinstance(found, StepFailure):
            clock.mark_failed(str(Timing.LOGIN))
            raise StepFailure(found.outcome, f"no session of the pool is left, and a new login failed: {found.message}")
        return found

    def release(self, connection: Connection, user: int | None, *, usable: bool) -> None:
        """Do nothing: other iterations use the session too."""

    def leave(self, user: int) -> None:
        """Do nothing: no session belongs to a user."""

    def close(self) -> None:
        """End all sessions, and the logins in progress. These are counted as they end."""
        self._logging_in.kill()
        for place in self._places:
            if place.session is not None:
                self._connector.disconnect(place.session)
                place.session = None

    def _live_in_turn(self, clock: StepClock) -> Connection | None:
        for number in self._in_turn():
            place = self._places[number]
            if place.session is not None and place.session.is_lost():
                self._connector.disconnect(place.session)
                place.session = None
            if place.session is not None:
                self._turn = number + 1
                clock.login = place.user
                return place.session
            if not self._preparing:
                self._fill(place, clock)
        return None

    def _awaited(self, clock: StepClock) -> Connection | StepFailure:
        numbers = tuple(self._in_turn())
        number = next((number for number in numbers if self._places[number].login is not None), numbers[0])
        self._turn = number + 1
        result = self._fill(self._places[number], clock).get()
        clock.login = self._places[number].user
        if result is None:
            raise AssertionError("a login ends in a session or a failure")
        return result

    def _in_turn(self) -> Iterator[int]:
        size = len(self._places)
        return ((self._turn + step) % size for step in range(size))

    def _fill(self, place: _Place, clock: StepClock) -> _Login:
        """Begin a login for an empty place, unless one is in progress, and return it."""
        if place.login is None:
            place.login = AsyncResult()
            self._logging_in.add(gevent.spawn(self._log_into, place, place.login, clock.sibling(place.turn)))
        return place.login

    def _log_into(self, place: _Place, login: _Login, clock: StepClock) -> None:
        """Fill the place, and pass the result to the iterations that wait for it."""
        try:
            place.session = self._connector.connect(clock)
            login.set(place.session)
        except BaseException as error:
            failure = classify_error(error)
            clock.failed(failure.outcome, failure.message)
            login.set(failure)
            if not isinstance(error, StepFailure | OSError):
                raise
        finally:
            place.login, place.user = None, clock.login


class Sessions(Protocol):
    """The source of the iterations' connections."""

    def prepare(self, clock: StepClock, within_s: float) -> None:
        """Log in what the measurement needs from its start, evenly spread over the time. May take longer."""

    def acquire(self, clock: StepClock, user: int | None) -> Connection:
        """Return a logged-in connection for an iteration, which may belong to a user; raises StepFailure or OSError.

        The time of a login that this needs counts as the iteration's.
        """

    def release(self, connection: Connection, user: int | None, *, usable: bool) -> None:
        """Release the connection of an ended iteration. After some failures it is not `usable`. Never waits."""

    def leave(self, user: int) -> None:
        """End what is kept for a user who has left. Never waits."""

    def close(self) -> None:
        """End all sessions that are kept or being opened."""


@dataclass(frozen=True, slots=True)
class SessionPerIteration:
    """Every iteration logs in for itself."""

    connector: Connecting

    def prepare(self, clock: StepClock, within_s: float) -> None:
        """Do nothing."""

    def acquire(self, clock: StepClock, user: int | None) -> Connection:  # noqa: ARG002 - the same for each user
        """Return a new logged-in connection."""
        return self.connector.connect(clock)

    def release(self, connection: Connection, user: int | None, *, usable: bool) -> None:  # noqa: ARG002 - likewise
        """End the connection."""
        self.connector.disconnect(connection)

    def leave(self, user: int) -> None:
        """Do nothing: no session is kept."""

    def close(self) -> None:
        """Do nothing: no session is kept."""


class SessionPerUser:
    """One session for each user of the load, from its first iteration until the session fails or the user leaves.

    All its logins are of the same user of a population: of the turn with its number. A login counts in the `total` of
    the iteration that needs it: the first one, and the one after a failure or a loss. An iteration without a user has
    its own login.
    """

    def __init__(self, connector: Connecting) -> None:
        self._connector = connector
        self._kept: dict[int, Connection] = {}
        self._logins: dict[int, Login | None] = {}

    def prepare(self, clock: StepClock, within_s: float) -> None:
        """Do nothing."""

    def acquire(self, clock: StepClock, user: int | None) -> Connection:
        """Return the user's session, or a new one if there is none or the server has closed it."""
        if user is None:
            return self._connector.connect(clock)
        kept = self._kept.pop(user, None)
        if kept is not None:
            if isinstance(kept, RestingConnection):
                kept.resume()
            if not kept.is_lost():
                clock.login = self._logins.get(user)
                return kept
            self._connector.disconnect(kept)
        clock.turn = user
        connection = self._connector.connect(clock)
        self._logins[user] = clock.login
        return connection

    def release(self, connection: Connection, user: int | None, *, usable: bool) -> None:
        """Keep a usable session for its user's next iteration, and end an unusable one."""
        if usable and user is not None:
            self._kept[user] = connection
            if isinstance(connection, RestingConnection):
                connection.rest(_notice_later)
        else:
            self._connector.disconnect(connection)

    def leave(self, user: int) -> None:
        """End the user's session, if there is one."""
        self._logins.pop(user, None)
        kept = self._kept.pop(user, None)
        if kept is not None:
            self._connector.disconnect(kept)

    def close(self) -> None:
        """End all sessions that are kept."""
        for user in tuple(self._kept):
            self.leave(user)


def _notice_later(failure: StepFailure) -> None:
    """Do nothing: the next iteration finds that the session is lost."""


def make_sessions(scenario: Scenario, login: Login, recorder: Recorder, pool: Sequence[int]) -> Sessions:
    """Return the worker's sessions. `pool` are the numbers of the pool's sessions that are this worker's."""
    shared = any(step.shares_connection for step in scenario.steps)
    match scenario.session_reuse:
        case SessionReuse.NONE:
            return SessionPerIteration(Connector(login, recorder, shared=shared))
        case SessionReuse.USER:
            return SessionPerUser(Connector(login, recorder, shared=shared))
        case SessionReuse.POOL:
            return SessionPool(Connector(login, recorder, shared=True), pool)
