"""The pods of a run: their image, resources and place, and what the installer may permit to add to them.

What a pod tells the scheduler stays as Kubernetes writes it.

Fields and bounds of the Kubernetes objects are those of Kubernetes 1.36. What the fields mean together is checked by
the API server when the pod is made.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Required, TypeAlias, TypedDict

from sshload_contract.declared import (
    Absent,
    Default,
    Entries,
    Inline,
    Items,
    Permission,
    Rule,
    Size,
    Text,
    Whole,
    WholeOrText,
    Words,
    WrittenAs,
    exactly_one,
)
from sshload_contract.names import OBJECT_NAME, ConfigMapKey, ObjectName, SecretName

_INT32_MOST: Final = 2**31 - 1
_INT64_MOST: Final = 2**63 - 1
_LABEL_KEY_CHARACTERS: Final = 317  # 253 of the prefix, the slash, and 63 of the name

_LABEL_VALUE: Final = Text(
    longest=63, pattern=r"([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?", wanted="the value of a label"
)
LabelValue: TypeAlias = Annotated[str, Text(longest=63), "The label's value."]
_LabelKey: TypeAlias = Annotated[str, Text(shortest=1, longest=_LABEL_KEY_CHARACTERS), "The label's key."]
_LabelKeys: TypeAlias = Annotated[list[_LabelKey], Items(most=10)]
_TopologyKey: TypeAlias = Annotated[
    str,
    Text(shortest=1, longest=_LABEL_KEY_CHARACTERS),
    "The node label that defines the topology domains, such as the label of the zone.",
]
_Weight: TypeAlias = Annotated[int, Whole(1, 100), "The weight of this preference."]
_Honor: TypeAlias = Annotated[str, Words(("Honor", "Ignore"))]
_Compared: TypeAlias = Annotated[str, Words(("In", "NotIn", "Exists", "DoesNotExist")), "How the values are compared."]
_Amounts: TypeAlias = Annotated[
    Mapping[
        str,
        Annotated[
            int | str,
            WholeOrText(
                32,
                r"[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?",
                least=0,
                most=None,
                wanted="an amount, such as 500m or 256Mi",
            ),
            "An amount, such as 500m or 256Mi.",
        ],
    ],
    Entries(10),
]
_READ_BY_US: Final = (
    r"(LOCUST|SSHLOAD|PYTHON|LD_|GLIBC_|MALLOC_|GCONV|OPENSSL|GEVENT|GREENLET|SSH|GIT_|RSYNC|KUBERNETES_|BASH|LC_|LANG"
    r"|LIBEV_|KRB5|JOB_COMPLETION_INDEX$|ENV$|IFS$|PATH$|HOME$|SHELL$|TMPDIR$|TEMP$|TMP$|LOCPATH$|NLSPATH$|HOSTALIASES$|LOCALDOMAIN$"
    r"|RES_OPTIONS$)"
)
"""Names of variables that the programs of a run read, or the libraries below them."""
_LABEL_KEY: Final = r"([a-z0-9][a-z0-9.-]{0,251}[a-z0-9]/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
_RESERVED_KEY: Final = r"([a-z0-9.-]*[.])?(sshload[.]dev|kubernetes[.]io|k8s[.]io)/.*"


class Toleration(TypedDict, total=False):
    """One toleration, as in a pod."""

    key: Annotated[str, Text(longest=_LABEL_KEY_CHARACTERS), "The taint's key. Without it, any."]
    operator: Annotated[str, Words(("Exists", "Equal")), "How the value is compared."]
    value: Annotated[str, Text(longest=63), "The taint's value."]
    effect: Annotated[
        str, Words(("NoSchedule", "PreferNoSchedule", "NoExecute")), "The taint's effect. Without it, any."
    ]
    tolerationSeconds: Annotated[int, Whole(-_INT64_MOST - 1, _INT64_MOST), "How long NoExecute is tolerated."]


class _NodeRequirement(TypedDict, total=False):
    """One requirement."""

    key: Required[_LabelKey]
    operator: Required[
        Annotated[str, Words(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")), "How the values are compared."]
    ]
    values: Annotated[
        list[Annotated[str, Text(longest=63), "One value."]],
        Items(most=100),
        "The values: one number for Gt and Lt, none for Exists and DoesNotExist.",
    ]


class _FieldRequirement(TypedDict, total=False):
    """One requirement."""

    key: Required[
        Annotated[
            str,
            Text(shortest=1, longest=_LABEL_KEY_CHARACTERS),
            "The field's name. Kubernetes knows metadata.name.",
        ]
    ]
    operator: Required[Annotated[str, Words(("In", "NotIn")), "How the value is compared."]]
    values: Annotated[list[Annotated[str, Text(longest=253), "One value."]], Items(most=1), "The value."]


class _NodeSelectorTerm(TypedDict, total=False):
    """What a node must be. All requirements must hold."""

    matchExpressions: Annotated[list[_NodeRequirement], Items(most=10), "Requirements of the node's labels."]
    matchFields: Annotated[list[_FieldRequirement], Items(most=10), "Requirements of the node's fields."]


class _NodeSelector(TypedDict, total=False):
    """What must hold."""

    nodeSelectorTerms: Required[Annotated[list[_NodeSelectorTerm], Items(most=10, least=1), "One of these must hold."]]


class _NodePreference(TypedDict, total=False):
    """One preference."""

    weight: Required[_Weight]
    preference: Required[_NodeSelectorTerm]


class _NodeAffinity(TypedDict, total=False):
    """Nodes to run on."""

    requiredDuringSchedulingIgnoredDuringExecution: _NodeSelector
    preferredDuringSchedulingIgnoredDuringExecution: Annotated[
        list[_NodePreference], Items(most=10), "What is preferred."
    ]


class _LabelRequirement(TypedDict, total=False):
    """One requirement."""

    key: Required[_LabelKey]
    operator: Required[_Compared]
    values: Annotated[
        list[Annotated[str, Text(longest=63), "One value."]],
        Items(most=20),
        "The values: none for Exists and DoesNotExist.",
    ]


class _LabelSelector(TypedDict, total=False):
    """Labels of objects."""

    matchLabels: Annotated[Mapping[str, LabelValue], Entries(20), "Labels that an object must have."]
    matchExpressions: Annotated[list[_LabelRequirement], Items(most=10), "Requirements of the labels."]


class _PodAffinityTerm(TypedDict, total=False):
    """The other pods, and the topology domains."""

    labelSelector: Annotated[_LabelSelector, "Labels of the other pods."]
    namespaces: Annotated[
        list[Annotated[str, Text(longest=63), "One namespace."]],
        Items(most=20),
        "The namespaces of the other pods. Without namespaces and namespaceSelector, the pod's own.",
    ]
    namespaceSelector: Annotated[
        _LabelSelector, "Labels of the namespaces of the other pods. An empty selector selects all."
    ]
    matchLabelKeys: Annotated[_LabelKeys, "Label keys for which the other pods must have the same values as the pod."]
    mismatchLabelKeys: Annotated[
        _LabelKeys, "Label keys for which the other pods must not have the same values as the pod."
    ]
    topologyKey: Required[_TopologyKey]


class _PodPreference(TypedDict, total=False):
    """One preference."""

    weight: Required[_Weight]
    podAffinityTerm: Required[_PodAffinityTerm]


class _PodAffinity(TypedDict, total=False):
    """Other pods to be near to."""

    requiredDuringSchedulingIgnoredDuringExecution: Annotated[list[_PodAffinityTerm], Items(most=10), "What must hold."]
    preferredDuringSchedulingIgnoredDuringExecution: Annotated[
        list[_PodPreference], Items(most=10), "What is preferred."
    ]


class Affinity(TypedDict, total=False):
    """The nodes on which, and the other pods near which, the pods run, as in a pod."""

    nodeAffinity: _NodeAffinity
    podAffinity: _PodAffinity
    podAntiAffinity: Annotated[_PodAffinity, "Other pods to stay away from."]


class SpreadConstraint(TypedDict, total=False):
    """One constraint."""

    maxSkew: Required[
        Annotated[int, Whole(1, _INT32_MOST), "How much the numbers of pods in two topology domains may differ."]
    ]
    topologyKey: Required[_TopologyKey]
    whenUnsatisfiable: Required[
        Annotated[str, Words(("DoNotSchedule", "ScheduleAnyway")), "What happens to a pod that would exceed maxSkew."]
    ]
    labelSelector: Annotated[_LabelSelector, "Labels of the pods that count."]
    minDomains: Annotated[
        int, Whole(1, _INT32_MOST), "The minimum number of topology domains. Only with DoNotSchedule."
    ]
    nodeAffinityPolicy: Annotated[
        _Honor, "Whether only nodes count that match the pod's affinity and nodeSelector. Without it, Honor."
    ]
    nodeTaintsPolicy: Annotated[_Honor, "Whether only nodes count whose taints the pod tolerates. Without it, Ignore."]
    matchLabelKeys: Annotated[_LabelKeys, "Label keys. Pods with different values are counted separately."]


class Resources(TypedDict, total=False):
    """CPU and memory of each pod."""

    requests: Annotated[_Amounts, "What is reserved for the pod."]
    limits: Annotated[_Amounts, "The most that the pod may use."]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where pods run, and with which resources: Kubernetes' own objects, passed on unchanged."""

    resources: Annotated[Mapping[str, Any], WrittenAs(Resources), Absent({})]
    node_selector: Annotated[
        Mapping[str, LabelValue],
        Entries(20),
        Absent({}),
        Permission("nodeSelector"),
        "Labels that a node must have to run the pods.",
    ]
    tolerations: Annotated[
        tuple[Annotated[Mapping[str, Any], WrittenAs(Toleration)], ...],
        Items(most=20),
        Absent(()),
        Permission("tolerations"),
        "Tolerations of the pods.",
    ]
    affinity: Annotated[Mapping[str, Any], WrittenAs(Affinity), Absent({}), Permission("affinity")]
    topology_spread_constraints: Annotated[
        tuple[Annotated[Mapping[str, Any], WrittenAs(SpreadConstraint)], ...],
        Items(most=10, key=("topologyKey", "whenUnsatisfiable")),
        Absent(()),
        Permission("topologySpreadConstraints"),
        "How the pods are spread over nodes, zones and other topology domains, as in a pod.",
    ]
    priority_class_name: Annotated[
        str, Text(longest=253), Absent(""), Permission("priorityClassName"), "The priority class of the pods."
    ]


