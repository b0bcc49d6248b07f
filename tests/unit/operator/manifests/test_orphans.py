"""Which Job counts as left behind by an earlier test of the same name."""

from typing import Any

import pytest
from passes import Passes
from sshload_operator.manifests.labels import orphaned_run
from sshload_operator.manifests.master import master_job
from sshload_operator.manifests.workers import workers_job
from sshload_operator.planning.plan import Plan

PLAN = Passes().plan
assert isinstance(PLAN, Plan)
JOB = master_job(PLAN, "")
LEFT = {key: value for key, value in JOB["metadata"].items() if key != "ownerReferences"}


def test_the_masters_job_of_an_earlier_test_is_known_by_the_uid_that_its_run_is_made_of() -> None:
    assert orphaned_run(LEFT, PLAN.test.name) == PLAN.run_id


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"ownerReferences": JOB["metadata"]["ownerReferences"]}, id="it has an owner"),
        pytest.param({"deletionTimestamp": "2026-11-28T00:00:00Z"}, id="it is being deleted"),
        pytest.param({"annotations": {}}, id="it states no uid"),
        pytest.param({"annotations": None}, id="its annotations are null"),
        pytest.param({"annotations": {"sshload.dev/test-uid": "another"}}, id="it states another uid"),
        pytest.param({"name": f"other-{PLAN.run_id}-master"}, id="it has another name"),
        pytest.param({"labels": {**LEFT["labels"], "sshload.dev/run-id": "0123456789"}}, id="it claims another run"),
        pytest.param({"labels": {**LEFT["labels"], "sshload.dev/run": "7"}}, id="it claims another number"),
        pytest.param({"labels": {**LEFT["labels"], "sshload.dev/role": "worker"}}, id="it claims another role"),
        pytest.param({"labels": {}}, id="it has no labels"),
    ],
)
def test_any_other_job_is_somebody_elses(change: dict[str, Any]) -> None:
    assert orphaned_run({**LEFT, **change}, PLAN.test.name) == ""


def test_a_job_of_a_test_of_another_name_is_that_tests() -> None:
    assert orphaned_run(LEFT, "other") == ""


def test_the_workers_job_alone_says_nothing() -> None:
    metadata = workers_job(PLAN)["metadata"]
    assert orphaned_run({**metadata, "ownerReferences": []}, PLAN.test.name) == ""
