"""What all pods of a run have in common: Pod Security "restricted", no credentials for the API, one container."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sshload_operator.api.spec import Placement
from sshload_operator.manifests.labels import role_labels
from sshload_operator.manifests.mounts import config_mount, empty_dir
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Role

_USER_ID = 10001
_TMP_SIZE_LIMIT = "64Mi"


@dataclass(frozen=True, slots=True)
class Container:
    """The one container of a pod. `mounts` and `volumes` come on top of the config volume's mount and /tmp."""

    role: Role
    image: str
    command: tuple[str, ...]
    ports: Mapping[str, int]
    resources: Mapping[str, Any]
    readiness_port: str
    mounts: tuple[Mapping[str, Any], ...]
    volumes: tuple[Mapping[str, Any], ...]


def pod_template(plan: Plan, container: Container, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pod template of a role; `spec` holds what only this role's pods have."""
    return {
        "metadata": {"labels": role_labels(plan, container.role)},
        "spec": {
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": _USER_ID,
                "runAsGroup": _USER_ID,
                "fsGroup": _USER_ID,
                "fsGroupChangePolicy": "OnRootMismatch",
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [_container(plan, container)],
            "volumes": [*container.volumes, _tmp()],
            **spec,
        },
    }


def _tmp() -> dict[str, Any]:
    """Return the volume of /tmp: in memory, because OpenSSH's client takes keys from files there."""
    return empty_dir("tmp", _TMP_SIZE_LIMIT, medium="Memory")


def _container(plan: Plan, container: Container) -> dict[str, Any]:
    manifest: dict[str, Any] = {
        "name": str(container.role),
        "image": container.image,
        "imagePullPolicy": plan.installation.image_pull_policy,
        "command": list(container.command),
        "resources": dict(container.resources),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [config_mount(), *container.mounts, {"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108 an emptyDir of the pod's own
    }
    if container.ports:
        manifest["ports"] = [
            {"name": name, "containerPort": port, "protocol": "TCP"} for name, port in container.ports.items()
        ]
    if container.readiness_port:
        manifest["readinessProbe"] = _readiness_probe(container.readiness_port)
    return manifest


def _readiness_probe(port: str) -> dict[str, Any]:
    """Return the probe. There is no liveness probe: a restart in the middle of a run would only spoil it."""
    return {
        "httpGet": {"path": "/readyz", "port": port, "scheme": "HTTP"},
        "periodSeconds": 1,
        "timeoutSeconds": 2,
        "failureThreshold": 3,
    }


def placement(placed: Placement, affinity: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pod spec's fields for where a pod runs; `affinity` holds where the test's author gave none."""
    fields = {
        "nodeSelector": dict(placed.node_selector),
        "tolerations": [dict(toleration) for toleration in placed.tolerations],
        "affinity": dict(placed.affinity or affinity),
        "topologySpreadConstraints": [dict(constraint) for constraint in placed.topology_spread_constraints],
        "priorityClassName": placed.priority_class_name,
    }
    return {name: value for name, value in fields.items() if value}


def image_pull_secrets(plan: Plan, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the pod spec's imagePullSecrets: the test's and the installation's, each once."""
    merged = dict.fromkeys((*names, *plan.installation.image_pull_secrets))
    return {"imagePullSecrets": [{"name": name} for name in merged]} if merged else {}