@dataclass(frozen=True, slots=True)
class ConfigMapKeyRef:
    """A key of a ConfigMap of this namespace."""

    name: Annotated[ObjectName, "The ConfigMap's name."]
    key: Annotated[ConfigMapKey, "The key."]


@dataclass(frozen=True, slots=True)
class ValueFrom:
    """Where the value comes from. It cannot come from a Secret: mount that with volumes."""

    config_map_key_ref: ConfigMapKeyRef


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable: exactly one of value and valueFrom."""

    rules: ClassVar[tuple[Rule, ...]] = (exactly_one("value", "valueFrom"),)
    name: Annotated[
        str,
        Text(shortest=1, longest=100, pattern=r"[A-Za-z_][A-Za-z0-9_]*", wanted="the name of a variable"),
        Rule(
            f"!self.matches('^{_READ_BY_US}')",
            "is the name of a variable that sshload's programs or their libraries read: use another name",
        ),
        "Its name. Names that sshload's programs or their libraries read are not allowed, such as LOCUST_...,"
        " PYTHON... and PATH.",
    ]
    value: Annotated[str | None, Text(longest=4096, pattern=r"[^\x00]*", wanted="a text"), "Its value."]
    value_from: ValueFrom | None


@dataclass(frozen=True, slots=True)
class ConfigMapVolume:
    """The keys of a ConfigMap of this namespace, as files."""

    kind: ClassVar[str] = "configMap"
    permission: ClassVar[Permission] = Permission("configMapVolumes")
    name: Annotated[ObjectName, "The ConfigMap's name."]


@dataclass(frozen=True, slots=True)
class SecretVolume:
    """The keys of a Secret of this namespace, as files."""

    kind: ClassVar[str] = "secret"
    permission: ClassVar[Permission] = Permission("secretVolumes")
    secret_name: Annotated[ObjectName, "The Secret's name."]


@dataclass(frozen=True, slots=True)
class EmptyDirVolume:
    """Room on the node's disk, for as long as the pod lives."""

    kind: ClassVar[str] = "emptyDir"
    permission: ClassVar[Permission] = Permission("emptyDirVolumes")
    size_limit_bytes: Annotated[int, Size("1", "100Gi", example="1Gi"), "How much may be written. At most 100Gi."]


