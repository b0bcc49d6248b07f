from typing import Any

import pytest
from sshload_operator.control.run.observe import Observations
from sshload_operator.control.run.pod_facts import pod_facts
from sshload_operator.state import Role

LABELS = {"sshload.dev/test": "t", "sshload.dev/run-id": "0123456789", "sshload.dev/role": "worker"}


def controlled_by(kind: str, name: str) -> list[dict[str, Any]]:
    return [{"kind": kind, "name": name, "uid": "maker", "controller": True}]


def pod(status: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    ours = {
        "name": "p",
        "resourceVersion": "5",
        "labels": LABELS,
        "ownerReferences": controlled_by("Job", "t-0123456789-workers"),
    }
    return {"metadata": {**ours, **metadata}, "status": status or {}}


def container(**changes: Any) -> dict[str, Any]:
    """The status of a worker's pod by its own container."""
    return {"containerStatuses": [{"name": "worker", "restartCount": 0, "state": {}, "lastState": {}, **changes}]}


def injected(name: str, **state: Any) -> dict[str, Any]:
    return {"name": name, "restartCount": 3, "state": state, "lastState": {}}


def test_a_pod_that_was_just_made_says_nothing_but_what_it_is() -> None:
    facts = pod_facts({"metadata": pod()["metadata"]})
    assert facts is not None
    assert (facts.name, facts.role, facts.run_id) == ("p", Role.WORKER, "0123456789")
    assert (facts.phase, facts.ready, facts.deleting, facts.restarts, facts.exit_code) == ("", False, False, 0, None)


def test_a_container_has_the_resources_that_the_kubelet_tells() -> None:
    told = {"requests": {"memory": "1Gi", "cpu": "1"}, "limits": {"cpu": "2"}}
    facts = pod_facts(pod(container(resources=told)))
    assert facts is not None
    assert facts.resources == (("requests", "cpu", "1"), ("requests", "memory", "1Gi"), ("limits", "cpu", "2"))


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param({}, id="none"),
        pytest.param({"sshload.dev/run-id": "0123456789"}, id="no role"),
        pytest.param({"sshload.dev/role": "worker"}, id="no run"),
        pytest.param({"sshload.dev/run-id": "0123456789", "sshload.dev/role": "king"}, id="a role that is none"),
        pytest.param({**LABELS, "sshload.dev/test": ""}, id="a test without a name"),
        pytest.param({**LABELS, "sshload.dev/run-id": "signing"}, id="a run id that is part of another name"),
    ],
)
def test_a_pod_without_the_labels_of_a_run_is_none_of_its_pods(labels: dict[str, str]) -> None:
    assert pod_facts(pod(labels=labels)) is None


@pytest.mark.parametrize(
    "owners",
    [
        pytest.param([], id="nobody"),
        pytest.param([{**controlled_by("Job", "t-0123456789-workers")[0], "controller": False}], id="no controller"),
        pytest.param(controlled_by("Job", "t-ffffffffff-workers"), id="the Job of another run"),
        pytest.param(controlled_by("Job", "t-0123456789-master"), id="the Job of another role"),
        pytest.param(controlled_by("ReplicaSet", "t-0123456789-workers"), id="no Job"),
    ],
)
def test_a_pod_that_no_job_of_its_run_made_is_none_of_its_pods(owners: list[dict[str, Any]]) -> None:
    assert pod_facts(pod(ownerReferences=owners)) is None


def test_the_target_s_pod_is_known_by_its_replica_set() -> None:
    labels = {**LABELS, "sshload.dev/role": "target"}
    ours = pod_facts(pod(labels=labels, ownerReferences=controlled_by("ReplicaSet", "t-0123456789-target-5c9f")))
    assert ours is not None
    assert ours.role is Role.TARGET
    assert pod_facts(pod(labels=labels, ownerReferences=controlled_by("ReplicaSet", "other-5c9f"))) is None


def test_a_pod_of_another_test_s_job_is_none_of_the_test_s() -> None:
    observations = Observations()
    observations.pod_changed("ADDED", pod())
    assert observations.pods_of("our uid") == ()
    job = {"name": "t-0123456789-workers", "uid": "maker", "labels": LABELS}
    observations.job_seen({"metadata": {**job, "ownerReferences": owned_by("another uid")}})
    assert observations.pods_of("our uid") == ()
    observations.job_seen({"metadata": {**job, "ownerReferences": owned_by("our uid")}})
    assert [facts.name for facts in observations.pods_of("our uid")] == ["p"]


def owned_by(uid: str) -> list[dict[str, Any]]:
    return [{"kind": "SSHLoadTest", "name": "t", "uid": uid, "controller": True}]


