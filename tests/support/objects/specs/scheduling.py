"""Everything that a pod may tell the scheduler."""

from specs.spec import Spec

SELECTOR: Spec = {
    "matchLabels": {"app": "ssh", "tier": ""},
    "matchExpressions": [
        {"key": "app.kubernetes.io/name", "operator": "In", "values": ["ssh", "sftp"]},
        {"key": "old", "operator": "DoesNotExist"},
    ],
}
_NODES: Spec = {
    "matchExpressions": [
        {"key": "kubernetes.io/arch", "operator": "NotIn", "values": ["arm64"]},
        {"key": "cores", "operator": "Gt", "values": ["3"]},
    ],
    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}],
}
_PODS: Spec = {
    "labelSelector": SELECTOR,
    "namespaces": ["default", "load"],
    "namespaceSelector": {},
    "matchLabelKeys": ["sshload.dev/run-id"],
    "mismatchLabelKeys": ["sshload.dev/role"],
    "topologyKey": "kubernetes.io/hostname",
}
_NEAR: Spec = {
    "requiredDuringSchedulingIgnoredDuringExecution": [_PODS],
    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": _PODS}],
}
AFFINITY: Spec = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_NODES]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": _NODES}],
    },
    "podAffinity": _NEAR,
    "podAntiAffinity": _NEAR,
}
SPREAD: list[Spec] = [
    {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": SELECTOR,
        "minDomains": 3,
        "nodeAffinityPolicy": "Ignore",
        "nodeTaintsPolicy": "Honor",
        "matchLabelKeys": ["sshload.dev/run-id"],
    }
]
