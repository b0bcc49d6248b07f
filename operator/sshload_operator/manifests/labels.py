"""Names, labels and metadata of a run's objects, and how a pod or Job is recognized as one of a run.

The same plan gives the same names, and never those of another run. A user who may create pods can give them any label,
so a label is only a claim. A pod belongs to a run if its controller is what the operator makes for that run: a Job or
ReplicaSet of the right name, and for a Job also of a uid that is known to be the test's.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Any

from sshload_operator.api.kinds import API_VERSION, GROUP, TEST
from sshload_operator.api.names import dns_label, is_name, label_value
from sshload_operator.planning.plan import Plan, run_id
from sshload_operator.state import DEPLOYED, Role

_TEST_CHARACTERS = 40
TEST_LABEL = f"{GROUP}/test"
COMPARISON_LABEL = f"{GROUP}/comparison"
SCHEDULE_LABEL = f"{GROUP}/schedule"
RUN_ID_LABEL = f"{GROUP}/run-id"
RUN_LABEL = f"{GROUP}/run"
ROLE_LABEL = f"{GROUP}/role"
TEST_UID_ANNOTATION = f"{GROUP}/test-uid"
PROOF_SHA256_ANNOTATION = f"{GROUP}/proof-sha256"
_RUN_ID = re.compile(r"[0-9a-f]{10}")
_RUN = re.compile(r"[1-9][0-9]{0,18}")
SSH_PORT = 2222
TARGET_HTTP_PORT = 9200
LOCUST_PORT = 5557
MASTER_HTTP_PORT = 9201
KDC_PORT = 8888
DNS_PORT = 53
SSH_PORT_NAME = "ssh"
KDC_PORT_NAME = "kdc"
LOCUST_PORT_NAME = "locust"
METRICS_PORT_NAME = "metrics"
HEALTH_PORT_NAME = "health"
STATS_PORT_NAME = "stats"


@unique
class Part(StrEnum):
    """What an object is within its run that is not of one role."""

    CONFIG = "config"
    KEYS = "keys"
    RESULTS = "results"


_NAMES: dict[Role | Part, str] = {Role.WORKER: "workers"}
"""How the objects of a role are called where that is not the role."""


def child_name(plan: Plan, part: Role | Part) -> str:
    """Return `<test>-<run id>-<role or part>`, for all kinds of objects: at most 59 characters, 40 of the test's name.

    The other four of a host name's 63 are for the hyphen and the completion index of a worker.
    """
    return run_child_name(plan.test.name, plan.run_id, part)


def run_child_name(test_name: str, run_id: str, part: Role | Part) -> str:
    """Return the name of a run's object when the plan of that run no longer exists."""
    return f"{dns_label(test_name, _TEST_CHARACTERS)}-{run_id}-{_NAMES.get(part, part)}"


@dataclass(frozen=True, slots=True)
class Membership:
    """The run that a pod or Job belongs to, by its labels and its controller, whose uid is `controller_uid`.

    `run` is the number of the run, from which its id is made: 0 if no label states it.
    """

    test: str
    run_id: str
    role: Role
    controller_uid: str
    run: int = 0


def run_labels(plan: Plan) -> dict[str, str]:
    """Return the labels of everything that belongs to the run."""
    of_comparison = {COMPARISON_LABEL: plan.test.comparison} if plan.test.comparison else {}
    return {
        **of_comparison,
        "app.kubernetes.io/name": "sshload",
        "app.kubernetes.io/managed-by": "sshload-operator",
        TEST_LABEL: label_value(plan.test.name),
        RUN_ID_LABEL: plan.run_id,
        RUN_LABEL: str(plan.run),
    }


def role_labels(plan: Plan, role: Role) -> dict[str, str]:
    """Return the labels of a pod of the run, and of its Job or Deployment."""
    return {**run_labels(plan), "app.kubernetes.io/component": str(role), ROLE_LABEL: str(role)}


