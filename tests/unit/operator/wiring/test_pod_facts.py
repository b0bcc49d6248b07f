from typing import Any

import pytest
from sshload_operator.control.pod_facts import pod_facts
from sshload_operator.state import Role


def pod(status: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    labels = {"sshload.dev/test": "t", "sshload.dev/run-id": "0123456789", "sshload.dev/role": "worker"}
    return {"metadata": {"name": "p", "labels": labels, **metadata}, "status": status or {}}


def container(**changes: Any) -> dict[str, Any]:
    return {"containerStatuses": [{"name": "main", "restartCount": 0, "state": {}, "lastState": {}, **changes}]}


def test_a_pod_that_was_just_made_says_nothing_but_what_it_is() -> None:
    facts = pod_facts({"metadata": pod()["metadata"]})
    assert facts is not None
    assert (facts.name, facts.role, facts.run_id) == ("p", Role.WORKER, "0123456789")
    assert (facts.phase, facts.ready, facts.deleting, facts.restarts, facts.exit_code) == ("", False, False, 0, None)


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param({}, id="none"),
        pytest.param({"sshload.dev/run-id": "0123456789"}, id="no role"),
        pytest.param({"sshload.dev/role": "worker"}, id="no run"),
        pytest.param({"sshload.dev/run-id": "0123456789", "sshload.dev/role": "king"}, id="a role that is none"),
    ],
)
def test_a_pod_without_the_labels_of_a_run_is_none_of_its_pods(labels: dict[str, str]) -> None:
    assert pod_facts(pod(labels=labels)) is None


def test_a_pod_is_ready_by_its_own_condition() -> None:
    facts = pod_facts(pod({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}))
    assert facts is not None
    assert facts.ready


def test_a_pod_on_its_way_out_is_deleting() -> None:
    facts = pod_facts(pod(deletionTimestamp="2026-11-21T00:00:00Z"))
    assert facts is not None
    assert facts.deleting


def test_a_container_that_waits_says_why() -> None:
    waiting = {"waiting": {"reason": "ErrImagePull", "message": "no such image"}}
    facts = pod_facts(pod(container(state=waiting)))
    assert facts is not None
    assert (facts.waiting_reason, facts.waiting_message) == ("ErrImagePull", "no such image")


def test_a_pod_that_no_node_takes_says_why() -> None:
    unscheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
    facts = pod_facts(pod({"phase": "Pending", "conditions": [unscheduled]}))
    assert facts is not None
    assert facts.blocked_message == "0/1 nodes"


@pytest.mark.parametrize("place", ["state", "lastState"])
def test_the_end_of_a_container_is_told_even_after_it_was_started_anew(place: str) -> None:
    end = {"terminated": {"exitCode": 3, "reason": "Error", "message": "sshd refused its config"}}
    facts = pod_facts(pod(container(**{place: end, "restartCount": 2})))
    assert facts is not None
    assert (facts.exit_code, facts.termination_message, facts.restarts) == (3, "sshd refused its config", 2)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        pytest.param(container(state={"terminated": {"exitCode": 137, "reason": "OOMKilled"}}), "OOMKilled", id="oom"),
        pytest.param({"reason": "Evicted", "message": "low on memory"}, "Evicted: low on memory", id="evicted"),
        pytest.param(container(state={"terminated": {"exitCode": 0, "reason": "Completed"}}), "", id="a good end"),
    ],
)
def test_where_a_container_left_no_words_the_kubelet_s_stand_in(status: dict[str, Any], said: str) -> None:
    facts = pod_facts(pod(status))
    assert facts is not None
    assert facts.termination_message == said
