"""Sessions: where iterations get their connections: a login for each, one for each user, or a pool's."""

from dataclasses import dataclass
from typing import Protocol

from sshload_contract.steps import RsyncStep
from sshload_contract.wire.run_config import Scenario, SessionReuse

from sshload_worker.clients.interface import Connection
from sshload_worker.login.login import Login
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.connector import Connector
from sshload_worker.scenario.session_pool import SessionPool
from sshload_worker.scenario.step_clock import StepClock


class Sessions(Protocol):
    """The source of the iterations' connections."""

    def prepare(self, clock: StepClock, within_s: float) -> None:
        """Log in what is to be there before it is measured, evenly within the time; may take longer."""

    def acquire(self, clock: StepClock, user: int | None) -> Connection:
        """Return a logged-in connection for an iteration, which may be that of a user; raises StepFailure or OSError.

        The time that a login takes within it is the iteration's.
        """

    def release(self, connection: Connection, user: int | None, *, usable: bool) -> None:
        """Release the connection of an iteration that has ended; after a failure it is not usable. Never waits."""

    def leave(self, user: int) -> None:
        """End what is kept for a user, who has gone. Never waits."""

    def close(self) -> None:
        """End what is kept, and what is on the way to that."""


@dataclass(frozen=True, slots=True)
class SessionPerIteration:
    """Every iteration logs in for itself."""

    connector: Connector

    def prepare(self, clock: StepClock, within_s: float) -> None:
        """Log nothing in."""

    def acquire(self, clock: StepClock, user: int | None) -> Connection:  # noqa: ARG002 - whoever it is
        """Return a connection that is logged in just now."""
        return self.connector.connect(clock)

    def release(self, connection: Connection, user: int | None, *, usable: bool) -> None:  # noqa: ARG002 - likewise
        """End the connection."""
        self.connector.disconnect(connection)

    def leave(self, user: int) -> None:
        """Keep nothing."""

    def close(self) -> None:
        """Keep nothing."""


class SessionPerUser:
    """One session for each user, from its first iteration until it fails or the user leaves.

    A login counts in the `total` of the iteration that needs it: the first one, and the one after a failure or a loss.
    An iteration of nobody logs in for itself.
    """

    def __init__(self, connector: Connector) -> None:
        self._connector = connector
        self._kept: dict[int, Connection] = {}

    def prepare(self, clock: StepClock, within_s: float) -> None:
        """Log nothing in."""

    def acquire(self, clock: StepClock, user: int | None) -> Connection:
        """Return the user's session, or a new one where there is none, or where the server has closed it meanwhile."""
        kept = self._kept.pop(user, None) if user is not None else None
        if kept is not None:
            if not kept.is_lost():
                return kept
            self._connector.disconnect(kept)
        return self._connector.connect(clock)

    def release(self, connection: Connection, user: int | None, *, usable: bool) -> None:
        """Keep a usable session for its user's next iteration, and end any other."""
        if usable and user is not None:
            self._kept[user] = connection
        else:
            self._connector.disconnect(connection)

    def leave(self, user: int) -> None:
        """End the user's session, if there is one."""
        kept = self._kept.pop(user, None)
        if kept is not None:
            self._connector.disconnect(kept)

    def close(self) -> None:
        """End all sessions that are kept."""
        for user in tuple(self._kept):
            self.leave(user)


def make_sessions(scenario: Scenario, login: Login, recorder: Recorder, pool_part: int) -> Sessions:
    """Return the worker's sessions. `pool_part` is how many of the pool's sessions are this worker's, 1 at least."""
    # rsync reads and writes at once, each in a greenlet of its own.
    shared = any(isinstance(step, RsyncStep) for step in scenario.steps)
    match scenario.session_reuse:
        case SessionReuse.NONE:
            return SessionPerIteration(Connector(login, recorder, shared=shared))
        case SessionReuse.USER:
            return SessionPerUser(Connector(login, recorder, shared=shared))
        case SessionReuse.POOL:
            return SessionPool(Connector(login, recorder, shared=True), pool_part)
