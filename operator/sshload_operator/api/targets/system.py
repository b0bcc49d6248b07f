"""`target.managed.system`: the server of a distribution, with root, PAM and real accounts, made for the run."""

from dataclasses import dataclass
from typing import Annotated

from sshload_contract.declared import Default, Duration, Named, Permission, Whole
from sshload_contract.population import MOST_USERS, user_home, user_name
from sshload_contract.users import DerivedUsers, UsersInTurn
from sshload_contract.wire.target import PamSwitches, SecondFactor, TargetKerberos, TargetSystem

from sshload_operator.api.targets.ldap import Ldap
from sshload_operator.api.users import ALL_IN_TURN, Users


@dataclass(frozen=True, slots=True)
class ManagedKerberos:
    """A Kerberos realm of the target's own, with a KDC beside its sshd (MIT's), for client.auth gssapi."""

    ticket_s: Annotated[
        float,
        Duration("10s", "168h", example="10h"),
        Named("ticketLifetime"),
        Default("10h"),
        "How long tickets are good. The workers renew theirs.",
    ]


@dataclass(frozen=True, slots=True)
class System:
    """The server as a distribution has it. sshd runs as root, with PAM, and logs in real accounts.

    The accounts are made for the run: user00001 and so on, each with a home and a key of its own, and all with one
    password.
    """

    users: Annotated[int, Whole(1, MOST_USERS), Default(1), "How many accounts there are."]
    pam: Annotated[PamSwitches, Default({})]
    max_logins: Annotated[
        int | None,
        Whole(1, 100_000),
        "How many logins of one user pam_limits allows at once (maxlogins of limits.conf). It counts sessions with a"
        " terminal. Without it, as the distribution has it.",
    ]
    user_namespace: Annotated[
        bool,
        Default(True),
        Permission("systemTargets"),
        "In a cluster, run the pod in a user namespace (hostUsers: false), so that its root is nobody on the node. The"
        " run ends in Error where there is none. false: root in the pod is root on the node, as far as a container"
        " reaches.",
    ]
    ldap: Ldap | None
    kerberos: ManagedKerberos | None
    second_factor: Annotated[
        SecondFactor | None,
        "What PAM asks for after the key: totp, a code (pam_oath), which client.prompts answers.",
    ]

    @property
    def first_user(self) -> tuple[str, str]:
        """The name and the home of the first user, who logs in where no others are asked for."""
        name = user_name(1)
        return name, user_home(name)

    def in_turn(self, users: Users | None, path: str) -> UsersInTurn | None:
        """Return its users in turn, as client.users has it, None if only the first one logs in.

        `path` is that of the secret from which their credentials follow.
        """
        if users is None and self.users == 1 and self.second_factor is None:
            return None
        return (users or ALL_IN_TURN).in_turn(DerivedUsers(path, self.users))

    @property
    def wire(self) -> TargetSystem:
        """What the target itself is told."""
        return TargetSystem(
            users=self.users,
            pam=self.pam,
            max_logins=self.max_logins,
            ldap=None if self.ldap is None else self.ldap.wire,
            kerberos=None if self.kerberos is None else TargetKerberos(ticket_s=self.kerberos.ticket_s),
            second_factor=self.second_factor,
        )
