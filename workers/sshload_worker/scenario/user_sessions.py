"""SessionPerUser: every user logs in once, and keeps the session from iteration to iteration."""

from sshload_worker.clients.interface import Connection
from sshload_worker.scenario.log_in import LogIn
from sshload_worker.scenario.step_clock import StepClock


class SessionPerUser:
    """One session for each user, from its first iteration until it fails or the user leaves.

    A login counts in the `total` of the iteration that needs it: the first one, and the one after a failure or a loss.
    An iteration of nobody logs in for itself.
    """

    def __init__(self, log_in: LogIn) -> None:
        self._log_in = log_in
        self._kept: dict[int, Connection] = {}

    def prepare(self, clock: StepClock, within_s: float) -> None:
        """Log nothing in."""

    def take(self, clock: StepClock, user: int | None) -> Connection:
        """Return the user's session, or a new one where there is none, or where the server has closed it meanwhile."""
        kept = self._kept.pop(user, None) if user is not None else None
        if kept is not None:
            if not kept.is_lost():
                return kept
            self._log_in.end(kept)
        return self._log_in.begin(clock)

    def give_back(self, connection: Connection, user: int | None, *, usable: bool) -> None:
        """Keep a usable session for its user's next iteration, and end any other."""
        if usable and user is not None:
            self._kept[user] = connection
        else:
            self._log_in.end(connection)

    def leave(self, user: int) -> None:
        """End the user's session, if there is one."""
        kept = self._kept.pop(user, None)
        if kept is not None:
            self._log_in.end(kept)

    def close(self) -> None:
        """End all sessions that are kept."""
        for user in tuple(self._kept):
            self.leave(user)