def test_a_pod_is_ready_by_its_own_condition() -> None:
    facts = pod_facts(pod({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}))
    assert facts is not None
    assert facts.ready


@pytest.mark.parametrize(("label", "run"), [("17", 17), ("", 0), ("0", 0), ("-1", 0), ("1.0", 0), ("9" * 63, 0)])
def test_a_pod_states_the_number_of_its_run_by_a_label(label: str, run: int) -> None:
    facts = pod_facts(pod(labels={**LABELS, "sshload.dev/run": label}))
    assert facts is not None
    assert facts.run == run


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


ITS_LOG = "the end of its log"


@pytest.mark.parametrize(
    ("status", "said"),
    [
        pytest.param(
            container(state={"terminated": {"exitCode": 137, "reason": "OOMKilled", "message": ITS_LOG}}),
            f"OOMKilled: {ITS_LOG}",
            id="oom",
        ),
        pytest.param(
            {
                **container(state={"terminated": {"exitCode": 1, "reason": "Error", "message": ITS_LOG}}),
                "reason": "Evicted",
                "message": "low on disk",
            },
            f"Evicted: low on disk: {ITS_LOG}",
            id="evicted",
        ),
    ],
)
def test_why_a_pod_was_ended_is_not_hidden_by_the_end_of_its_log(status: dict[str, Any], said: str) -> None:
    facts = pod_facts(pod(status))
    assert facts is not None
    assert facts.termination_message == said


ENDED_WELL = {"exitCode": 0, "reason": "Completed"}


def test_an_injected_init_container_that_has_done_its_work_is_no_end_of_the_pod() -> None:
    status = {
        **container(state={"running": {}}),
        "initContainerStatuses": [injected("istio-init", terminated=ENDED_WELL)],
    }
    facts = pod_facts(pod({"phase": "Running", **status}))
    assert facts is not None
    assert (facts.exit_code, facts.restarts, facts.phase) == (None, 0, "Running")


@pytest.mark.parametrize(("exit_code", "phase"), [(0, "Succeeded"), (70, "Failed")])
def test_a_load_pod_is_over_when_its_own_container_is_though_a_sidecar_runs_on(exit_code: int, phase: str) -> None:
    status = container(state={"terminated": {"exitCode": exit_code, "reason": "Error", "message": "its words"}})
    status["containerStatuses"].insert(0, injected("istio-proxy", running={}))
    facts = pod_facts(pod({"phase": "Running", **status}))
    assert facts is not None
    assert (facts.phase, facts.exit_code, facts.termination_message) == (phase, exit_code, "its words")


def test_a_target_whose_sshd_ended_is_not_over_because_it_is_started_anew() -> None:
    status = {"containerStatuses": [{"name": "target", "restartCount": 1, "state": {"terminated": {"exitCode": 78}}}]}
    body = target_pod(5, "Running")
    facts = pod_facts({**body, "status": {"phase": "Running", **status}})
    assert facts is not None
    assert (facts.phase, facts.exit_code, facts.restarts) == ("Running", 78, 1)


def test_an_injected_container_that_keeps_the_pod_from_starting_is_named() -> None:
    waits = {"waiting": {"reason": "PodInitializing"}}
    broken = injected("vault-init", waiting={"reason": "ImagePullBackOff", "message": "no such image"})
    facts = pod_facts(pod({**container(state=waits), "initContainerStatuses": [broken]}))
    assert facts is not None
    assert facts.waiting_reason == "ImagePullBackOff"
    assert facts.waiting_message == "injected container vault-init: no such image"


def test_a_pod_whose_injected_containers_are_on_their_way_waits_to_be_made() -> None:
    waits = {"waiting": {"reason": "PodInitializing"}}
    running = injected("istio-init", running={})
    facts = pod_facts(pod({**container(state=waits), "initContainerStatuses": [running]}))
    assert facts is not None
    assert (facts.waiting_reason, facts.waits_to_be_made) == ("PodInitializing", True)


def target_pod(version: int, phase: str, name: str = "t-0123456789-target-5c9f-x") -> dict[str, Any]:
    labels = {**LABELS, "sshload.dev/role": "target"}
    owner = controlled_by("ReplicaSet", "t-0123456789-target-5c9f")
    return pod({"phase": phase}, name=name, labels=labels, ownerReferences=owner, resourceVersion=str(version))


def seen_phases(observations: Observations) -> dict[str, str]:
    return {facts.name: facts.phase for facts in observations.pods_of("our uid")}


