"""How requests share connections: the policies, as numbers that the pool obeys."""

from dataclasses import dataclass

from sshload_contract.gateway_policy import PolicyName


@dataclass(frozen=True, slots=True)
class Limits:
    """What the pool never exceeds, and how long it waits and keeps.

    `connections` and `sessions` count all of this process, connections that are being opened or closed included.
    """

    policy: PolicyName
    connections: int
    connections_per_host: int
    connections_per_credential: int
    sessions: int
    sessions_per_connection: int
    logins_per_host: int
    waiting: int
    wait_s: float
    idle_s: float
    age_s: float
    refusal_pause_s: float
    """How long a login that the server refused is not tried again: servers punish addresses that fail often."""

    @property
    def connections_of_one(self) -> int:
        """How many connections one version of a credential may have at the same time."""
        return 1 if self.policy.has_one_connection else self.connections_per_credential

    @property
    def sessions_of_one(self) -> int:
        """How many sessions a connection may have at the same time, before the server has refused any."""
        if self.policy is PolicyName.CONNECTION_PER_USER_UNLIMITED:
            return self.sessions
        return 1 if self.policy is PolicyName.LOGIN_PER_REQUEST else self.sessions_per_connection

    @property
    def learns_from_refusals(self) -> bool:
        """Whether a session that the server refuses is tried elsewhere, and fewer are asked for from then on."""
        return self.policy is not PolicyName.CONNECTION_PER_USER_UNLIMITED

    @property
    def uses_of_one(self) -> int | None:
        """After how many sessions a connection is closed, None if only its age and idle time count."""
        return 1 if self.policy is PolicyName.LOGIN_PER_REQUEST else None
