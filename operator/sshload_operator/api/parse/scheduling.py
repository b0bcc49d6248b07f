"""Readers of what a pod tells the scheduler: Kubernetes' own objects, which stay as Kubernetes writes them.

Fields and bounds are those of the CRD. What the fields mean together is checked by the API server when the pod is made.
"""

from typing import Any, TypeAlias

from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.readers import Reader, choice, entries, items, text, whole

Object: TypeAlias = dict[str, Any]

_INT32_MOST = 2**31 - 1
_INT64_MOST = 2**63 - 1
_LABEL_KEY_CHARACTERS = 317  # 253 of the prefix, the slash, and 63 of the name


def _object(*required: str, **readers: Reader[Any]) -> Reader[Object]:
    """Read an object with these fields. It keeps those that are there, the empty ones too: they may mean all."""

    def read(value: Any, path: str) -> Object:
        fields = Fields(value, path)
        found = {
            name: fields.required(name, reader) if name in required else fields.optional(name, reader)
            for name, reader in readers.items()
        }
        fields.end()
        return {name: item for name, item in found.items() if item is not None}

    return read


def _list(read_item: Reader[Any], *, most: int, least: int = 0) -> Reader[list[Any]]:
    read_items = items(read_item, most=most, least=least)
    return lambda value, path: list(read_items(value, path))


LABEL_VALUE: Reader[str] = text(longest=63)
_LABEL_KEY = text(shortest=1, longest=_LABEL_KEY_CHARACTERS)
_LABEL_KEYS = _list(_LABEL_KEY, most=10)
_WEIGHT = whole(1, 100)
_NODE_POLICY = choice("Honor", "Ignore")

TOLERATION: Reader[Object] = _object(
    key=text(longest=_LABEL_KEY_CHARACTERS),
    operator=choice("Exists", "Equal"),
    value=LABEL_VALUE,
    effect=choice("NoSchedule", "PreferNoSchedule", "NoExecute"),
    tolerationSeconds=whole(-_INT64_MOST - 1, _INT64_MOST),
)


def _requirements(*operators: str, values: Reader[list[Any]]) -> Reader[list[Any]]:
    return _list(_object("key", "operator", key=_LABEL_KEY, operator=choice(*operators), values=values), most=10)


_NODE_SELECTOR_TERM = _object(
    matchExpressions=_requirements(
        "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", values=_list(LABEL_VALUE, most=100)
    ),
    matchFields=_requirements("In", "NotIn", values=_list(text(longest=253), most=1)),
)
_NODE_AFFINITY = _object(
    requiredDuringSchedulingIgnoredDuringExecution=_object(
        "nodeSelectorTerms", nodeSelectorTerms=_list(_NODE_SELECTOR_TERM, most=10, least=1)
    ),
    preferredDuringSchedulingIgnoredDuringExecution=_list(
        _object("weight", "preference", weight=_WEIGHT, preference=_NODE_SELECTOR_TERM), most=10
    ),
)

_LABEL_SELECTOR = _object(
    matchLabels=entries(LABEL_VALUE, most=20),
    matchExpressions=_requirements("In", "NotIn", "Exists", "DoesNotExist", values=_list(LABEL_VALUE, most=20)),
)
_POD_AFFINITY_TERM = _object(
    "topologyKey",
    labelSelector=_LABEL_SELECTOR,
    namespaces=_list(LABEL_VALUE, most=20),
    namespaceSelector=_LABEL_SELECTOR,
    matchLabelKeys=_LABEL_KEYS,
    mismatchLabelKeys=_LABEL_KEYS,
    topologyKey=_LABEL_KEY,
)
_POD_AFFINITY = _object(
    requiredDuringSchedulingIgnoredDuringExecution=_list(_POD_AFFINITY_TERM, most=10),
    preferredDuringSchedulingIgnoredDuringExecution=_list(
        _object("weight", "podAffinityTerm", weight=_WEIGHT, podAffinityTerm=_POD_AFFINITY_TERM), most=10
    ),
)

AFFINITY: Reader[Object] = _object(
    nodeAffinity=_NODE_AFFINITY, podAffinity=_POD_AFFINITY, podAntiAffinity=_POD_AFFINITY
)

SPREAD_CONSTRAINT: Reader[Object] = _object(
    "maxSkew",
    "topologyKey",
    "whenUnsatisfiable",
    maxSkew=whole(1, _INT32_MOST),
    topologyKey=_LABEL_KEY,
    whenUnsatisfiable=choice("DoNotSchedule", "ScheduleAnyway"),
    labelSelector=_LABEL_SELECTOR,
    minDomains=whole(1, _INT32_MOST),
    nodeAffinityPolicy=_NODE_POLICY,
    nodeTaintsPolicy=_NODE_POLICY,
    matchLabelKeys=_LABEL_KEYS,
)