def test_what_the_watch_told_while_a_list_was_under_way_is_not_forgotten_for_it() -> None:
    observations = Observations()
    for name in ("changed", "gone", "known"):
        observations.pod_changed("ADDED", target_pod(5, "Pending", name))
    observations.told.clear()
    observations.pod_changed("MODIFIED", target_pod(7, "Running", "changed"))
    observations.pod_changed("DELETED", target_pod(8, "Pending", "gone"))
    observations.pod_changed("ADDED", target_pod(9, "Pending", "made"))
    observations.pods_listed([target_pod(5, "Pending", name) for name in ("changed", "gone", "known")])
    assert seen_phases(observations) == {"changed": "Running", "known": "Pending", "made": "Pending"}


def test_a_list_corrects_what_the_watch_has_missed() -> None:
    observations = Observations()
    for name in ("changed", "gone"):
        observations.pod_changed("ADDED", target_pod(5, "Pending", name))
    observations.told.clear()
    observations.pods_listed([target_pod(6, "Running", "changed"), target_pod(7, "Pending", "made")])
    assert seen_phases(observations) == {"changed": "Running", "made": "Pending"}


def test_a_watch_that_is_behind_a_list_takes_nothing_back() -> None:
    observations = Observations()
    observations.pods_listed([target_pod(6, "Running", "p")])
    observations.pod_changed("ADDED", target_pod(5, "Pending", "p"))
    assert seen_phases(observations) == {"p": "Running"}
    observations.pod_changed("DELETED", target_pod(7, "Running", "p"))
    assert seen_phases(observations) == {}


def disrupted(**changes: Any) -> dict[str, Any]:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager", "message": "taint"}
    return {"phase": "Running", "conditions": [{**condition, **changes}]}


def test_a_disruption_is_told_by_its_reason_and_message_at_no_more_than_300_characters() -> None:
    for status, disruption in (
        (disrupted(), "DeletionByTaintManager: taint"),
        (disrupted(status="False"), ""),
        (disrupted(reason="x", message="y" * 1000), f"x: {'y' * 296}…"),
        ({}, ""),
    ):
        facts = pod_facts(pod(status))
        assert facts is not None
        assert facts.disruption == disruption


def job() -> dict[str, Any]:
    owner = [{"kind": "SSHLoadTest", "name": "t", "uid": "ours", "controller": True}]
    labels = {**LABELS}
    return {"metadata": {"name": "t-0123456789-workers", "uid": "maker", "labels": labels, "ownerReferences": owner}}


@pytest.mark.parametrize("how", ["watch", "list"])
def test_a_pod_that_goes_after_a_disruption_is_remembered_by_it(how: str) -> None:
    observations = Observations()
    observations.job_seen(job())
    observations.pods_listed([pod(disrupted())])
    if how == "watch":
        observations.pod_changed("DELETED", pod(disrupted(), resourceVersion="6"))
    else:
        observations.pods_listed([])
    assert observations.pods_of("ours") == ()
    assert [(one.name, one.disruption) for one in observations.disrupted_of("ours")] == [
        ("p", "DeletionByTaintManager: taint")
    ]
    assert observations.disrupted_of("another's") == ()


def test_no_more_than_200_disrupted_pods_are_remembered() -> None:
    observations = Observations()
    observations.job_seen(job())
    for number in range(300):
        observations.pod_changed("DELETED", pod(disrupted(), name=f"p-{number}", resourceVersion=str(number + 6)))
    assert len(observations.disrupted_of("ours")) == 200


def facts_of(status: dict[str, Any]) -> Any:
    facts = pod_facts(pod(status))
    assert facts is not None
    return facts


def test_no_more_than_32_amounts_of_resources_are_kept() -> None:
    many = {f"example.com/r{number:02}": "1" for number in range(40)}
    kept = facts_of(container(resources={"requests": many, "limits": {"cpu": "1"}})).resources
    assert [amount.name for amount in kept] == sorted(many)[:32]
    assert facts_of(container(resources={"requests": None, "limits": None})).resources == ()


def test_pods_with_the_same_resources_share_one_copy_of_them() -> None:
    first, second = (facts_of(container(resources={"requests": {"cpu": "1"}})).resources for _ in range(2))
    assert first is second


@pytest.mark.parametrize(
    ("reason", "said"), [("Unschedulable", "0/1 nodes"), ("SchedulingGated", "0/1 nodes"), ("Other", ""), (None, "")]
)
def test_only_what_keeps_a_pod_from_its_node_blocks_it(reason: str | None, said: str) -> None:
    condition = {"type": "PodScheduled", "status": "False", "message": "0/1 nodes"}
    if reason is not None:
        condition["reason"] = reason
    assert facts_of({"conditions": [{"type": "Ready", "status": "False"}, condition]}).blocked_message == said
    assert facts_of({"conditions": None}).blocked_message == ""


