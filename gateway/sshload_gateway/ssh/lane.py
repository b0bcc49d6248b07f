"""What the pool knows of one version of a credential, of one host, and of one connection. No I/O."""

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sshload_gateway.ssh.failures import LoginError
from sshload_gateway.ssh.login import Account
from sshload_gateway.ssh.pauses import LONGEST_PAUSE_S
from sshload_gateway.ssh.policy import Limits

if TYPE_CHECKING:
    from asyncio import Future

    import asyncssh


@dataclass(slots=True, eq=False)
class Host:
    """One host and port, whoever logs in there. Another of which as much is known is not the same."""

    connections: int = 0
    logins: int = 0
    pause_until_s: float = 0.0
    drops_in_a_row: int = 0
    fewer_sessions: int | None = None
    """How many sessions of a connection it allowed when it last refused one, None if it refused none."""
    fewer_until_s: float = 0.0

    def allow_fewer(self, sessions: int, until_s: float) -> None:
        """Remember how many sessions of a connection it allows: its next connections begin with that."""
        self.fewer_sessions, self.fewer_until_s = sessions, until_s

    def sessions_of_one(self, limits: Limits, now_s: float) -> int:
        """Return how many sessions to begin with on a new connection."""
        if self.fewer_sessions is None or now_s >= self.fewer_until_s:
            return limits.sessions_of_one
        return min(self.fewer_sessions, limits.sessions_of_one)

    def is_unused(self, now_s: float) -> bool:
        """Return whether there is nothing to remember."""
        return self.connections == 0 and now_s >= max(self.pause_until_s + LONGEST_PAUSE_S, self.fewer_until_s)


@dataclass(slots=True, eq=False)
class Connection:
    """A connection that is logged in, and who uses it."""

    ssh: "asyncssh.SSHClientConnection"
    lane: "Lane"
    host: Host
    opened_s: float
    login_s: float
    session_limit: int
    uses_left: int | None
    idle_since_s: float
    sessions: int = 0
    uses: int = 0
    has_served: bool = False
    """Whether a session on it has ended that the server had opened."""
    has_refused_its_only: bool = False
    """Whether the server refused a session on it while it had no other, and has served none since."""
    is_draining: bool = False
    is_lost: bool = False

    @property
    def has_room(self) -> bool:
        """Whether another session may begin on it."""
        if self.is_draining or self.is_lost or self.uses_left == 0:
            return False
        return self.sessions < self.session_limit

    def begin(self) -> None:
        """Count a session that begins."""
        self.sessions += 1
        self.uses += 1
        if self.uses_left is not None:
            self.uses_left -= 1

    def is_over(self, limits: Limits, now_s: float) -> bool:
        """Return whether it has come to the end of its age, or has been idle for long enough."""
        idle = self.sessions == 0 and now_s - self.idle_since_s >= limits.idle_s
        return idle or now_s - self.opened_s >= limits.age_s


@dataclass(slots=True, eq=False)
class Lane:
    """One version of a credential: its connections, its logins under way, and the requests that wait for a session."""

    account: Account
    connections: list[Connection] = field(default_factory=list)
    waiters: "deque[Future[Connection]]" = field(default_factory=deque)
    opening: int = 0
    closing: int = 0
    failure: LoginError | None = None
    """Why the last login did not come about, until one does."""
    refused_until_s: float = 0.0
    pause_until_s: float = 0.0
    """Until when it logs in no more because connections ended on which nothing had been done."""
    losses_in_a_row: int = 0
    is_superseded: bool = False

    def with_room(self) -> Connection | None:
        """Return the connection with room that has the most sessions, so that others become idle and go."""
        return max((one for one in self.connections if one.has_room), key=lambda one: one.sessions, default=None)

    def wants_connection(self, sessions_of_one: int, connections: int) -> bool:
        """Return whether one more connection would serve requests that wait, and the credential may have it."""
        expected = self.opening * sessions_of_one
        return len(self.waiters) > expected and len(self.connections) + self.opening + self.closing < connections

    def has_served(self) -> None:
        """Hear that something was done on a connection, so that the next one may be opened at once."""
        self.losses_in_a_row, self.pause_until_s = 0, 0.0

    def is_unused(self, now_s: float) -> bool:
        """Return whether there is nothing to remember."""
        has_some = self.connections or self.waiters or self.opening or self.closing
        return not (has_some or now_s < max(self.refused_until_s, self.pause_until_s))

    def drain(self) -> list[Connection]:
        """Let no session begin any more; return the connections that can be closed at once."""
        for connection in self.connections:
            connection.is_draining = True
        return [one for one in self.connections if one.sessions == 0]
