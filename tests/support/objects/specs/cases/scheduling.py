"""What a pod tells the scheduler."""

from specs.bad import Bad, bad
from specs.scheduling import AFFINITY, SELECTOR, SPREAD
from specs.small import SMALL
from specs.spec import Spec, changed

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_HOSTS = {"topologyKey": "kubernetes.io/hostname"}
_SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}


def _nodes(**term: object) -> Spec:
    return {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": [term]}}}


def _pods(**term: object) -> Spec:
    return {"podAffinity": {_REQUIRED: [{**_HOSTS, **term}]}}


def _in(values: list[str]) -> list[Spec]:
    return [{"key": "a", "operator": "In", "values": values}]


def _bad_affinity(affinity: object, field: str = "", says: str = "") -> Bad:
    return bad("workers.affinity", affinity, f"spec.workers.affinity{field}", says)


def _bad_spread(says: str = "", **fields: object) -> Bad:
    return bad("workers.topologySpreadConstraints", [{**_SPREAD, **fields}], says=says)


BAD: dict[str, Bad] = {
    "affinity-of-an-unknown-kind": _bad_affinity({"zoneAffinity": {}}, ".zoneAffinity", "unknown field"),
    "affinity-as-a-list": _bad_affinity([]),
    "affinity-with-an-unknown-field-deep-inside": _bad_affinity(
        _pods(labelSelector={"matchExpressions": [{"key": "a", "operator": "Exists", "value": "b"}]}),
        f".podAffinity.{_REQUIRED}[0].labelSelector.matchExpressions[0].value",
        "unknown field",
    ),
    "affinity-nested-without-end": _bad_affinity({"nodeAffinity": {"deeper": {"deeper": {}}}}, ".nodeAffinity.deeper"),
    "node-terms-missing": _bad_affinity({"nodeAffinity": {_REQUIRED: {}}}, f".nodeAffinity.{_REQUIRED}"),
    "no-node-term": _bad_affinity({"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": []}}}),
    "too-many-node-terms": _bad_affinity({"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": [{}] * 11}}}),
    "too-many-requirements": _bad_affinity(_nodes(matchExpressions=_in(["b"]) * 11)),
    "too-many-values-of-nodes": _bad_affinity(_nodes(matchExpressions=_in(["b"] * 101))),
    "value-of-nodes-too-long": _bad_affinity(_nodes(matchExpressions=_in(["b" * 64]))),
    "two-names-of-nodes": _bad_affinity(_nodes(matchFields=_in(["b", "c"]))),
    "name-of-a-node-too-long": _bad_affinity(_nodes(matchFields=_in(["b" * 254]))),
    "field-of-nodes-that-is-greater": _bad_affinity(_nodes(matchFields=[{"key": "a", "operator": "Gt"}])),
    "requirement-without-a-key": _bad_affinity(_nodes(matchExpressions=[{"operator": "Exists"}])),
    "requirement-without-an-operator": _bad_affinity(_nodes(matchExpressions=[{"key": "a"}])),
    "requirement-of-an-unknown-operator": _bad_affinity(_nodes(matchExpressions=[{"key": "a", "operator": "Like"}])),
    "values-of-labels-compared-as-numbers": _bad_affinity(
        _pods(labelSelector={"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]})
    ),
    "preference-without-a-weight": _bad_affinity({"nodeAffinity": {_PREFERRED: [{"preference": {}}]}}),
    "preference-of-no-weight": _bad_affinity({"nodeAffinity": {_PREFERRED: [{"preference": {}, "weight": 0}]}}),
    "preference-of-too-much-weight": _bad_affinity({"podAffinity": {_PREFERRED: [{"podAffinityTerm": _HOSTS,
                                                                                  "weight": 101}]}}),
    "preference-of-nothing": _bad_affinity({"podAntiAffinity": {_PREFERRED: [{"weight": 1}]}}),
    "pods-near-without-a-topology": _bad_affinity({"podAffinity": {_REQUIRED: [{"labelSelector": SELECTOR}]}}),
    "pods-near-of-an-empty-topology": _bad_affinity(_pods(topologyKey="")),
    "too-many-namespaces": _bad_affinity(_pods(namespaces=["a"] * 21)),
    "namespace-too-long": _bad_affinity(_pods(namespaces=["a" * 64])),
    "too-many-label-keys": _bad_affinity(_pods(matchLabelKeys=["a"] * 11)),
    "label-key-too-long": _bad_affinity(_pods(mismatchLabelKeys=["a" * 318])),
    "too-many-labels": _bad_affinity(_pods(namespaceSelector={"matchLabels": dict.fromkeys(map(str, range(21)), "")})),
    "label-of-a-number": _bad_affinity(_pods(namespaceSelector={"matchLabels": {"a": 1}})),
    "spread-of-no-skew": _bad_spread(maxSkew=0),
    "spread-of-more-skew-than-Kubernetes-takes": _bad_spread(maxSkew=2**31),
    "spread-over-no-domains": _bad_spread(minDomains=0),
    "spread-by-an-unknown-policy": _bad_spread(nodeTaintsPolicy="Obey"),
    "spread-over-no-label": _bad_spread(topologyKey=""),
    "spread-with-an-unknown-field": _bad_spread("unknown field", minSkew=1),
    "spread-with-a-misspelt-selector": _bad_spread("unknown field", labelSelector={"matchLabel": {}}),
    "spread-that-stands-there-twice": bad(
        "workers.topologySpreadConstraints",
        [_SPREAD, {**_SPREAD, "maxSkew": 2}],
        "spec.workers.topologySpreadConstraints[1]",
    ),
    "too-many-spreads": bad("workers.topologySpreadConstraints", [_SPREAD] * 11),
}  # fmt: skip

GOOD: dict[str, Spec] = {
    "affinity-of-nothing": changed(SMALL, "workers.affinity", {}),
    "affinity-of-every-field": changed(SMALL, "workers.affinity", AFFINITY),
    "affinity-of-empty-lists": changed(
        SMALL, "workers.affinity", {"podAffinity": {_REQUIRED: [], _PREFERRED: []}, "nodeAffinity": {_PREFERRED: []}}
    ),
    "affinity-of-null": changed(SMALL, "workers.affinity", {"podAffinity": None}),
    "affinity-to-any-node": changed(SMALL, "workers.affinity", _nodes()),
    "affinity-to-all-namespaces": changed(SMALL, "workers.affinity", _pods(namespaceSelector={})),
    "the-most-values-of-nodes": changed(
        SMALL, "workers.affinity", _nodes(matchExpressions=_in(["b" * 63] * 100), matchFields=_in(["b" * 253]))
    ),
    "weight-with-a-point": changed(
        SMALL, "workers.affinity", {"nodeAffinity": {_PREFERRED: [{"weight": 5.0, "preference": {}}]}}
    ),
    "spread-of-every-field": changed(SMALL, "workers.topologySpreadConstraints", SPREAD),
    "spread-of-the-most": changed(
        SMALL, "workers.topologySpreadConstraints", [{**_SPREAD, "maxSkew": 2**31 - 1, "minDomains": 2**31 - 1}]
    ),
    "label-key-of-the-longest": changed(SMALL, "workers.affinity", _pods(matchLabelKeys=["a" * 317])),
}  # fmt: skip
