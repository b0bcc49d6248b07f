"""`target.managed.gateway`: a gateway of the run's own, which runs the workers' commands on the managed target."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from sshload_contract.declared import Default, Whole
from sshload_contract.gateway_policy import PolicyName

from sshload_operator.api.sshd import Sshd
from sshload_operator.api.targets.access import Access
from sshload_operator.api.targets.gateway import GATEWAY
from sshload_operator.api.targets.kind import ProgramInPath


@dataclass(frozen=True, slots=True)
class ManagedGateway(ProgramInPath):
    """A gateway for the run. The workers send it HTTP requests, and it logs in to sshd."""

    access: ClassVar[Access] = GATEWAY
    words: ClassVar[str] = "the gateway before it (its policy, its limits, its one process)"
    policy: Annotated[PolicyName, "How requests share SSH connections."]
    connections_per_credential: Annotated[
        int,
        Whole(1, 1_000),
        Default(4),
        "The maximum number of SSH connections. It is one with the policies that have one connection for each user.",
    ]
    sessions_per_connection: Annotated[
        int,
        Whole(1, 1_000),
        Default(10),
        "How many requests share a connection at once. It is one with login-per-request.",
    ]
    logins_per_host: Annotated[int, Whole(1, 1_000), Default(5), "The maximum number of logins at the same time."]

    def cautions(self, most: float, sshd: Sshd) -> Iterator[str]:
        """Speak of logins or sessions that sshd refuses, with at most so many requests at once."""
        connections = 1 if self.policy.has_one_connection else self.connections_per_credential
        logins, start = min(self.logins_per_host, connections, most), sshd.startups_before_drops
        if logins >= start:
            yield (
                f"spec.target.managed.gateway makes up to {logins} logins at once, and from {start} unauthenticated"
                " connections on sshd may drop some (MaxStartups), which the gateway tries again later: lower"
                " loginsPerHost or raise spec.target.managed.sshd.maxStartups"
            )
        allowed = sshd.most_sessions
        if self.policy is PolicyName.CONNECTION_PER_USER_UNLIMITED and most > allowed:
            yield (
                f"up to {most} requests share the one connection of spec.target.managed.gateway, and"
                f" spec.target.managed.sshd.maxSessions is {allowed}: those beyond it end in badGateway"
            )
        sessions = min(self.sessions_per_connection, most)
        if self.policy in {PolicyName.CONNECTION_PER_USER, PolicyName.POOL} and sessions > allowed:
            yield (
                f"spec.target.managed.gateway has up to {sessions} sessions on a connection, and"
                f" spec.target.managed.sshd.maxSessions is {allowed}: those beyond it are refused until the gateway has"
                " learned that; lower sessionsPerConnection"
            )
