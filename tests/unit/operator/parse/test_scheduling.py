"""parse: what a pod tells the scheduler reaches the pod as it is written."""

import pytest
from specs.managed import MANAGED_STEPS
from specs.scheduling import AFFINITY, SPREAD
from specs.small import SMALL
from specs.spec import Spec, changed
from sshload_operator.api.load_test import parse
from sshload_operator.api.targets import ManagedTarget

NEAR = "requiredDuringSchedulingIgnoredDuringExecution"


def test_every_field_is_handed_on_of_workers_and_of_a_target() -> None:
    spec = parse(MANAGED_STEPS)
    assert isinstance(spec.target, ManagedTarget)
    for placement in (spec.target, spec.workers):
        assert placement.affinity == AFFINITY
        assert list(placement.topology_spread_constraints) == SPREAD


@pytest.mark.parametrize(
    "affinity",
    [
        pytest.param({"podAffinity": {NEAR: [{"topologyKey": "a", "namespaceSelector": {}}]}}, id="selects all"),
        pytest.param({"podAffinity": {NEAR: []}}, id="no terms"),
        pytest.param({"nodeAffinity": {}}, id="no rules"),
    ],
)
def test_what_is_empty_is_not_absent(affinity: Spec) -> None:
    assert parse(changed(SMALL, "workers.affinity", affinity)).workers.affinity == affinity


def test_a_field_of_null_is_absent() -> None:
    spec = changed(SMALL, "workers.affinity", {"podAffinity": None, "nodeAffinity": {}})
    assert parse(spec).workers.affinity == {"nodeAffinity": {}}
