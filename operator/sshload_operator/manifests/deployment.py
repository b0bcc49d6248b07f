"""What a Deployment makes, and the Service before it: the managed target, and each program in the path to it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from sshload_contract.wire.program import ProgramConfig
from sshload_contract.wire.run_config import TargetEndpoint

from sshload_operator.api.targets import ManagedTarget
from sshload_operator.manifests.labels import metadata, role_selector
from sshload_operator.manifests.pod import Container, away_from, pod_template
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Manifest, Role

_POD_SPEC: Final = {"terminationGracePeriodSeconds": 2}


class Hop(NamedTuple):
    """A pod that a connection to the target passes: its role, and the port that is connected to, with its name."""

    role: Role
    port_name: str
    port: int


@dataclass(frozen=True, slots=True)
class InCluster:
    """How a cluster runs a program in the path.

    `config` is told the program as its spec has it, and the hop behind it. It listens at a port of its own, `listens`
    by name, or at the same port as what is behind it; `ports` are its others, and its counts are at `stats_port`. The
    run's Secret has `key_files` for it: `keys` are mounted in its pod, by their folder, and `caller_files` in the
    workers'. They use the target by the `endpoint` at a host and port, with files in a folder; None: they log in to it
    through the program.
    """

    config: Callable[[Plan, Any, Hop], ProgramConfig]
    stats_port: int
    ports: Mapping[str, int]
    listens: tuple[str, int] | None = None
    key_files: tuple[str, ...] = ()
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    caller_files: tuple[str, ...] = ()
    endpoint: Callable[[str, int, str], TargetEndpoint] | None = None
    mounts: tuple[Mapping[str, Any], ...] = ()
    volumes: tuple[Mapping[str, Any], ...] = ()


def service(plan: Plan, role: Role, ports: Mapping[str, int]) -> Manifest:
    """Return the Service of a role, with `ports` by name.

    It leads to the pod even if that is not ready: an overloaded sshd must be measured, not hidden.
    """
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(plan, role),
        "spec": {
            "type": "ClusterIP",
            "selector": role_selector(plan, role),
            "publishNotReadyAddresses": True,
            "ports": [
                {"name": name, "port": port, "targetPort": name, "protocol": "TCP"} for name, port in ports.items()
            ],
        },
    }


def deployment(plan: Plan, target: ManagedTarget, container: Container) -> Manifest:
    """Return the Deployment of one pod. It has no deadline (Kubernetes refuses one), and idles without load.

    All pods are made and placed like the target's: those of programs in the path on another node if there is one, and
    without the variables and volumes for a custom image of the target.
    """
    role, affinity, pods = container.role, {}, target
    if role is not Role.TARGET:
        affinity, pods = away_from(plan, Role.TARGET), replace(target, env=(), volumes=())
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(plan, role),
        "spec": {
            "replicas": 1,
            "revisionHistoryLimit": 0,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": role_selector(plan, role)},
            "template": pod_template(plan, container, pods, _POD_SPEC, affinity),
        },
    }
