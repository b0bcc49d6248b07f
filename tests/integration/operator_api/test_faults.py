import json
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from api_proxy import Answer, ApiProxy, ApiRequest, GoneInStream, Meddling, Silence
from live_cluster import LiveCluster, Manifest, load_test
from operator_process import OperatorProcess
from played_pods import READY, PlayedPods, ended
from runs import says_running, says_summary

Pods = Callable[[str], PlayedPods]
A_JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "any"},
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "any", "image": "any"}]}}},
}
A_DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "any"},
    "spec": {
        "selector": {"matchLabels": {"any": "any"}},
        "template": {
            "metadata": {"labels": {"any": "any"}},
            "spec": {"containers": [{"name": "any", "image": "any"}]},
        },
    },
}
A_POLICY = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "any"},
    "spec": {"podSelector": {}},
}


def of_core(kind: str, **fields: Any) -> Manifest:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "any"}, **fields}


def test_a_run_outlives_an_api_server_that_is_away_for_ten_seconds(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, pods: Pods
) -> None:
    operator.start()
    cluster.apply(load_test("away"))
    cluster.wait("away", lambda status: status.get("phase") == "PreparingTarget", "start")
    played = pods("away")
    played.create()
    played.all_fare(READY)
    says_running(proxy, played)
    cluster.wait("away", lambda status: status["phase"] == "Running", "load")
    proxy.go_away()
    away_until = time.monotonic() + 10
    says_summary(proxy, played)
    played.fare("master", ended(0))
    cluster.apply(load_test("meanwhile"))
    while time.monotonic() < away_until:
        assert operator.is_running()
        time.sleep(0.1)
    proxy.come_back()
    assert cluster.finished("away")["verdict"] == "Passed"
    cluster.wait("meanwhile", lambda status: status.get("phase") == "PreparingTarget", "start")
    assert "sshload_operator_failed_passes_total 0.0" not in operator.metrics()


def test_what_was_deleted_while_the_watch_was_away_is_forgotten(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy
) -> None:
    operator.start()
    cluster.apply(load_test("gone", abort=True), load_test("kept", abort=True))
    for name in ("gone", "kept"):
        cluster.finished(name)
        cluster.gone(lambda name=name: f'test="{name}"' not in operator.metrics(), "lack of the metric")  # type: ignore[misc]
    proxy.go_away()
    cluster.delete("sshloadtest", "gone")
    too_old = [GoneInStream()]

    def gone_once(asked: ApiRequest) -> Meddling | None:
        return too_old.pop() if too_old and (asked.verb, asked.resource) == ("watch", "sshloadtests") else None

    proxy.meddle = gone_once
    proxy.come_back()
    cluster.gone(lambda: 'test="gone"' in operator.metrics(), "metric of a deleted test")
    assert 'test="kept"' in operator.metrics()
    assert not too_old


def test_a_list_that_is_never_answered_is_asked_for_again(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy
) -> None:
    unanswered = [Silence()]

    def silent_once(asked: ApiRequest) -> Meddling | None:
        return unanswered.pop() if unanswered and (asked.verb, asked.resource) == ("list", "sshloadtests") else None

    proxy.meddle = silent_once
    cluster.apply(load_test("unheard"))
    operator.begin()
    cluster.wait("unheard", lambda status: status.get("phase") == "PreparingTarget", "start", within_s=150)
    assert not unanswered


@pytest.mark.parametrize("answer", [pytest.param(Answer(500), marks=pytest.mark.full), Silence()])
def test_a_master_log_that_cannot_be_read_holds_up_neither_deadline_nor_abort(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, pods: Pods, answer: Meddling
) -> None:
    proxy.meddle = lambda asked: answer if asked.resource == "pods/log" else None
    operator.start()
    for name in ("late", "aborted"):
        cluster.apply(load_test(name, deadline="1h"))
        cluster.wait(name, lambda status: status.get("phase") == "PreparingTarget", "start")
        pods(name).create()
        pods(name).all_fare(READY)
        cluster.wait(name, lambda status: "Not all could be read" in status["message"], "word of what was not read")
    cluster.apply(load_test("aborted", abort=True, deadline="1h"))
    assert cluster.finished("aborted")["verdict"] == "Aborted"
    status = cluster.finished_after("late", timedelta(hours=1))
    assert (status["verdict"], status["reason"]) == ("Error", "DeadlineExceeded")
    assert "not all could be read" in status["message"]


