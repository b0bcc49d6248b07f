"""What all pods of a run have in common: no credentials for the API, and Pod Security "restricted" but for a system."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from math import ceil
from typing import Any, Final

from sshload_operator.api.pods import Pods, Volume
from sshload_operator.api.shapes.reading import stated
from sshload_operator.manifests.labels import name_annotation, role_labels, role_selector
from sshload_operator.manifests.mounts import config_mount, empty_dir
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Role

_TMP_SIZE_LIMIT = "64Mi"
_VOLUME_HASH_CHARACTERS = 16
_LINUX = {"kubernetes.io/os": "linux"}
_NOT_INJECTED_LABELS = {
    "sidecar.istio.io/inject": "false",
    "istio.io/dataplane-mode": "none",
    "kuma.io/sidecar-injection": "disabled",
    "admission.datadoghq.com/enabled": "false",
}
"""Labels that keep service meshes out: with a mesh's proxy in the path, the proxy would be measured, not sshd."""
_NOT_INJECTED_ANNOTATIONS = {
    "sidecar.istio.io/inject": "false",
    "linkerd.io/inject": "disabled",
    "consul.hashicorp.com/connect-inject": "false",
}
_NOT_EVICTED_ANNOTATIONS = {
    "karpenter.sh/do-not-disrupt": "true",
    "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
}
"""Annotations that keep autoscalers from removing the node of a run's pod: the run would end as Invalid."""
_DEADLINE_MARGIN_S = 60
_GRACE_PERIOD_S = 5


@dataclass(frozen=True, slots=True)
class Confinement:
    """What a pod may do: fields of its spec, and the security context and the limits of its container."""

    pod: Mapping[str, Any]
    container: Mapping[str, Any]
    limits: Mapping[str, str] = field(default_factory=dict)


RESTRICTED: Final = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}
"""The security context of a container that Pod Security "restricted" admits."""


@dataclass(frozen=True, slots=True)
class Container:
    """The container of a pod that does its work.

    `mounts` and `volumes` are added to the config volume's mount and /tmp. Without `confinement`, Pod Security
    "restricted" admits it.
    """

    role: Role
    command: tuple[str, ...]
    ports: Mapping[str, int]
    readiness_port: str
    volumes: tuple[Mapping[str, Any], ...]
    mounts: tuple[Mapping[str, Any], ...] = ()
    confinement: Confinement | None = None


def pod_template(
    plan: Plan, container: Container, pods: Pods, spec: Mapping[str, Any], affinity: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the pod template of a role; `spec` holds what only this role's pods have.

    The test's labels and annotations take precedence over those that keep injectors and autoscalers away, and the
    installer's over the test's. `affinity` applies if the test's author gave none.
    """
    run_pods = plan.installation.run_pods
    confinement = container.confinement or _restricted(run_pods.user_id)
    return {
        "metadata": {
            "labels": {
                **_NOT_INJECTED_LABELS,
                **pods.labels,
                **run_pods.labels,
                **role_labels(plan, container.role),
            },
            "annotations": {
                **_NOT_INJECTED_ANNOTATIONS,
                **_NOT_EVICTED_ANNOTATIONS,
                **pods.annotations,
                **run_pods.annotations,
                **name_annotation(plan),
            },
        },
        "spec": {
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            **confinement.pod,
            "containers": [_container(plan, container, confinement, pods)],
            "volumes": [*container.volumes, _tmp(), *map(_volume, pods.volumes)],
            **spec,
            **_accounts(plan, pods),
            **_placement(plan, pods, affinity),
        },
    }


def _restricted(user_id: int | None) -> Confinement:
    security = {"runAsNonRoot": True, **_user(user_id), "seccompProfile": {"type": "RuntimeDefault"}}
    return Confinement({"securityContext": security}, RESTRICTED)


def _user(user_id: int | None) -> dict[str, Any]:
    if user_id is None:
        return {}
    ids = dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"), user_id)
    return {**ids, "fsGroupChangePolicy": "OnRootMismatch"}


def _tmp() -> dict[str, Any]:
    """Return the volume of /tmp: in memory, because OpenSSH's client takes keys from files there."""
    return empty_dir("tmp", _TMP_SIZE_LIMIT, medium="Memory")


def _volume(volume: Volume) -> dict[str, Any]:
    return {"name": _volume_name(volume), **stated(volume.source)}


def _volume_mount(volume: Volume) -> dict[str, Any]:
    return {
        "name": _volume_name(volume),
        "mountPath": volume.mount_path,
        **({"readOnly": True} if volume.read_only else {}),
    }


def _volume_name(volume: Volume) -> str:
    """Return a name that no other volume of the pod has, because no other is mounted there."""
    return f"mnt-{sha256(volume.mount_path.encode()).hexdigest()[:_VOLUME_HASH_CHARACTERS]}"


def _container(plan: Plan, container: Container, confinement: Confinement, pods: Pods) -> dict[str, Any]:
    manifest: dict[str, Any] = {
        "name": str(container.role),
        "image": plan.image(container.role),
        "imagePullPolicy": plan.installation.image_pull_policy,
        "command": list(container.command),
        "resources": _resources(plan.resources(container.role), confinement.limits),
        "securityContext": dict(confinement.container),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            config_mount(),
            *container.mounts,
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 an emptyDir of the pod's own
            *map(_volume_mount, pods.volumes),
        ],
    }
    if pods.env:
        manifest["env"] = [stated(variable) for variable in pods.env]
    if container.ports:
        manifest["ports"] = [
            {"name": name, "containerPort": port, "protocol": "TCP"} for name, port in container.ports.items()
        ]
    if container.readiness_port:
        manifest["readinessProbe"] = _readiness_probe(container.readiness_port)
    return manifest


