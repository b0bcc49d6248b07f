"""Which pods and Jobs belong to a run: labels are claims of anybody, and the controller has to bear them out."""

from typing import Any

import pytest
from passes import Passes
from sshload_operator.manifests.labels import (
    Membership,
    Part,
    membership_of_job,
    membership_of_pod,
    metadata,
    role_labels,
    run_child_name,
)
from sshload_operator.manifests.master import master_job
from sshload_operator.manifests.workers import workers_job
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Role

PLAN = Passes().plan
assert isinstance(PLAN, Plan)
TEST = PLAN.test.name
MAKERS = {
    Role.MASTER: ("Job", run_child_name(TEST, PLAN.run_id, Role.MASTER)),
    Role.WORKER: ("Job", run_child_name(TEST, PLAN.run_id, Role.WORKER)),
    Role.TARGET: ("ReplicaSet", f"{run_child_name(TEST, PLAN.run_id, Role.TARGET)}-5d4f"),
    Role.PROXY: ("ReplicaSet", f"{run_child_name(TEST, PLAN.run_id, Role.PROXY)}-5d4f"),
    Role.GATEWAY: ("ReplicaSet", f"{run_child_name(TEST, PLAN.run_id, Role.GATEWAY)}-5d4f"),
}


def made_by(kind: str, name: str, *, controller: bool = True) -> list[dict[str, Any]]:
    return [
        {"kind": "Other", "name": "x", "uid": "y"},
        {"kind": kind, "name": name, "uid": "u", "controller": controller},
    ]


def pod(role: Role, **changes: Any) -> dict[str, Any]:
    assert isinstance(PLAN, Plan)
    return {"name": "p", "labels": role_labels(PLAN, role), "ownerReferences": made_by(*MAKERS[role]), **changes}


@pytest.mark.parametrize("role", MAKERS)
def test_a_pod_that_the_runs_own_job_or_deployment_made_belongs_to_it(role: Role) -> None:
    assert isinstance(PLAN, Plan)
    assert membership_of_pod(pod(role)) == Membership(TEST, PLAN.run_id, role, "u", PLAN.run)


def labelled(of: Role, /, **labels: str) -> dict[str, Any]:
    """Return what changes some of a pod's labels."""
    assert isinstance(PLAN, Plan)
    named = {f"sshload.dev/{name.replace('_', '-')}": value for name, value in labels.items()}
    return {"labels": {**role_labels(PLAN, of), **named}}


@pytest.mark.parametrize(
    ("role", "change"),
    [
        pytest.param(Role.MASTER, {"labels": {}}, id="no labels"),
        pytest.param(Role.MASTER, {"labels": None}, id="labels that are null"),
        pytest.param(Role.MASTER, {"ownerReferences": []}, id="no controller"),
        pytest.param(
            Role.MASTER, {"ownerReferences": made_by(*MAKERS[Role.MASTER], controller=False)}, id="an owner only"
        ),
        pytest.param(Role.MASTER, {"ownerReferences": made_by(*MAKERS[Role.WORKER])}, id="the Job of another role"),
        pytest.param(Role.MASTER, {"ownerReferences": made_by("Job", "another")}, id="another Job"),
        pytest.param(Role.MASTER, {"ownerReferences": made_by("CronJob", MAKERS[Role.MASTER][1])}, id="another kind"),
        pytest.param(
            Role.TARGET, {"ownerReferences": made_by(*MAKERS[Role.MASTER])}, id="a Job for a Deployment's role"
        ),
        pytest.param(
            Role.TARGET, {"ownerReferences": made_by(*MAKERS[Role.PROXY])}, id="another Deployment's ReplicaSet"
        ),
        pytest.param(
            Role.TARGET, {"ownerReferences": made_by("ReplicaSet", "mine-5d4f")}, id="a ReplicaSet of one's own"
        ),
        pytest.param(
            Role.TARGET,
            {"ownerReferences": made_by("ReplicaSet", f"{run_child_name(TEST, PLAN.run_id, Role.TARGET)}s-5d4f")},
            id="a ReplicaSet of a Deployment whose name begins alike",
        ),
        pytest.param(
            Role.TARGET, {"ownerReferences": made_by("StatefulSet", MAKERS[Role.TARGET][1])}, id="no ReplicaSet"
        ),
        pytest.param(Role.MASTER, labelled(Role.MASTER, run_id="0123456789"), id="the id of another run"),
        pytest.param(Role.MASTER, labelled(Role.MASTER, run_id="no id"), id="no id of a run"),
        pytest.param(Role.MASTER, labelled(Role.MASTER, role="owner"), id="a role that there is not"),
        pytest.param(Role.MASTER, labelled(Role.MASTER, role="worker"), id="another role"),
        pytest.param(Role.MASTER, labelled(Role.MASTER, test="another"), id="another test"),
        pytest.param(Role.MASTER, labelled(Role.MASTER, test=""), id="no test"),
        pytest.param(Role.MASTER, labelled(Role.MASTER, test="../x"), id="no name of a test"),
        pytest.param(Role.MASTER, {"annotations": {"sshload.dev/test": "other"}}, id="a longer name that it is not"),
    ],
)
def test_a_pod_that_only_claims_to_belong_to_a_run_does_not(role: Role, change: dict[str, Any]) -> None:
    assert membership_of_pod(pod(role, **change)) is None


@pytest.mark.parametrize(
    ("run", "number"), [("7", 7), ("", 0), ("0", 0), ("-1", 0), ("07", 0), ("9" * 19, int("9" * 19)), ("9" * 20, 0)]
)
def test_the_number_of_a_run_is_what_its_label_says_or_none(run: str, number: int) -> None:
    found = membership_of_pod(pod(Role.MASTER, **labelled(Role.MASTER, run=run)))
    assert found is not None
    assert found.run == number


@pytest.mark.parametrize(("role", "job"), [(Role.MASTER, master_job(PLAN, "")), (Role.WORKER, workers_job(PLAN))])
def test_a_job_of_the_run_belongs_to_it(role: Role, job: Any) -> None:
    assert isinstance(PLAN, Plan)
    found = membership_of_job(job["metadata"])
    assert found == Membership(TEST, PLAN.run_id, role, PLAN.test.uid, PLAN.run)


OF_MASTER = master_job(PLAN, "")["metadata"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"name": "another"}, id="another name"),
        pytest.param({"name": MAKERS[Role.WORKER][1]}, id="the name of another role's"),
        pytest.param({"ownerReferences": []}, id="no controller"),
        pytest.param({"ownerReferences": made_by("CronJob", TEST)}, id="a controller of another kind"),
        pytest.param({"ownerReferences": made_by("SSHLoadTest", "another")}, id="another test's"),
        pytest.param({"labels": {}}, id="no labels"),
        pytest.param(labelled(Role.TARGET), id="a role without Jobs"),
    ],
)
def test_a_job_that_only_claims_to_belong_to_a_run_does_not(change: dict[str, Any]) -> None:
    assert membership_of_job({**OF_MASTER, **change}) is None


def test_what_a_run_owns_says_whose_it_is() -> None:
    assert isinstance(PLAN, Plan)
    (owner,) = metadata(PLAN, Part.CONFIG)["ownerReferences"]
    assert owner == {
        "apiVersion": "sshload.dev/v1alpha1",
        "kind": "SSHLoadTest",
        "name": TEST,
        "uid": PLAN.test.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
