"""CrowdSessions: sessions whose users leave the crowd when they leave their sessions."""

from dataclasses import dataclass

from sshload_worker.clients.interface import Connection
from sshload_worker.locustfile.crowd import Crowd
from sshload_worker.scenario.sessions import Sessions
from sshload_worker.scenario.step_clock import StepClock


@dataclass(frozen=True, slots=True)
class CrowdSessions:
    """The Sessions of a scenario, and the crowd that works in them."""

    sessions: Sessions
    crowd: Crowd

    def prepare(self, clock: StepClock, within_s: float) -> None:
        """Log in what is to be there before the first iteration."""
        self.sessions.prepare(clock, within_s)

    def take(self, clock: StepClock, user: int | None) -> Connection:
        """Return a logged-in connection for an iteration."""
        return self.sessions.take(clock, user)

    def give_back(self, connection: Connection, user: int | None, *, usable: bool) -> None:
        """Take back the connection of an iteration that has ended."""
        self.sessions.give_back(connection, user, usable=usable)

    def leave(self, user: int) -> None:
        """End the user, and what is kept for it."""
        self.crowd.leave(user)
        self.sessions.leave(user)

    def close(self) -> None:
        """End all users, and what is kept."""
        self.crowd.close()
        self.sessions.close()
