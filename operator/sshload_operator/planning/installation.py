"""The installation, as the chart writes it for the operator. No CRD has its schema: only the forms are declared."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Annotated, Any, Final, TypeAlias

import yaml
from sshload_contract.allow_list import AllowedTarget, AllowList, DeniedRange, entry_problem, range_problem
from sshload_contract.declared import (
    Absent,
    Check,
    Default,
    Duration,
    Entries,
    FreeForm,
    Items,
    Text,
    Whole,
    Words,
    WrittenAs,
)
from sshload_contract.names import ObjectName, Port

from sshload_operator.api.bounded_yaml import BoundedLoader
from sshload_operator.api.pods import Affinity, LabelValue, Resources, Toleration
from sshload_operator.api.shapes.errors import SpecError, shown
from sshload_operator.api.shapes.reading import read
from sshload_operator.api.spec import PERMISSIONS
from sshload_operator.planning.plan import UNPRIVILEGED, Installation, Limits, Resolvers, RunPods

_RANGES: Final = {
    "pods": "the cluster's pods",
    "services": "the cluster's services",
    "nodes": "the cluster's nodes",
    "others": "denied by the installer",
}
_Image: TypeAlias = Annotated[str, Text(shortest=1, longest=500)]
_Count: TypeAlias = Annotated[int | None, Whole(1, 1_000_000_000)]
_CIDR: Final = Text(shortest=1, longest=50)
_Resources: TypeAlias = Annotated[Mapping[str, Any], WrittenAs(Resources), Absent({})]
_Labels: TypeAlias = Annotated[Mapping[str, LabelValue], Entries(50), Absent({})]
_Object: TypeAlias = Annotated[Mapping[str, Any], FreeForm()]
_PERMISSIONS: Final = sorted(permission.name for permission in PERMISSIONS)


def _no_problem(problem: Callable[[str], str], wanted: str) -> Check:
    """Return the check that a text has no problem: an entry that is wrong would silently allow, or deny, nothing."""
    return Check(lambda text: f"must be {wanted}: {found}" if (found := problem(text)) else "")


def _network_problem(text: str) -> str:
    try:
        ip_network(text)
    except ValueError as error:
        return str(error)
    return ""


@dataclass(frozen=True, slots=True)
class _WrittenTarget:
    """A target that tests may load."""

    # A pattern of names, an address or a range.
    host: Annotated[
        str,
        Text(shortest=1, longest=253, pattern=r"[A-Za-z0-9.:*?/_\[\]!-]+", wanted="a host pattern or a CIDR"),
        _no_problem(entry_problem, "a host pattern, an address or a CIDR"),
    ]
    ports: Annotated[tuple[Port, ...], Items(least=1, most=100)]

    def value(self) -> AllowedTarget:
        """Return the entry of the allow-list."""
        return AllowedTarget(self.host, self.ports)


_Denied: TypeAlias = Annotated[
    tuple[Annotated[str, _CIDR, _no_problem(range_problem, "a CIDR such as 10.96.0.0/12")], ...],
    Items(most=100),
    Absent(()),
]


@dataclass(frozen=True, slots=True)
class _WrittenRanges:
    """Ranges that no test may load, unless a target of the allow-list names them."""

    pods: _Denied
    services: _Denied
    nodes: _Denied
    others: _Denied

    def value(self) -> tuple[DeniedRange, ...]:
        """Each range with what is there."""
        return tuple(DeniedRange(cidr, what) for name, what in _RANGES.items() for cidr in getattr(self, name))


def _unknown_permissions(written: Mapping[str, bool]) -> str:
    unknown = ", ".join(name for name in written if name not in _PERMISSIONS)
    return f"has no {shown(unknown)}: the permissions are {', '.join(_PERMISSIONS)}" if unknown else ""


_Permitted: TypeAlias = Annotated[
    Mapping[str, bool],
    Entries(50),
    Check(_unknown_permissions),
    Absent({}),
]


@dataclass(frozen=True, slots=True)
class _WrittenPeer:
    """Pods as a NetworkPolicy means them. The API server checks the selectors when a policy is made."""

    namespace_selector: _Object
    pod_selector: _Object

    def value(self) -> Mapping[str, Any]:
        """Return the peer as a policy has it."""
        return {"namespaceSelector": self.namespace_selector, "podSelector": self.pod_selector}


@dataclass(frozen=True, slots=True)
class _WrittenResolvers:
    """Where the cluster's names are resolved, besides the usual places."""

    pods: Annotated[tuple[Annotated[Mapping[str, Any], WrittenAs(_WrittenPeer)], ...], Items(most=20), Absent(())]
    addresses: Annotated[
        tuple[Annotated[str, _CIDR, _no_problem(_network_problem, "an address or a CIDR")], ...],
        Items(most=20),
        Absent(()),
    ]
    ports: Annotated[tuple[Port, ...], Items(most=20), Absent(())]

    def value(self) -> Resolvers:
        """Return the same for the policies, each address as a CIDR."""
        return Resolvers(self.pods, tuple(str(ip_network(address)) for address in self.addresses), self.ports)