@dataclass(frozen=True, slots=True)
class ClaimVolume:
    """What a PersistentVolumeClaim of this namespace is bound to. All pods of a run mount it."""

    kind: ClassVar[str] = "persistentVolumeClaim"
    permission: ClassVar[Permission] = Permission("persistentVolumeClaims")
    claim_name: Annotated[ObjectName, "The claim's name."]


@dataclass(frozen=True, slots=True)
class Volume:
    """One volume: exactly one of configMap, secret, emptyDir and persistentVolumeClaim."""

    mount_path: Annotated[
        str,
        Text(longest=253, pattern=r"/mnt(/[A-Za-z0-9_-][A-Za-z0-9._-]*)+", wanted="a path below /mnt"),
        "Where it is mounted, a path below /mnt.",
    ]
    read_only: Annotated[bool, Default(False), "Whether it is mounted read-only. A ConfigMap and a Secret always are."]
    source: Annotated[ConfigMapVolume | SecretVolume | EmptyDirVolume | ClaimVolume, Inline()]


def _of_keys(what: str) -> tuple[Rule, ...]:
    """Return the rules for the keys of a map of labels or annotations."""
    return (
        Rule(
            f"self.all(key, key.matches('^{_LABEL_KEY}$'))",
            f"must have keys that Kubernetes accepts, such as team or example.com/{what}",
        ),
        Rule(
            f"self.all(key, !key.matches('^{_RESERVED_KEY}$'))",
            "must have no keys of sshload.dev, kubernetes.io and k8s.io, which are reserved",
        ),
    )