def test_the_restarts_are_those_of_its_own_container() -> None:
    status = container(restartCount=2)
    status["containerStatuses"].insert(0, injected("istio-proxy", running={}))
    assert facts_of(status).restarts == 2


def test_what_its_own_container_waits_for_comes_before_what_an_injected_one_waits_for() -> None:
    broken = injected("sidecar", waiting={"reason": "CrashLoopBackOff", "message": "again"})
    own = container(state={"waiting": {"reason": "ErrImagePull", "message": "no such image"}})
    own["containerStatuses"].append(broken)
    assert (facts_of(own).waiting_reason, facts_of(own).waiting_message) == ("ErrImagePull", "no such image")
    made = container(state={"running": {}})
    made["containerStatuses"].append(broken)
    assert facts_of(made).waiting_message == "injected container sidecar: again"


def test_of_several_injected_containers_that_wait_the_first_of_those_that_run_before_it_is_named() -> None:
    init = injected("init", waiting={"reason": "ImagePullBackOff"})
    side = injected("side", waiting={"reason": "CrashLoopBackOff"})
    status = {**container(state={"waiting": {"reason": "PodInitializing"}}), "initContainerStatuses": [init]}
    status["containerStatuses"].append(side)
    assert facts_of(status).waiting_reason == "ImagePullBackOff"
    assert facts_of(status).waiting_message == "injected container init: "
    unnamed = {**status, "initContainerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull"}}}]}
    assert facts_of(unnamed).waiting_message == "injected container : "


@pytest.mark.parametrize("role", ["target", "proxy", "gateway"])
def test_a_pod_that_serves_the_load_is_not_over_when_its_container_ends(role: str) -> None:
    labels = {**LABELS, "sshload.dev/role": role}
    owner = controlled_by("ReplicaSet", f"t-0123456789-{role}-5c9f")
    status = {"containerStatuses": [{"name": role, "state": {"terminated": {"exitCode": 0}}}], "phase": "Running"}
    facts = pod_facts(pod(status, labels=labels, ownerReferences=owner))
    assert facts is not None
    assert facts.phase == "Running"


def test_a_pod_whose_phase_is_not_running_keeps_it_whatever_its_container_says() -> None:
    ended = container(state={"terminated": {"exitCode": 1, "reason": "Error"}})
    assert facts_of({**ended, "phase": "Succeeded"}).phase == "Succeeded"
    assert facts_of({**ended, "phase": "Pending"}).phase == "Pending"


def test_the_present_end_of_a_container_comes_before_its_last_one() -> None:
    ends = {"state": {"terminated": {"exitCode": 3}}, "lastState": {"terminated": {"exitCode": 4, "message": "before"}}}
    found = facts_of(container(**ends))
    assert (found.exit_code, found.termination_message) == (3, "")
    assert facts_of(container(lastState=ends["lastState"])).exit_code == 4


def test_injected_containers_that_are_only_being_made_keep_nobody_waiting() -> None:
    status = container(state={"waiting": {"reason": "PodInitializing", "message": "its own"}})
    status["containerStatuses"].append(injected("sidecar", waiting={"reason": "ContainerCreating"}))
    assert (facts_of(status).waiting_reason, facts_of(status).waiting_message) == ("PodInitializing", "its own")


def proof(**state: Any) -> dict[str, Any]:
    """Return the status of a target's pod that waits for its proof of a user namespace, which is in this state."""
    first = {"name": "user-namespace", "restartCount": 0, "state": state, "lastState": {}}
    waiting = {
        "name": "target",
        "restartCount": 0,
        "lastState": {},
        "state": {"waiting": {"reason": "PodInitializing"}},
    }
    return {"phase": "Pending", "initContainerStatuses": [first], "containerStatuses": [waiting]}


TARGET = {**LABELS, "sshload.dev/role": "target"}
DEPLOYED = controlled_by("ReplicaSet", "t-0123456789-target-5c9f")


def test_a_proof_of_a_user_namespace_that_failed_is_the_end_of_the_pod() -> None:
    ended = {"terminated": {"exitCode": 69, "reason": "Error", "message": "its uid_map is 0 0 4294967295"}}
    facts = pod_facts(pod(proof(**ended), labels=TARGET, ownerReferences=DEPLOYED))
    assert facts is not None
    assert (facts.exit_code, facts.termination_message) == (69, "its uid_map is 0 0 4294967295")


@pytest.mark.parametrize("state", [{"terminated": {"exitCode": 0, "reason": "Completed"}}, {"running": {}}, {}])
def test_a_proof_that_succeeded_or_goes_on_is_no_end(state: dict[str, Any]) -> None:
    facts = pod_facts(pod(proof(**state), labels=TARGET, ownerReferences=DEPLOYED))
    assert facts is not None
    assert facts.exit_code is None