@pytest.mark.parametrize(
    ("resource", "like"),
    [
        pytest.param("jobs.batch", A_JOB, id="Job"),
        pytest.param("deployments.apps", A_DEPLOYMENT, id="Deployment", marks=pytest.mark.full),
        pytest.param(
            "services", of_core("Service", spec={"ports": [{"port": 1}]}), id="Service", marks=pytest.mark.full
        ),
        pytest.param("secrets", of_core("Secret"), id="Secret", marks=pytest.mark.full),
        pytest.param("configmaps", of_core("ConfigMap"), id="ConfigMap", marks=pytest.mark.full),
        pytest.param("networkpolicies.networking.k8s.io", A_POLICY, id="NetworkPolicy"),
    ],
)
def test_a_child_that_the_api_server_refuses_is_an_error_that_names_it_and_says_why(
    cluster: LiveCluster, operator: OperatorProcess, resource: str, like: Manifest
) -> None:
    none = {f"count/{resource}": "0"}
    cluster.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": none}})
    usage = {"status": {"hard": none, "used": none}}  # as the quota controller would
    cluster.change("quota", "none", usage, "status")
    cluster.gone(lambda: cluster.takes(like), "room for it")
    operator.start()
    cluster.apply(load_test("refused"))
    status = cluster.finished("refused")
    assert (status["verdict"], status["reason"]) == ("Error", "PodRejected")
    assert status["message"].startswith(f"a {like['kind']} is not admitted: 403: ")
    assert "exceeded quota: none" in status["message"]
    cluster.gone(lambda: cluster.children("refused"), "children")


def test_a_replica_set_that_cannot_be_made_is_an_error_long_before_the_start_timeout(
    cluster: LiveCluster, operator: OperatorProcess
) -> None:
    operator.start()
    cluster.apply(load_test("unmade", startTimeout="25m"))
    cluster.wait("unmade", lambda status: status.get("phase") == "PreparingTarget", "start")
    (deployment,) = cluster.labelled("deployments", "sshload.dev/test=unmade")
    said = 'Failed to create new replica set "x": replicasets.apps "x" is forbidden: exceeded quota: none'
    condition = {"type": "Progressing", "status": "False", "reason": "ReplicaSetCreateError", "message": said}
    status = {"status": {"conditions": [condition]}}  # as the Deployment controller does
    cluster.change("deployment", deployment["metadata"]["name"], status, "status")
    ended = cluster.finished("unmade")
    assert (ended["verdict"], ended["reason"]) == ("Error", "PodRejected")
    assert ended["message"].startswith(f"a ReplicaSet is not admitted: {said}. ")


def test_results_that_the_api_server_refuses_at_length_cost_no_verdict(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, pods: Pods
) -> None:
    refuse_results(cluster, f"our policy {'forbids what it forbids, and ' * 180}names results")
    operator.start()
    cluster.apply(load_test("unkept"))
    cluster.wait("unkept", lambda status: status.get("phase") == "PreparingTarget", "start")
    played = pods("unkept")
    played.create()
    played.all_fare(READY)
    says_running(proxy, played)
    cluster.wait("unkept", lambda status: status["phase"] == "Running", "load")
    says_summary(proxy, played)
    played.fare("master", ended(0))
    status = cluster.finished("unkept")
    assert (status["verdict"], status["reason"]) == ("Passed", "NoThresholds")
    assert status["message"].startswith("the run completed")
    assert "The results ConfigMap was refused: 422" in status["message"]
    assert "our policy forbids" in status["message"]
    assert "resultsConfigMap" not in status


def test_a_test_deleted_in_mid_run_is_left_alone(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, pods: Pods
) -> None:
    operator.start()
    cluster.apply(load_test("deleted"))
    cluster.wait("deleted", lambda status: status.get("phase") == "PreparingTarget", "start")
    pods("deleted").create()
    cluster.delete("sshloadtest", "deleted")
    cluster.apply(load_test("next"))
    cluster.wait("next", lambda status: status.get("phase") == "PreparingTarget", "start")
    cluster.gone(lambda: 'test="deleted"' in operator.metrics(), "metric of a deleted test")
    written = [write for write in proxy.writes if "/deleted" in write.path]
    pods("deleted").all_fare(READY)
    pods("next").create()
    pods("next").all_fare(READY)
    cluster.wait("next", lambda status: status.get("phase") == "StartingWorkers", "target")
    assert [write for write in proxy.writes if "/deleted" in write.path] == written
    assert 'test="deleted"' not in operator.metrics()