def name_annotation(plan: Plan) -> dict[str, str]:
    """Return the annotation with the test's name for a pod; empty if the name fits into the label."""
    name = plan.test.name
    return {} if label_value(name) == name else {TEST_LABEL: name}


def role_selector(plan: Plan, role: Role) -> dict[str, str]:
    """Return the labels by which exactly this run's pods of a role are selected, within the namespace."""
    return {TEST_LABEL: label_value(plan.test.name), RUN_ID_LABEL: plan.run_id, ROLE_LABEL: str(role)}


def metadata(plan: Plan, part: Role | Part) -> dict[str, Any]:
    """Return the metadata of an object of the run, or of a role. The test owns it, so garbage collection deletes it."""
    return {
        "name": child_name(plan, part),
        "namespace": plan.test.namespace,
        "labels": role_labels(plan, part) if isinstance(part, Role) else run_labels(plan),
        "ownerReferences": [_owner_reference(plan)],
    }


def membership_of_pod(metadata: Mapping[str, Any]) -> Membership | None:
    """Return the run that a pod belongs to; None where its labels or its controller are not those of a run's pod."""
    marks = {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}
    claimed = _claimed(metadata, marks.get(TEST_LABEL, ""))
    if claimed is None:
        return None
    kind, name = controller(metadata).get("kind"), str(controller(metadata).get("name"))
    made = run_child_name(claimed.test, claimed.run_id, claimed.role)
    if claimed.role in DEPLOYED:
        return claimed if kind == "ReplicaSet" and name.startswith(f"{made}-") else None
    return claimed if (kind, name) == ("Job", made) else None


def membership_of_job(metadata: Mapping[str, Any]) -> Membership | None:
    """Return the run that a Job belongs to; None where its name, labels or controller are not those of a run's Job."""
    owner = controller(metadata)
    claimed = _claimed(metadata, str(owner.get("name", "")))
    if claimed is None or claimed.role in DEPLOYED:
        return None
    named = metadata["name"] == run_child_name(claimed.test, claimed.run_id, claimed.role)
    return claimed if named and owner.get("kind") == TEST.name else None


def orphaned_run(metadata: Mapping[str, Any], test: str) -> str:
    """Return the id of the run of an earlier test of this name whose master's Job has this metadata, else "".

    `kubectl delete --cascade=orphan` takes the owner from all children. The names of what is swept contain the run id,
    so the label with it is not trusted: it must be made of the uid and the number that the Job states.
    """
    claimed = _claimed(metadata, test)
    if claimed is None or claimed.role is not Role.MASTER:
        return ""
    if metadata.get("ownerReferences") or "deletionTimestamp" in metadata:
        return ""
    uid = str((metadata.get("annotations") or {}).get(TEST_UID_ANNOTATION, ""))
    is_made = uid and claimed.run_id == run_id(uid, claimed.run)
    return claimed.run_id if is_made and metadata["name"] == run_child_name(test, claimed.run_id, Role.MASTER) else ""


def _claimed(metadata: Mapping[str, Any], test: str) -> Membership | None:
    """Return the run that the labels claim; None where they are not those of a run of `test`."""
    labels = metadata.get("labels") or {}
    run_id, role = (labels.get(label, "") for label in (RUN_ID_LABEL, ROLE_LABEL))
    if not is_name(test) or labels.get(TEST_LABEL) != label_value(test):
        return None
    if _RUN_ID.fullmatch(run_id) is None or role not in set(Role):
        return None
    controller_uid, run = str(controller(metadata).get("uid", "")), labels.get(RUN_LABEL, "")
    return Membership(test, run_id, Role(role), controller_uid, int(run) if _RUN.fullmatch(run) is not None else 0)


def controller(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the reference to the controller of an object, empty where it has none."""
    return next((owner for owner in metadata.get("ownerReferences") or () if owner.get("controller")), {})


def _owner_reference(plan: Plan) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": TEST.name,
        "name": plan.test.name,
        "uid": plan.test.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
