"""SessionPool: iterations share logged-in sessions, their channels multiplexed (RFC 4254 section 5)."""

from collections.abc import Iterator
from typing import TypeAlias

import gevent
from gevent.event import AsyncResult
from gevent.pool import Group
from sshload_contract.vocabulary import Step

from sshload_worker.clients.interface import Connection
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.connector import Connector
from sshload_worker.scenario.step_clock import StepClock, classify_error

_Login: TypeAlias = "AsyncResult[Connection | StepFailure]"


class _Place:
    """A place of the pool: its session, or the login that is to fill it, or neither after a login that failed."""

    __slots__ = ("login", "session")

    def __init__(self) -> None:
        self.session: Connection | None = None
        self.login: _Login | None = None


class SessionPool:
    """`size` sessions, over which iterations are spread in turn. All logins are done beside the iterations.

    A session that is lost is ended when its turn comes, and a new login begun in its place, whose time and outcome
    count as any login's. Iterations pass such places over, and wait for a login only where no session is left; if that
    login fails, they fail with it. A step that fails harms its own channel only, so the session goes on.
    """

    def __init__(self, connector: Connector, size: int) -> None:
        self._connector = connector
        self._places = [_Place() for _ in range(size)]
        self._turn = 0
        self._logging_in = Group()
        self._preparing = False

    def prepare(self, clock: StepClock, within_s: float) -> None:
        """Log all sessions in, evenly within the time, and wait for the last."""
        self._preparing = True
        for place in self._places:
            if place.session is None:  # else an iteration that found no other session has filled it
                self._fill(place, clock)
            gevent.sleep(within_s / len(self._places))
        self._preparing = False
        self._logging_in.join()

    def acquire(self, clock: StepClock, user: int | None) -> Connection:  # noqa: ARG002 - whoever it is
        """Return the session whose turn it is; raises StepFailure where there is none to be had."""
        found = self._live_in_turn(clock) or self._awaited(clock)
        if isinstance(found, StepFailure):
            clock.mark_failed(str(Step.LOGIN))
            raise StepFailure(found.outcome, f"no session of the pool is left, and a new login failed: {found.message}")
        return found

    def release(self, connection: Connection, user: int | None, *, usable: bool) -> None:
        """Leave the session to the others that use it."""

    def leave(self, user: int) -> None:
        """Keep nothing for users."""

    def close(self) -> None:
        """End all sessions, and the logins under way, which counts them."""
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
                return place.session
            if not self._preparing:
                self._fill(place, clock)
        return None

    def _awaited(self, clock: StepClock) -> Connection | StepFailure:
        numbers = tuple(self._in_turn())
        number = next((number for number in numbers if self._places[number].login is not None), numbers[0])
        self._turn = number + 1
        result = self._fill(self._places[number], clock).get()
        if result is None:
            raise AssertionError("a login ends in a session or a failure")
        return result

    def _in_turn(self) -> Iterator[int]:
        size = len(self._places)
        return ((self._turn + step) % size for step in range(size))

    def _fill(self, place: _Place, clock: StepClock) -> _Login:
        """Begin a login for an empty place, unless one is under way, and return it."""
        if place.login is None:
            place.login = AsyncResult()
            self._logging_in.add(gevent.spawn(self._log_into, place, place.login, clock.sibling()))
        return place.login

    def _log_into(self, place: _Place, login: _Login, clock: StepClock) -> None:
        """Fill the place, and tell those that wait for it."""
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
            place.login = None
