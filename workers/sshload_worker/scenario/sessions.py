"""Sessions: who logs in, and when. Every iteration takes its connection here, and gives it back."""

from dataclasses import dataclass
from typing import Protocol

from sshload_worker.clients.interface import Connection
from sshload_worker.scenario.log_in import LogIn
from sshload_worker.scenario.step_clock import StepClock


class Sessions(Protocol):
    """Where iterations get their connections from."""

    def prepare(self, clock: StepClock, within_s: float) -> None:
        """Log in what is to be there before it is measured, evenly within the time; may take longer."""

    def take(self, clock: StepClock, user: int | None) -> Connection:
        """Return a logged-in connection for an iteration, which may be that of a user; raises StepFailure or OSError.

        The time that a login takes within it is the iteration's.
        """

    def give_back(self, connection: Connection, user: int | None, *, usable: bool) -> None:
        """Take back the connection of an iteration that has ended; after a failure it is not usable. Never waits."""

    def leave(self, user: int) -> None:
        """End what is kept for a user, who has gone. Never waits."""

    def close(self) -> None:
        """End what is kept, and what is on the way to that."""


@dataclass(frozen=True, slots=True)
class SessionPerIteration:
    """Every iteration logs in for itself."""

    log_in: LogIn

    def prepare(self, clock: StepClock, within_s: float) -> None:
        """Log nothing in."""

    def take(self, clock: StepClock, user: int | None) -> Connection:  # noqa: ARG002 - whoever it is
        """Return a connection that is logged in just now."""
        return self.log_in.begin(clock)

    def give_back(self, connection: Connection, user: int | None, *, usable: bool) -> None:  # noqa: ARG002 - likewise
        """End the connection."""
        self.log_in.end(connection)

    def leave(self, user: int) -> None:
        """Keep nothing."""

    def close(self) -> None:
        """Keep nothing."""
