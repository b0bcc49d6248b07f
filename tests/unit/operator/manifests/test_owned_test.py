"""A test that a schedule or a comparison owns says so, and is read back as theirs and nobody else's."""

from typing import Any

import pytest
from sshload_operator.api.kinds import API_VERSION, COMPARISON, SCHEDULE, Kind
from sshload_operator.manifests.owned_test import Owner, owned_test, owner_of

SPEC = {"load": {}}
OWNS = {"apiVersion": API_VERSION, "kind": "SSHLoadTestSchedule", "name": "nightly", "uid": "u", "controller": True}


@pytest.mark.parametrize("kind", [SCHEDULE, COMPARISON], ids=lambda kind: str(kind.word))
def test_an_owned_test_is_its_owners_and_goes_with_it(kind: Kind) -> None:
    owner = Owner(kind, "load-tests", "nightly", "u")
    made = owned_test(owner, "nightly-1", SPEC, {"team": "a"}, {"why": "b"})
    assert made == {
        "apiVersion": API_VERSION,
        "kind": "SSHLoadTest",
        "metadata": {
            "name": "nightly-1",
            "namespace": "load-tests",
            "labels": {"team": "a"},
            "annotations": {"why": "b"},
            "ownerReferences": [{**OWNS, "kind": kind.name, "blockOwnerDeletion": False}],
        },
        "spec": SPEC,
    }
    assert owner_of(made["metadata"]) == owner
    assert "annotations" not in owned_test(owner, "nightly-1", SPEC, {}, {})["metadata"]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"controller": False}, id="no controller"),
        pytest.param({"kind": "Job"}, id="of another kind"),
        pytest.param({"apiVersion": "batch/v1"}, id="of somebody else's kind"),
        pytest.param({"name": "../../secrets"}, id="no name"),
    ],
)
def test_whatever_else_controls_a_test_is_no_owner(changes: dict[str, Any]) -> None:
    assert owner_of({"namespace": "load-tests", "ownerReferences": [{**OWNS, **changes}]}) is None
    assert owner_of({"namespace": "load-tests"}) is None
