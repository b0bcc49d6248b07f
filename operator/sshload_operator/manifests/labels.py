"""Labels, and the metadata that every object of a run carries."""

from typing import Any

from sshload_operator.api.kinds import API_VERSION, GROUP, TEST
from sshload_operator.manifests.names import Part, child_name
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Role

TEST_LABEL = f"{GROUP}/test"
RUN_ID_LABEL = f"{GROUP}/run-id"
ROLE_LABEL = f"{GROUP}/role"


def run_labels(plan: Plan) -> dict[str, str]:
    """Return the labels of everything that belongs to the run."""
    return {
        "app.kubernetes.io/name": "sshload",
        "app.kubernetes.io/managed-by": "sshload-operator",
        TEST_LABEL: plan.test.name,
        RUN_ID_LABEL: plan.run_id,
    }


def role_labels(plan: Plan, role: Role) -> dict[str, str]:
    """Return the labels of a pod of the run, and of what makes it."""
    return {**run_labels(plan), "app.kubernetes.io/component": str(role), ROLE_LABEL: str(role)}


def role_selector(plan: Plan, role: Role) -> dict[str, str]:
    """Return the labels by which exactly this run's pods of a role are selected, within the namespace."""
    return {TEST_LABEL: plan.test.name, RUN_ID_LABEL: plan.run_id, ROLE_LABEL: str(role)}


def metadata(plan: Plan, part: Part, role: Role | None = None) -> dict[str, Any]:
    """Return the metadata of one object of the run, owned by the test so that garbage collection deletes it."""
    return {
        "name": child_name(plan, part),
        "namespace": plan.test.namespace,
        "labels": role_labels(plan, role) if role is not None else run_labels(plan),
        "ownerReferences": [_owner_reference(plan)],
    }


def _owner_reference(plan: Plan) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": TEST.name,
        "name": plan.test.name,
        "uid": plan.test.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
