"""What the installer settled, declared once: how the chart writes it for the operator, and the chart's schema of it.

`scripts/installation_schema.py` makes that schema.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, make_dataclass
from ipaddress import ip_network
from typing import Annotated, Any, Final, TypeAlias, TypedDict

import yaml
from sshload_contract.allow_list import AllowedTarget, AllowList, DeniedRange, range_problem
from sshload_contract.declared import (
    Absent,
    Check,
    Default,
    Duration,
    Entries,
    FreeForm,
    Items,
    Named,
    Text,
    Unwritten,
    Whole,
    Words,
    WrittenAs,
)
from sshload_contract.names import IMAGE_USER_ID, ObjectName, Port

from sshload_operator.api.bounded_yaml import BoundedLoader
from sshload_operator.api.pods import Affinity, LabelValue, Resources, Toleration
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.shapes.reading import read
from sshload_operator.api.spec import PERMISSIONS
from sshload_operator.state import Role

EVERYTHING_PERMITTED = frozenset(permission.name for permission in PERMISSIONS)
"""The names of all permissions, for where no installer says which tests have."""

_Image: TypeAlias = Annotated[str, Text(shortest=1, longest=500)]
_MOST: Final = Whole(1, 1_000_000_000)
_Resources: TypeAlias = Annotated[Mapping[str, Any], WrittenAs(Resources), Absent({})]
_Labels: TypeAlias = Annotated[Mapping[str, LabelValue], Entries(50), Absent({})]
_Object: TypeAlias = Annotated[Mapping[str, Any], FreeForm()]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsOfTest:
    """The limits of one test: `rate` in iterations per second, `connections` open at once.

    `duration_s` is of its warm-up and load, of a search its whole deadline. None stands for no limit.
    """

    worker_pods: Annotated[int | None, _MOST] = None
    rate: Annotated[float | None, _MOST] = None
    connections: Annotated[int | None, _MOST] = None
    duration_s: Annotated[float | None, Duration("1s", "20000h")] = None


_NO_LIMITS_OF_TEST = LimitsOfTest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of each test, and how many tests may run at once, in a namespace and altogether."""

    per_test: Annotated[LimitsOfTest, Absent(_NO_LIMITS_OF_TEST)] = _NO_LIMITS_OF_TEST
    tests_per_namespace: Annotated[int | None, _MOST, Named("concurrentTestsPerNamespace")] = None
    tests: Annotated[int | None, _MOST, Named("concurrentTests")] = None


_NO_LIMITS = Limits()


def _network_problem(text: str) -> str:
    try:
        ip_network(text)
    except ValueError as error:
        return f"must be an address or a CIDR: {error}"
    return ""


def _range_problem(text: str) -> str:
    """Return what is wrong with a range: one that is wrong would silently deny nothing."""
    found = range_problem(text)
    return f"must be a CIDR such as 10.96.0.0/12: {found}" if found else ""


_Denied: TypeAlias = Annotated[
    tuple[Annotated[str, Text(shortest=1, longest=50), Check(_range_problem)], ...], Items(most=100), Absent(())
]


@dataclass(frozen=True, slots=True)
class _Ranges:
    """Ranges that no test may load, unless a target of the allow-list names them."""

    pods: _Denied
    services: _Denied
    nodes: _Denied
    others: _Denied

    def value(self) -> tuple[DeniedRange, ...]:
        """Each range with what is there."""
        denied = {
            "the cluster's pods": self.pods,
            "the cluster's services": self.services,
            "the cluster's nodes": self.nodes,
            "denied by the installer": self.others,
        }
        return tuple(DeniedRange(cidr, what) for what, cidrs in denied.items() for cidr in cidrs)


class _Peer(TypedDict):
    """Pods as a NetworkPolicy means them. The API server checks the selectors when a policy is made."""

    namespaceSelector: _Object
    podSelector: _Object


@dataclass(frozen=True, slots=True)
class Resolvers:
    """Where the cluster's names are resolved, besides the usual places: peers of a NetworkPolicy, CIDRs, and ports."""

    peers: Annotated[
        tuple[Annotated[Mapping[str, Any], WrittenAs(_Peer)], ...], Items(most=20), Absent(()), Named("pods")
    ]
    cidrs: Annotated[
        tuple[Annotated[str, Text(shortest=1, longest=50), Check(_network_problem)], ...],
        Items(most=20),
        Absent(()),
        Named("addresses"),
    ]
    ports: Annotated[tuple[Port, ...], Items(most=20), Absent(())]


