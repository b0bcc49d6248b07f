"""`target.managed`: a server that the run makes, with a proxy or a gateway before it where its author wants one."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from sshload_contract.client import BY_KEY_IN_CEL, CHECK_HOST_CERTIFICATES, Auth, in_cel, listed
from sshload_contract.declared import Default, Rule
from sshload_contract.users import UsersInTurn
from sshload_contract.vocabulary import InPath

from sshload_operator.api.pods import Pods
from sshload_operator.api.sshd import Sshd
from sshload_operator.api.targets.access import SSH, Access
from sshload_operator.api.targets.fixtures import Fixtures
from sshload_operator.api.targets.kind import ProgramInPath, TargetKind
from sshload_operator.api.targets.managed_gateway import ManagedGateway
from sshload_operator.api.targets.proxy import Proxy
from sshload_operator.api.targets.system import System
from sshload_operator.api.users import Users
from sshload_operator.state import Role


@dataclass(frozen=True, slots=True)
class ManagedTarget(Pods, TargetKind):
    """An OpenSSH server that sshload deploys for the run and deletes afterwards."""

    kind: ClassVar[str] = "managed"
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.proxy) || !has(self.gateway) || self.proxy.kind == 'nginx'",
            "can have no proxy but nginx, which speaks HTTP",
            at=".gateway",
        ),
        Rule(
            "!has(self.gateway) || !self.sshd.hostCertificates",
            "must not be true with a gateway, which is told the host key itself",
            at=".sshd.hostCertificates",
        ),
    )
    spec_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            f"!has(self.target.managed) || has(self.target.managed.system) || self.client.auth in {BY_KEY_IN_CEL}",
            "a managed target accepts publickey, certificate and agent only, unless it has target.managed.system",
            at=".client.auth",
        ),
        Rule(
            f"!has(self.target.managed) || self.client.auth != '{Auth.GSSAPI}'"
            " || has(self.target.managed.system) && has(self.target.managed.system.kerberos)",
            "a managed target accepts gssapi only if it has target.managed.system.kerberos",
            at=".client.auth",
        ),
        Rule(
            "!has(self.target.managed) || has(self.via) || !has(self.client) || !has(self.client.kerberos)"
            " || !has(self.client.kerberos.realms)",
            "are for servers that exist: a managed target has a realm of its own",
            at=".client.kerberos.realms",
        ),
        Rule(
            "!has(self.target.managed) || !has(self.client) || !has(self.client.certificates)"
            " || !has(self.client.certificates.ca)",
            "is for servers that exist: a managed target has an authority that is made for the run",
            at=".client.certificates.ca",
        ),
        Rule(
            "!has(self.target.managed) || !self.target.managed.sshd.hostCertificates"
            f" || self.client.library in {in_cel(CHECK_HOST_CERTIFICATES)}",
            f"only the libraries {listed(CHECK_HOST_CERTIFICATES)} check certificates of hosts",
            at=".target.managed.sshd.hostCertificates",
        ),
        Rule(
            "!has(self.target.managed) || !has(self.client) || !has(self.client.prompts)"
            " || has(self.target.managed.system)",
            "are for a managed target with system only: its sshd alone asks for nothing but a key",
            at=".client.prompts",
        ),
        Rule(
            "!has(self.target.managed) || !has(self.target.managed.system)"
            " || !has(self.target.managed.system.secondFactor)"
            f" || self.client.auth in {BY_KEY_IN_CEL}"
            " && has(self.client) && has(self.client.prompts)",
            "needs a key (client.auth) and an entry of client.prompts that answers by totp",
            at=".target.managed.system.secondFactor",
        ),
        Rule(
            "!has(self.target.managed) || !has(self.client) || !has(self.client.totp)",
            "is for servers that exist: the codes of a managed target are SHA1, 6 digits, 30s",
            at=".client.totp",
        ),
    )
    sshd: Annotated[Sshd, Default({})]
    fixtures: Annotated[Fixtures, Default({})]
    proxy: Proxy | None
    gateway: ManagedGateway | None
    system: System | None

    @property
    def managed(self) -> "ManagedTarget":
        """The target itself."""
        return self

    def users_in_turn(self, users: Users | None, path: str) -> UsersInTurn | None:
        """Return its users in turn, None if there is one. `path` is that of the secret of a population."""
        return None if self.system is None else self.system.in_turn(users, path)

    @property
    def has_kdc(self) -> bool:
        """Whether a KDC runs beside its sshd."""
        return self.system is not None and self.system.kerberos is not None

    @property
    def in_path(self) -> dict[InPath, ProgramInPath]:
        """The programs in the path to it, in the order in which the workers' connections pass them."""
        return {part: program for part in InPath if (program := getattr(self, part)) is not None}

    @property
    def pods(self) -> tuple[Role, ...]:
        """The roles of its pod, and of those of the programs in the path to it."""
        return (Role.TARGET, *(Role(part) for part in self.in_path))

    @property
    def access(self) -> Access:
        """As the program right before it wants it; by SSH, if there is none."""
        return next((program.access for program in reversed(self.in_path.values())), SSH)

    @property
    def before_it(self) -> str:
        """In words what is right before it and may be short of something unseen by sshload; empty for nothing."""
        return next((f"{program.words}, " for program in reversed(self.in_path.values())), "")

    @property
    def identity(self) -> str:
        """The same for all: figures show the effect of another configuration."""
        return self.kind
