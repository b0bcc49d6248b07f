"""What is kept of pods and Jobs that a watch and lists tell of: whose they are, what is newer, and how much of it."""

from typing import Any

import pytest
from plans import PROOF_SHA256, plan, quickstart
from sshload_operator.control.run.observe import Observations
from sshload_operator.manifests import child_name
from sshload_operator.manifests.labels import PROOF_SHA256_ANNOTATION, role_labels
from sshload_operator.state import Role

PLAN = plan(quickstart())
DISRUPTED = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}]}


def job(uid: str = "job", test_uid: str = PLAN.test.uid, name: str = PLAN.test.name) -> dict[str, Any]:
    owner = {"kind": "SSHLoadTest", "name": name, "uid": test_uid, "controller": True}
    metadata = {"name": child_name(PLAN, Role.MASTER), "uid": uid, "ownerReferences": [owner]}
    return {"metadata": {**metadata, "labels": role_labels(PLAN, Role.MASTER)}}


def pod(name: str, version: int, status: dict[str, Any] | None = None, maker: str = "job") -> dict[str, Any]:
    owner = {"kind": "Job", "name": child_name(PLAN, Role.MASTER), "uid": maker, "controller": True}
    metadata = {"name": name, "resourceVersion": str(version), "ownerReferences": [owner]}
    return {"metadata": {**metadata, "labels": role_labels(PLAN, Role.MASTER)}, "status": status or {}}


def names(observations: Observations, uid: str = PLAN.test.uid) -> list[str]:
    return sorted(found.name for found in observations.pods_of(uid))


def test_a_pod_is_of_the_test_whose_job_made_it_and_not_of_another_of_its_name() -> None:
    observations = Observations()
    observations.pod_changed("ADDED", pod("p", 5))
    assert names(observations) == []
    observations.job_seen(job())
    assert (names(observations), names(observations, "another uid")) == (["p"], [])
    observations.pod_changed("ADDED", pod("q", 6, maker="another job"))
    observations.job_seen(job("another job", "former uid"))
    assert (names(observations), names(observations, "former uid")) == (["p"], ["q"])


def test_a_job_that_was_handed_on_is_of_its_newest_owner() -> None:
    observations = Observations()
    observations.pod_changed("ADDED", pod("p", 5))
    for owner in ("former uid", PLAN.test.uid):
        observations.job_seen(job(test_uid=owner))
    assert (names(observations), names(observations, "former uid")) == (["p"], [])


def test_an_event_that_is_older_than_what_is_known_changes_nothing() -> None:
    observations = Observations()
    observations.job_seen(job())
    observations.pods_listed([pod("p", 7, {"phase": "Running"})])
    observations.pod_changed("MODIFIED", pod("p", 6, {"phase": "Pending"}))
    observations.pod_changed("DELETED", pod("p", 6))
    assert [found.phase for found in observations.pods_of(PLAN.test.uid)] == ["Running"]
    observations.pod_changed("DELETED", pod("p", 7))
    assert names(observations) == []
    observations.pod_changed("MODIFIED", pod("p", 6))
    assert names(observations) == []


def test_a_list_takes_away_what_it_does_not_name_except_what_the_watch_has_told_since_it_was_asked_for() -> None:
    observations = Observations()
    observations.job_seen(job())
    for name in ("gone", "told", "newer"):
        observations.pod_changed("ADDED", pod(name, 5, {"phase": "Pending"}))
    observations.told.clear()  # a list is asked for now
    observations.pod_changed("ADDED", pod("told", 8))
    observations.pod_changed("MODIFIED", pod("newer", 9, {"phase": "Running"}))
    observations.pods_listed([pod("newer", 6, {"phase": "Pending"}), pod("listed", 7)])
    assert names(observations) == ["listed", "newer", "told"]
    assert observations.pods["newer"].phase == "Running"
    assert observations.versions == {"newer": 9, "told": 8, "listed": 7}