@dataclass(frozen=True, slots=True)
class Pods(Placement):
    """What the pods of a run have in common. An empty `image` means the installation's."""

    image: Annotated[
        str,
        Permission("customImages", by_default=True),
        Text(longest=500, pattern=r"[A-Za-z0-9][A-Za-z0-9._:/@-]*", wanted="an image"),
        Absent(""),
        "The pods' image. Without it, the installation's.",
    ]
    image_pull_secrets: Annotated[
        tuple[Annotated[SecretName, "One Secret."], ...],
        Items(most=10, key=("name",)),
        Absent(()),
        "Secrets of this namespace with credentials for pulling the image.",
    ]
    env: Annotated[
        tuple[Annotated[Variable, "One variable."], ...],
        Items(most=50, key=("name",)),
        Absent(()),
        Permission("env"),
        "Environment variables, for a locustfile or an image of your own. Not for credentials: everyone who can read"
        " the test or its pods can read them.",
    ]
    labels: Annotated[
        Mapping[str, Annotated[str, _LABEL_VALUE, "The label's value."]],
        Entries(20),
        *_of_keys("team"),
        Absent({}),
        Permission("podLabels"),
        "Labels of the pods. Services and NetworkPolicies of the namespace may select pods by them.",
    ]
    annotations: Annotated[
        Mapping[str, Annotated[str, Text(longest=4096), "The annotation's value."]],
        Entries(20),
        *_of_keys("note"),
        Absent({}),
        Permission("podAnnotations"),
        "Annotations of the pods, for example for network plugins and sidecar injectors.",
    ]
    service_account_name: Annotated[
        str,
        OBJECT_NAME,
        Absent(""),
        Permission("serviceAccountName"),
        "The pods' ServiceAccount, for its pull secrets and for permissions that a cloud grants to its pods. Its"
        " token is not mounted.",
    ]
    runtime_class_name: Annotated[
        str, OBJECT_NAME, Absent(""), Permission("runtimeClassName"), "The pods' RuntimeClass, such as gvisor."
    ]
    volumes: Annotated[
        tuple[Annotated[Volume, "One volume."], ...],
        Items(most=10, key=("mountPath",)),
        Absent(()),
        "Volumes that the pods mount. Each kind needs its own permission of the installation.",
    ]
