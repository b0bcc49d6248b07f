"""What all pods of a run have in common: Pod Security "restricted", no credentials for the API, one container."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sshload_operator.api.pods import Placement
from sshload_operator.manifests.labels import role_labels
from sshload_operator.manifests.mounts import config_mount, empty_dir
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Role

_TMP_SIZE_LIMIT = "64Mi"
_LINUX = {"kubernetes.io/os": "linux"}
_NOT_INJECTED_LABELS = {
    "sidecar.istio.io/inject": "false",
    "istio.io/dataplane-mode": "none",
    "kuma.io/sidecar-injection": "disabled",
    "admission.datadoghq.com/enabled": "false",
}
"""What keeps service meshes out: through a proxy of theirs, that would be measured and not sshd."""
_NOT_INJECTED_ANNOTATIONS = {
    "sidecar.istio.io/inject": "false",
    "linkerd.io/inject": "disabled",
    "consul.hashicorp.com/connect-inject": "false",
}
_NOT_EVICTED_ANNOTATIONS = {
    "karpenter.sh/do-not-disrupt": "true",
    "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
}
"""What keeps a node that has a pod of a run from being taken away to save money: the run would end as Invalid."""


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
    """Return the pod template of a role; `spec` holds what only this role's pods have.

    The installer's labels and annotations take precedence over those that keep injectors and autoscalers away.
    """
    run_pods = plan.installation.run_pods
    return {
        "metadata": {
            "labels": {**_NOT_INJECTED_LABELS, **run_pods.labels, **role_labels(plan, container.role)},
            "annotations": {**_NOT_INJECTED_ANNOTATIONS, **_NOT_EVICTED_ANNOTATIONS, **run_pods.annotations},
        },
        "spec": {
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": {
                "runAsNonRoot": True,
                **_user(run_pods.user_id),
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [_container(plan, container)],
            "volumes": [*container.volumes, _tmp()],
            **spec,
        },
    }


def _user(user_id: int | None) -> dict[str, Any]:
    if user_id is None:
        return {}
    ids = dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"), user_id)
    return {**ids, "fsGroupChangePolicy": "OnRootMismatch"}


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


def placement(plan: Plan, placed: Placement, affinity: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pod spec's fields for where a pod runs; `affinity` holds where the test's author gave none.

    A label that the test asks for takes precedence over the installer's of the same key; tolerations add up.
    """
    run_pods = plan.installation.run_pods
    fields = {
        "nodeSelector": {**_LINUX, **run_pods.node_selector, **placed.node_selector},
        "tolerations": [dict(toleration) for toleration in (*run_pods.tolerations, *placed.tolerations)],
        "affinity": dict(placed.affinity or affinity),
        "topologySpreadConstraints": [dict(constraint) for constraint in placed.topology_spread_constraints],
        "priorityClassName": placed.priority_class_name,
    }
    return {name: value for name, value in fields.items() if value}


def image_pull_secrets(plan: Plan, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the pod spec's imagePullSecrets: the test's and the installation's, each once."""
    merged = dict.fromkeys((*names, *plan.installation.image_pull_secrets))
    return {"imagePullSecrets": [{"name": name} for name in merged]} if merged else {}
