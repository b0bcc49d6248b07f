"""`target.managed.gateway`: a gateway of the run's own, which runs the workers' commands on the managed target."""

from dataclasses import dataclass
from typing import Annotated

from sshload_contract.declared import Default, Whole
from sshload_contract.gateway_policy import PolicyName


@dataclass(frozen=True, slots=True)
class ManagedGateway:
    """A gateway for the run. The workers send it HTTP requests, and it logs in to sshd."""

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
