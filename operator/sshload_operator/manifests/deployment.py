"""What a Deployment makes, and the Service before it: the managed target, and each program in the path to it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from sshload_operator.api.targets import ManagedTarget
from sshload_operator.manifests.labels import metadata, role_selector
from sshload_operator.manifests.pod import Container, away_from, pod_template
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Manifest, Role

_POD_SPEC: Final = {"terminationGracePeriodSeconds": 2}


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
