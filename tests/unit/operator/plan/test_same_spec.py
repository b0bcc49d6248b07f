"""A spec that is only written otherwise has the same hash, so that no test runs again; one that means more has not."""

from typing import Any

import pytest
from specs.managed import MANAGED_ARRIVALS, MANAGED_PERMITTED
from specs.small import SMALL
from specs.spec import changed
from specs.tables import GOOD
from sshload_operator.api.load_test import parse
from sshload_operator.planning.plan import spec_hash

ONE_CPU = {"requests": {"cpu": "1"}, "limits": {"cpu": "1", "memory": "1Gi"}}
TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}
NODES = {"key": "zone", "operator": "In", "values": ["a", "b"]}


def placed(**workers: Any) -> dict[str, Any]:
    return {**SMALL, "workers": workers}


def near(term: dict[str, Any]) -> dict[str, Any]:
    return placed(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})


def on(*expressions: dict[str, Any]) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return placed(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})


def to(host: str) -> dict[str, Any]:
    return changed(GOOD["external-users"], "target.external.host", host)


def arriving(**stage: Any) -> dict[str, Any]:
    return {**SMALL, "load": {"arrivals": {"stages": [{"rate": 10, "duration": "10s", **stage}]}}}


SAME = {
    "an amount as a number": (placed(resources=ONE_CPU), placed(resources=changed(ONE_CPU, "requests.cpu", 1))),
    "thousandths": (placed(resources=ONE_CPU), placed(resources=changed(ONE_CPU, "limits.cpu", "1000m"))),
    "bytes": (placed(resources=ONE_CPU), placed(resources=changed(ONE_CPU, "limits.memory", "1024Mi"))),
    "no resources": (SMALL, placed(resources={"requests": {}, "limits": {}})),
    "no affinity": (placed(affinity={"nodeAffinity": {}}), placed(affinity={"podAffinity": {}})),
    "Kubernetes' default": (
        placed(tolerations=[{"key": "a"}]),
        placed(tolerations=[{"key": "a", "operator": "Equal"}]),
    ),
    "empty texts of Kubernetes": (
        placed(tolerations=[{"operator": "Exists"}]),
        placed(tolerations=[{"operator": "Exists", "key": "", "value": ""}]),
    ),
    "empty lists of Kubernetes": (near(TERM), near({**TERM, "namespaces": [], "matchLabelKeys": []})),
    "an empty map of Kubernetes": (
        near({**TERM, "namespaceSelector": {}}),
        near({**TERM, "namespaceSelector": {"matchLabels": {}}}),
    ),
    "values in another order": (on(NODES), on({**NODES, "values": ["b", "a"]})),
    "tolerations in another order": (
        placed(tolerations=[{"key": "a"}, {"key": "b"}]),
        placed(tolerations=[{"key": "b"}, {"key": "a"}]),
    ),
    "capital letters in a host": (to("bastion.example.com"), to("Bastion.Example.COM")),
    "a long address": (to("2001:db8::1"), to("2001:0DB8:0:0:0:0:0:1")),
    "a rate that ends as it begins": (arriving(), arriving(toRate=10)),
    "a load of one stage": (arriving(), {**SMALL, "load": {"arrivals": {"rate": 10.0, "duration": "0m10s"}}}),
}
OTHER = {
    "the affinity of the run's own": (SMALL, placed(affinity={"podAffinity": {}})),
    "all namespaces": (near(TERM), near({**TERM, "namespaceSelector": {}})),
    "all pods": (near({"topologyKey": "zone"}), near({"topologyKey": "zone", "labelSelector": {}})),
    "letters of a label": (placed(nodeSelector={"host": "A"}), placed(nodeSelector={"host": "a"})),
    "a ramp": (arriving(), arriving(toRate=11)),
    "another amount": (placed(resources=ONE_CPU), placed(resources=changed(ONE_CPU, "requests.cpu", "999m"))),
}
BY_NAME = [
    (MANAGED_ARRIVALS, "target.managed.fixtures.files"),
    (MANAGED_ARRIVALS, "workers.imagePullSecrets"),
    (MANAGED_ARRIVALS, "workers.topologySpreadConstraints"),
    (MANAGED_ARRIVALS, "thresholds"),
    (MANAGED_PERMITTED, "workers.env"),
    (MANAGED_PERMITTED, "workers.volumes"),
]


def hash_of(spec: dict[str, Any]) -> str:
    return spec_hash(parse(spec))


@pytest.mark.parametrize(("one", "other"), [pytest.param(*pair, id=name) for name, pair in SAME.items()])
def test_what_is_only_written_otherwise_has_the_same_hash(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one != other
    assert hash_of(one) == hash_of(other)


@pytest.mark.parametrize(("one", "other"), [pytest.param(*pair, id=name) for name, pair in OTHER.items()])
def test_what_means_something_else_has_another_hash(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert hash_of(one) != hash_of(other)


@pytest.mark.parametrize(("spec", "path"), [pytest.param(*case, id=case[1]) for case in BY_NAME])
def test_the_order_of_what_is_found_by_its_name_means_nothing(spec: dict[str, Any], path: str) -> None:
    listed: Any = spec
    for name in path.split("."):
        listed = listed[name]
    assert hash_of(changed(spec, path, listed[::-1])) == hash_of(spec)


@pytest.mark.parametrize("spec", [pytest.param(spec, id=name) for name, spec in GOOD.items()])
def test_fields_may_stand_in_any_order(spec: dict[str, Any]) -> None:
    assert hash_of(otherwise(spec)) == hash_of(spec)


def otherwise(value: Any) -> Any:
    """Return a spec with its fields in another order."""
    if isinstance(value, dict):
        return {key: otherwise(item) for key, item in reversed(value.items())}
    return [otherwise(item) for item in value] if isinstance(value, list) else value