def test_an_object_of_the_same_name_is_another_test(cluster: LiveCluster, operator: OperatorProcess) -> None:
    operator.start()
    run_ids = set()
    for _ in range(3):
        cluster.apply(load_test("again"))
        cluster.wait("again", lambda status: status.get("phase") == "PreparingTarget", "start")
        uid = cluster.get("sshloadtest", "again")["metadata"]["uid"]
        jobs = cluster.labelled("jobs", "sshload.dev/test=again")
        run_ids |= {job["metadata"]["labels"]["sshload.dev/run-id"] for job in jobs if owner(job) == uid}
        cluster.delete("sshloadtest", "again")
    assert len(run_ids) == 3


def test_fifty_tests_at_once_all_start(cluster: LiveCluster, operator: OperatorProcess) -> None:
    operator.start()
    cluster.apply(*(load_test(f"many-{number}", startTimeout="25m") for number in range(50)))
    cluster.gone(lambda: not_started(cluster), "tests that have not started", within_s=600)
    assert len(cluster.labelled("jobs", "sshload.dev/test")) == 100
    all_of_them = f'sshload_tests_running{{namespace="{cluster.namespace}"}} 50.0'
    cluster.gone(lambda: all_of_them not in operator.metrics(), "lack of the count of running tests")


def test_a_finished_test_costs_a_new_operator_no_request(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy
) -> None:
    operator.start()
    cluster.apply(load_test("kept", abort=True))
    assert cluster.finished("kept")["verdict"] == "Aborted"
    cluster.gone(lambda: cluster.children("kept"), "children")
    operator.stop()
    proxy.writes.clear()
    operator.start()
    cluster.apply(load_test("newer", abort=True))
    cluster.finished("newer")
    verdict = f'sshload_test_verdict{{namespace="{cluster.namespace}",test="kept",verdict="Aborted"}} 1.0'
    cluster.gone(lambda: verdict not in operator.metrics(), "lack of the older verdict's metric")
    assert [write for write in proxy.writes if "kept" in json.dumps(write.body) or "kept" in write.path] == []


def refuse_results(cluster: LiveCluster, message: str) -> None:
    """Let the API server refuse each results ConfigMap of the namespace with this message, by a policy of its own."""
    name = f"no-results-in-{cluster.namespace}"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    here = {"matchLabels": {"kubernetes.io/metadata.name": cluster.namespace}}
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name}}
    policy = {
        "matchConstraints": {"resourceRules": [rule], "namespaceSelector": here},
        "validations": [{"expression": "!object.metadata.name.endsWith('-results')", "message": message}],
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    cluster.apply(
        {**kind, "kind": "ValidatingAdmissionPolicy", "spec": policy},
        {**kind, "kind": "ValidatingAdmissionPolicyBinding", "spec": binding},
    )
    results = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "any-results"}}
    cluster.gone(lambda: cluster.takes(results), "room for results")


def not_started(cluster: LiveCluster) -> list[str]:
    tests = cluster.labelled("sshloadtests")
    return [test["metadata"]["name"] for test in tests if test.get("status", {}).get("phase") != "PreparingTarget"]


def owner(child: dict[str, object]) -> str:
    metadata = child["metadata"]
    assert isinstance(metadata, dict)
    uid: str = metadata["ownerReferences"][0]["uid"]
    return uid


def test_a_child_that_the_api_server_always_fails_to_make_ends_the_test(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy
) -> None:
    """The status of a run that was never started says nothing yet, and no deadline counts without a start."""
    proxy.meddle = lambda request: Answer(500) if request.verb == "create" and request.resource == "jobs" else None
    operator.start()
    cluster.apply(load_test("unmade"))
    status = cluster.finished("unmade")
    assert (status["verdict"], status["reason"]) == ("Error", "PodRejected")
    assert "500" in status["message"]
