"""`target.managed`: a server that the run makes, with a proxy or a gateway before it where its author wants one."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from sshload_contract.client import BY_KEY_IN_CEL
from sshload_contract.declared import Default, Rule

from sshload_operator.api.managed_gateway import ManagedGateway
from sshload_operator.api.pods import Pods
from sshload_operator.api.proxy import Proxy
from sshload_operator.api.sshd import Sshd
from sshload_operator.api.targets.access import SSH, Access
from sshload_operator.api.targets.fixtures import Fixtures
from sshload_operator.api.targets.gateway import GATEWAY
from sshload_operator.api.targets.kind import TargetKind
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
    )
    spec_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            f"!has(self.target.managed) || self.client.auth in {BY_KEY_IN_CEL}",
            "a managed target accepts publickey, certificate and agent only",
            at=".client.auth",
        ),
    )
    sshd: Annotated[Sshd, Default({})]
    fixtures: Annotated[Fixtures, Default({})]
    proxy: Proxy | None
    gateway: ManagedGateway | None

    @property
    def managed(self) -> "ManagedTarget":
        """The target itself."""
        return self

    @property
    def pods(self) -> tuple[Role, ...]:
        """The roles of its pod, and of those of the proxy and the gateway before it."""
        proxy = () if self.proxy is None else (Role.PROXY,)
        return (Role.TARGET, *proxy, *(() if self.gateway is None else (Role.GATEWAY,)))

    @property
    def access(self) -> Access:
        """By SSH, unless there is a gateway before it."""
        return SSH if self.gateway is None else GATEWAY

    @property
    def before_it(self) -> str:
        """In words what is before it and may be short of something, which sshload does not see; empty for nothing."""
        if self.gateway is not None:
            return "the gateway before it (its policy, its limits, its one process), "
        return "" if self.proxy is None else "the proxy before it, "

    @property
    def identity(self) -> str:
        """The same for all: figures show the effect of another configuration."""
        return self.kind