def _resources(asked: Mapping[str, Any], limits: Mapping[str, str]) -> dict[str, Any]:
    """Return the resources that are asked for, with `limits` of what they leave open."""
    return {**asked, "limits": {**limits, **asked.get("limits", {})}} if limits else dict(asked)


def _readiness_probe(port: str) -> dict[str, Any]:
    """Return the probe. There is no liveness probe: a restart during a run would only spoil the run."""
    return {
        "httpGet": {"path": "/readyz", "port": port, "scheme": "HTTP"},
        "periodSeconds": 1,
        "timeoutSeconds": 2,
        "failureThreshold": 3,
    }


def _placement(plan: Plan, placed: Pods, affinity: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pod spec's fields for where a pod runs.

    A label that the test asks for takes precedence over the installer's of the same key; tolerations add up. `affinity`
    and the installer's hold for pods whose test asks for none.
    """
    run_pods = plan.installation.run_pods
    fields = {
        "nodeSelector": {**_LINUX, **run_pods.node_selector, **placed.node_selector},
        "tolerations": [dict(toleration) for toleration in (*run_pods.tolerations, *placed.tolerations)],
        "affinity": dict(placed.affinity or {**affinity, **run_pods.affinity}),
        "topologySpreadConstraints": [dict(constraint) for constraint in placed.topology_spread_constraints],
        "priorityClassName": placed.priority_class_name or run_pods.priority_class_name,
    }
    return {name: value for name, value in fields.items() if value}


def away_from(plan: Plan, *roles: Role) -> dict[str, Any]:
    """Return a preference for nodes without the run's pods of these roles, because sharing cores slows pods down."""
    preferred = [
        {
            "weight": 100,
            "podAffinityTerm": {
                "labelSelector": {"matchLabels": role_selector(plan, role)},
                "topologyKey": "kubernetes.io/hostname",
            },
        }
        for role in roles
    ]
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}} if preferred else {}


def _accounts(plan: Plan, pods: Pods) -> dict[str, Any]:
    """Return the service account, runtime class and pull secrets. The latter are the test's and the installation's."""
    pull_secrets = dict.fromkeys((*pods.image_pull_secrets, *plan.installation.image_pull_secrets))
    fields = {
        "imagePullSecrets": [{"name": name} for name in pull_secrets],
        "serviceAccountName": pods.service_account_name,
        "runtimeClassName": pods.runtime_class_name,
    }
    return {name: value for name, value in fields.items() if value}


def job_limits(plan: Plan) -> dict[str, Any]:
    """Return the Job fields that bound a load pod's life.

    The deadline is a backstop for a run whose operator is gone: the operator's own comes first. There is no TTL,
    because it would delete the master's log, and no retry, because a lost pod must show in the result.
    """
    return {
        "activeDeadlineSeconds": ceil(plan.spec.deadline_s) + _DEADLINE_MARGIN_S,
        "podReplacementPolicy": "Failed",
    }


def load_pod_spec() -> dict[str, Any]:
    """Return the pod fields of the master and the workers: never restarted, and quick to end."""
    return {"restartPolicy": "Never", "terminationGracePeriodSeconds": _GRACE_PERIOD_S}
