"""The pods of a run: their image, resources and place. What a pod tells the scheduler stays as Kubernetes writes it.

Fields and bounds of the Kubernetes objects are those of Kubernetes 1.36. What the fields mean together is checked by
the API server when the pod is made.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Required, TypeAlias, TypedDict

from sshload_contract.declared import (
    Absent,
    Entries,
    Items,
    Text,
    Whole,
    WholeOrText,
    Words,
    WrittenAs,
)

_INT32_MOST: Final = 2**31 - 1
_INT64_MOST: Final = 2**63 - 1
_LABEL_KEY_CHARACTERS: Final = 317  # 253 of the prefix, the slash, and 63 of the name

_OBJECT_NAME: Final = Text(
    longest=253, pattern=r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", wanted="the name of a Kubernetes object"
)
ObjectName: TypeAlias = Annotated[str, _OBJECT_NAME]


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference to an object of this namespace. Its value is the name."""

    name: Annotated[ObjectName, "The object's name."]

    def value(self) -> str:
        """Return the name."""
        return self.name


SecretName: TypeAlias = Annotated[str, WrittenAs(Reference)]
ConfigMapName: TypeAlias = Annotated[str, WrittenAs(Reference)]

LabelValue: TypeAlias = Annotated[str, Text(longest=63), "The label's value."]
_LabelKey: TypeAlias = Annotated[str, Text(shortest=1, longest=_LABEL_KEY_CHARACTERS), "The label's key."]
_LabelKeys: TypeAlias = Annotated[list[_LabelKey], Items(most=10)]
_TopologyKey: TypeAlias = Annotated[
    str,
    Text(shortest=1, longest=_LABEL_KEY_CHARACTERS),
    "The node label whose values tell the places apart, such as the zone's.",
]
_Weight: TypeAlias = Annotated[int, Whole(1, 100), "How much a node gains by it."]
_Honor: TypeAlias = Annotated[str, Words(("Honor", "Ignore"))]
_Compared: TypeAlias = Annotated[str, Words(("In", "NotIn", "Exists", "DoesNotExist")), "How the values are compared."]


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
    """On which nodes."""

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

    matchLabels: Annotated[Mapping[str, LabelValue], Entries(20), "Labels that must be there."]
    matchExpressions: Annotated[list[_LabelRequirement], Items(most=10), "Requirements of the labels."]


class _PodAffinityTerm(TypedDict, total=False):
    """The other pods, and what counts as near."""

    labelSelector: Annotated[_LabelSelector, "Labels of the other pods."]
    namespaces: Annotated[
        list[Annotated[str, Text(longest=63), "One namespace."]],
        Items(most=20),
        "Their namespaces. Without these and namespaceSelector, the pod's own.",
    ]
    namespaceSelector: Annotated[_LabelSelector, "Labels of their namespaces. An empty one takes all."]
    matchLabelKeys: Annotated[_LabelKeys, "Labels that the other pods have with the pod's own values."]
    mismatchLabelKeys: Annotated[_LabelKeys, "Labels that the other pods do not have with the pod's own values."]
    topologyKey: Required[_TopologyKey]


class _PodPreference(TypedDict, total=False):
    """One preference."""

    weight: Required[_Weight]
    podAffinityTerm: Required[_PodAffinityTerm]


class _PodAffinity(TypedDict, total=False):
    """Near which other pods."""

    requiredDuringSchedulingIgnoredDuringExecution: Annotated[list[_PodAffinityTerm], Items(most=10), "What must hold."]
    preferredDuringSchedulingIgnoredDuringExecution: Annotated[
        list[_PodPreference], Items(most=10), "What is preferred."
    ]


class Affinity(TypedDict, total=False):
    """The nodes on which, and the other pods near which, the pods run, as in a pod."""

    nodeAffinity: _NodeAffinity
    podAffinity: _PodAffinity
    podAntiAffinity: Annotated[_PodAffinity, "Away from which other pods."]


class SpreadConstraint(TypedDict, total=False):
    """One constraint."""

    maxSkew: Required[Annotated[int, Whole(1, _INT32_MOST), "How uneven the spread may be."]]
    topologyKey: Required[_TopologyKey]
    whenUnsatisfiable: Required[
        Annotated[str, Words(("DoNotSchedule", "ScheduleAnyway")), "What happens if that cannot be kept."]
    ]
    labelSelector: Annotated[_LabelSelector, "Labels of the pods that count."]
    minDomains: Annotated[
        int, Whole(1, _INT32_MOST), "The least number of places there must be. Only for DoNotSchedule."
    ]
    nodeAffinityPolicy: Annotated[
        _Honor, "Whether only nodes count that the pod's affinity and nodeSelector match. Without it, Honor."
    ]
    nodeTaintsPolicy: Annotated[_Honor, "Whether only nodes count whose taints the pod tolerates. Without it, Ignore."]
    matchLabelKeys: Annotated[_LabelKeys, "Labels by whose values the pods are counted apart."]


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


class Resources(TypedDict, total=False):
    """CPU and memory of each pod."""

    requests: Annotated[_Amounts, "What is reserved for it."]
    limits: Annotated[_Amounts, "What it may use at most."]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where pods run, and with which resources: Kubernetes' own objects, handed through as they are."""

    resources: Annotated[Mapping[str, Any], WrittenAs(Resources), Absent({})]
    node_selector: Annotated[
        Mapping[str, LabelValue], Entries(20), Absent({}), "Labels that a node must have to run the pods."
    ]
    tolerations: Annotated[
        tuple[Annotated[Mapping[str, Any], WrittenAs(Toleration)], ...],
        Items(most=20),
        Absent(()),
        "Tolerations of the pods.",
    ]
    affinity: Annotated[Mapping[str, Any], WrittenAs(Affinity), Absent({})]
    topology_spread_constraints: Annotated[
        tuple[Annotated[Mapping[str, Any], WrittenAs(SpreadConstraint)], ...],
        Items(most=10, key=("topologyKey", "whenUnsatisfiable")),
        Absent(()),
        "How the pods are spread over nodes, zones and the like, as in a pod.",
    ]
    priority_class_name: Annotated[str, Text(longest=253), Absent(""), "The priority class of the pods."]


@dataclass(frozen=True, slots=True)
class Pods(Placement):
    """What the pods of a run have in common. An empty `image` means the installation's."""

    image: Annotated[
        str,
        Text(longest=500, pattern=r"[A-Za-z0-9][A-Za-z0-9._:/@-]*", wanted="an image"),
        Absent(""),
        "The pods' image. Without it, the installation's.",
    ]
    image_pull_secrets: Annotated[
        tuple[Annotated[SecretName, "One Secret."], ...],
        Items(most=10, key=("name",)),
        Absent(()),
        "Secrets of this namespace that may pull the image.",
    ]