@dataclass(frozen=True, slots=True)
class _WrittenRunPods:
    """What the installer settled for the pods of all runs."""

    user_id: Annotated[int | None, Whole(1, 2**31 - 1)]
    labels: _Labels
    annotations: Annotated[Mapping[str, Annotated[str, Text(longest=10_000)]], Entries(50), Absent({})]
    node_selector: _Labels
    tolerations: Annotated[tuple[Annotated[Mapping[str, Any], WrittenAs(Toleration)], ...], Items(most=20), Absent(())]
    affinity: Annotated[Mapping[str, Any], WrittenAs(Affinity), Absent({})]
    priority_class_name: Annotated[str, Text(longest=253), Absent("")]
    master_resources: _Resources
    target_resources: _Resources
    proxy_resources: _Resources
    gateway_resources: _Resources
    network_policies: Annotated[bool, Default(True)]
    extra_egress: Annotated[tuple[_Object, ...], Items(most=20), Absent(())]
    metrics_from: Annotated[tuple[_Object, ...], Items(most=20), Absent(())]

    def value(self) -> RunPods:
        """Return the same for the manifests."""
        return RunPods(**{name: getattr(self, name) for name in self.__slots__})


@dataclass(frozen=True, slots=True)
class _WrittenTestLimits:
    """The limits of one test."""

    worker_pods: _Count
    rate: _Count
    connections: _Count
    duration_s: Annotated[float | None, Duration("1s", "20000h")]


@dataclass(frozen=True, slots=True)
class _WrittenLimits:
    """The limits of an installation."""

    per_test: Annotated[_WrittenTestLimits, Default({})]
    concurrent_tests_per_namespace: _Count
    concurrent_tests: _Count

    def value(self) -> Limits:
        """Return the same for the planner."""
        one = self.per_test
        return Limits(
            worker_pods=one.worker_pods,
            rate=one.rate,
            connections=one.connections,
            duration_s=one.duration_s,
            tests_per_namespace=self.concurrent_tests_per_namespace,
            tests=self.concurrent_tests,
        )


@dataclass(frozen=True, slots=True)
class _WrittenInstallation:
    """What the installer settled."""

    worker_image: _Image
    target_image: _Image
    proxy_image: _Image
    gateway_image: _Image
    image_pull_policy: Annotated[str, Words(("Always", "IfNotPresent", "Never")), Default("IfNotPresent")]
    image_pull_secrets: Annotated[tuple[ObjectName, ...], Items(most=20), Absent(())]
    worker_resources: _Resources
    external_targets: Annotated[
        tuple[Annotated[AllowedTarget, WrittenAs(_WrittenTarget)], ...], Items(most=1_000), Absent(())
    ]
    denied_ranges: Annotated[tuple[DeniedRange, ...], WrittenAs(_WrittenRanges), Default({})]
    permitted: _Permitted
    dns: Annotated[Resolvers, WrittenAs(_WrittenResolvers), Default({})]
    run_pods: Annotated[RunPods, WrittenAs(_WrittenRunPods), Absent(UNPRIVILEGED)]
    limits: Annotated[Limits, WrittenAs(_WrittenLimits), Default({})]
    paused: Annotated[bool, Default(False)]
    channels: Annotated[Mapping[str, _Object], Entries(20), Absent({})]


def read_installation(text_yaml: str) -> Installation:
    """Return the installation that a YAML text spells; raises SpecError with all that is wrong.

    Absent `externalTargets` allow none, and a permission that is absent is as its declaration says. Pods whose test and
    installation name no resources ask for none.
    """
    try:
        value = yaml.load(text_yaml, Loader=BoundedLoader)  # noqa: S506 - a safe loader
    except yaml.YAMLError as error:
        raise SpecError("", f"is not YAML: {error}") from error
    written = read(_WrittenInstallation, value)
    return Installation(
        worker_image=written.worker_image,
        target_image=written.target_image,
        proxy_image=written.proxy_image,
        gateway_image=written.gateway_image,
        image_pull_policy=written.image_pull_policy,
        image_pull_secrets=written.image_pull_secrets,
        worker_resources=written.worker_resources,
        allow_list=AllowList(written.external_targets, written.denied_ranges),
        permitted=frozenset(
            permission.name
            for permission in PERMISSIONS
            if written.permitted.get(permission.name, permission.by_default)
        ),
        resolvers=written.dns,
        one_address=False,
        run_pods=written.run_pods,
        limits=written.limits,
        paused=written.paused,
        channels=written.channels,
    )