def test_a_list_that_is_newer_than_the_watch_is_believed() -> None:
    observations = Observations()
    observations.job_seen(job())
    observations.pod_changed("ADDED", pod("p", 5, {"phase": "Pending"}))
    observations.pods_listed([pod("p", 6, {"phase": "Running"})])
    assert observations.pods["p"].phase == "Running"


def test_a_pod_that_loses_its_labels_is_none_of_the_run_any_more() -> None:
    observations = Observations()
    observations.job_seen(job())
    observations.pod_changed("ADDED", pod("p", 5))
    stray = pod("p", 6)
    stray["metadata"]["labels"] = {}
    observations.pod_changed("MODIFIED", stray)
    assert names(observations) == []
    observations.pod_changed("ADDED", pod("q", 7))
    stray["metadata"] |= {"name": "q", "resourceVersion": "8"}
    observations.pods_listed([stray])
    assert names(observations) == []


@pytest.mark.parametrize("is_told", [True, False])
def test_a_pod_that_went_after_a_disruption_stays_known_as_it_was_last_seen(is_told: bool) -> None:  # noqa: FBT001
    observations = Observations()
    observations.job_seen(job())
    observations.pod_changed("ADDED", pod("p", 5, DISRUPTED))
    observations.pod_changed("ADDED", pod("q", 6))
    observations.told.clear()
    if is_told:
        observations.pod_changed("DELETED", pod("p", 7, DISRUPTED))
        observations.pod_changed("DELETED", pod("q", 8))
    else:
        observations.pods_listed([])
    assert names(observations) == []
    assert [found.name for found in observations.disrupted_of(PLAN.test.uid)] == ["p"]
    assert observations.disrupted_of("former uid") == ()


def test_only_so_many_jobs_and_disrupted_pods_are_kept_and_the_newest_of_them() -> None:
    observations = Observations()
    for number in range(3_000):
        observations.job_seen(job(f"job {number}"))
        observations.pod_changed("ADDED", pod(f"p{number}", number + 1, DISRUPTED, f"job {number}"))
        observations.pod_changed("DELETED", pod(f"p{number}", number + 1, DISRUPTED, f"job {number}"))
    assert len(observations.owner_of_job) == len(observations.disrupted) < 3_000
    assert [list(kept)[-1] for kept in (observations.owner_of_job, observations.disrupted)] == ["job 2999", "p2999"]


def test_a_job_that_is_seen_again_is_kept_before_those_that_are_not() -> None:
    observations = Observations()
    observations.pod_changed("ADDED", pod("p", 5))
    for number in range(3_000):
        observations.job_seen(job())
        observations.job_seen(job(f"job {number}"))
    assert names(observations) == ["p"]


@pytest.mark.parametrize(
    ("annotations", "is_known"),
    [({PROOF_SHA256_ANNOTATION: PROOF_SHA256}, True), ({PROOF_SHA256_ANNOTATION: "none"}, False), ({}, False)],
)
def test_a_run_is_proven_by_the_hash_that_its_masters_job_states(
    annotations: dict[str, str], *, is_known: bool
) -> None:
    observations, made = Observations(), job()
    made["metadata"]["annotations"] = annotations
    observations.job_seen(made)
    assert observations.proof_sha256 == ({PLAN.run_id: PROOF_SHA256} if is_known else {})


def test_a_job_that_is_not_of_a_run_says_nothing_of_one() -> None:
    observations, stray = Observations(), job()
    stray["metadata"] |= {"labels": {}, "annotations": {PROOF_SHA256_ANNOTATION: PROOF_SHA256}}
    observations.job_seen(stray)
    assert (observations.owner_of_job, observations.proof_sha256) == ({}, {})


def test_the_end_of_a_pod_that_was_never_known_is_nothing() -> None:
    observations, stray = Observations(), pod("p", 5)
    stray["metadata"]["labels"] = {}
    observations.pod_changed("DELETED", stray)
    assert (observations.pods, observations.disrupted) == ({}, {})