@dataclass(frozen=True, slots=True)
class RunPods:
    """What the installer settled for the pods of all runs.

    Pods run as `user_id`, with a group and an fsGroup of the same number; None leaves all three to the cluster, as
    OpenShift's restricted-v2 wants it. `node_selector` and `tolerations` join the test's. `affinity`,
    `priority_class_name` and the resources of a role are those of pods whose test names none. `extra_egress` are rules
    of a NetworkPolicy that the policies of all roles get.
    `metrics_from` are the peers that may scrape masters and targets. Without `network_policies` a run has no policies.
    """

    user_id: Annotated[int | None, Whole(1, 2**31 - 1)]
    labels: _Labels = field(default_factory=dict)
    annotations: Annotated[Mapping[str, Annotated[str, Text(longest=10_000)]], Entries(50), Absent({})] = field(
        default_factory=dict
    )
    node_selector: _Labels = field(default_factory=dict)
    tolerations: Annotated[
        tuple[Annotated[Mapping[str, Any], WrittenAs(Toleration)], ...], Items(most=20), Absent(())
    ] = ()
    affinity: Annotated[Mapping[str, Any], WrittenAs(Affinity), Absent({})] = field(default_factory=dict)
    priority_class_name: Annotated[str, Text(longest=253), Absent("")] = ""
    master_resources: _Resources = field(default_factory=dict)
    target_resources: _Resources = field(default_factory=dict)
    proxy_resources: _Resources = field(default_factory=dict)
    gateway_resources: _Resources = field(default_factory=dict)
    network_policies: Annotated[bool, Default(True)] = True
    extra_egress: Annotated[tuple[_Object, ...], Items(most=20), Absent(())] = ()
    metrics_from: Annotated[tuple[_Object, ...], Items(most=20), Absent(())] = ()


UNPRIVILEGED = RunPods(user_id=IMAGE_USER_ID)
"""Pods of the images' own user, and nothing else settled."""

_Permitted = make_dataclass(
    "_Permitted",
    [(one.name, Annotated[bool, Default(one.by_default)]) for one in sorted(PERMISSIONS, key=lambda one: one.name)],
    namespace={"value": lambda self: frozenset(name for name in EVERYTHING_PERMITTED if getattr(self, name))},
)


@dataclass(frozen=True, slots=True)
class Installation:
    """What the installer settled. Read from the operator's configuration.

    `worker_resources` are those of worker pods whose test names none. `one_address` says that all workers share one
    source address, and its ports: they are processes of one machine, and no pods. `permitted` are the names of the
    permissions that tests have. While `paused`, no run begins. `channels` are told of the
    ends of runs, each by its name as it was written: a channel reads its own part.
    """

    worker_image: _Image
    target_image: _Image
    system_image: _Image
    proxy_image: _Image
    gateway_image: _Image
    image_pull_policy: Annotated[str, Words(("Always", "IfNotPresent", "Never")), Default("IfNotPresent")]
    image_pull_secrets: Annotated[tuple[ObjectName, ...], Items(most=20), Absent(())]
    worker_resources: _Resources
    external_targets: Annotated[tuple[AllowedTarget, ...], Items(most=1_000), Absent(())]
    denied_ranges: Annotated[tuple[DeniedRange, ...], WrittenAs(_Ranges), Default({})]
    permitted: Annotated[frozenset[str], WrittenAs(_Permitted), Default({})]
    resolvers: Annotated[Resolvers, Default({}), Named("dns")]
    one_address: Annotated[bool, Unwritten(False)]
    run_pods: Annotated[RunPods, Absent(UNPRIVILEGED)] = UNPRIVILEGED
    limits: Annotated[Limits, Absent(_NO_LIMITS)] = _NO_LIMITS
    paused: Annotated[bool, Default(False)] = False
    channels: Annotated[Mapping[str, _Object], Entries(20), Absent({})] = field(default_factory=dict)

    @property
    def allow_list(self) -> AllowList:
        """The servers that tests may load."""
        return AllowList(self.external_targets, self.denied_ranges)

    def image(self, role: Role) -> str:
        """Return the image of a role's pods whose test names none."""
        image: str = getattr(self, role + "_image", self.worker_image)
        return image

    def resources(self, role: Role) -> Mapping[str, Any]:
        """Return the resources of a role's pods whose test names none."""
        of = self if role is Role.WORKER else self.run_pods
        given: Mapping[str, Any] = getattr(of, role + "_resources")
        return given


NOT_INSTALLED = Installation(
    worker_image="",
    target_image="",
    system_image="",
    proxy_image="",
    gateway_image="",
    image_pull_policy="",
    image_pull_secrets=(),
    worker_resources={},
    external_targets=(),
    denied_ranges=(),
    permitted=EVERYTHING_PERMITTED,
    resolvers=Resolvers(peers=(), cidrs=(), ports=()),
    one_address=False,
)
"""What stands for an installation where there is no cluster: there are no images, and everything is permitted."""


def read_installation(text_yaml: str) -> Installation:
    """Return the installation that a YAML text spells; raises SpecError with all that is wrong.

    Absent `externalTargets` allow none, and a permission that is absent is as its declaration says. Pods whose test and
    installation name no resources ask for none.
    """
    try:
        value = yaml.load(text_yaml, Loader=BoundedLoader)  # noqa: S506 - a safe loader
    except yaml.YAMLError as error:
        raise SpecError("", f"is not YAML: {error}") from error
    return read(Installation, value)
