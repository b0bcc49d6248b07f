"""What waits for a test on a real API server: kubectl, Flux and Argo CD, from its first apply to its verdict."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import argo_lua
import pytest
from api_proxy import ApiProxy
from flux_and_argo import Reader
from live_cluster import LiveCluster, Manifest, load_test
from operator_process import OperatorProcess
from played_pods import READY, PlayedPods, ended
from runs import says_running, says_summary
from searches import found_118
from sshload_contract.wire.run_summary import RunSummary

Pods = Callable[[str], PlayedPods]
SEARCH = {"capacity": {"arrivals": {"min": 10, "max": 500, "duration": "30s"}}}
FOUND = found_118()
MET = [{"throughput": {"above": 1}}]
_SPEC = load_test("any")["spec"]
KINDS: Mapping[str, Manifest] = {
    "SSHLoadTest": _SPEC,
    "SSHLoadTestSchedule": {"schedule": "0 0 1 1 *", "testTemplate": {"spec": _SPEC}},
    "SSHLoadTestComparison": {
        "base": _SPEC,
        "variants": [{"name": "a"}, {"name": "b", "patch": {"target": {"managed": {"sshd": {"useDNS": True}}}}}],
    },
}


def promised(above: float) -> list[Manifest]:
    """Return the thresholds of a search that is to find more than this."""
    latency = {"step": "total", "percentile": 99, "below": "2s"}
    return [{"latency": latency}, {"errorRate": {"below": "1%"}}, {"capacity": {"above": above}}]


def play(cluster: LiveCluster, proxy: ApiProxy, pods: PlayedPods, found: RunSummary | None = None) -> dict[str, Any]:
    """Let a test go from its start to its end; return its status."""
    begin(cluster, pods)
    says_running(proxy, pods)
    cluster.wait(pods.test, lambda status: status["phase"] == "Running", "load")
    says_summary(proxy, pods, found)
    pods.fare("master", ended(0))
    status = cluster.finished(pods.test)
    pods.collect_all()
    return status


def begin(cluster: LiveCluster, pods: PlayedPods) -> None:
    """Let a test begin, with all its pods."""
    cluster.wait(pods.test, lambda status: status.get("phase") == "PreparingTarget", "start")
    pods.create()
    pods.all_fare(READY)


def waits(cluster: LiveCluster, condition: str, test: str, kind: str = "sshloadtest") -> bool:
    """Tell whether `kubectl wait` for the condition runs into its timeout of one second."""
    said = cluster.kubectl("wait", f"{kind}/{test}", f"--for=condition={condition}", "--timeout=1s", check=False)
    assert "condition met" in said or "timed out" in said, said
    return "timed out" in said


def waits_no_more(cluster: LiveCluster, test: str, *conditions: str) -> None:
    """Let `kubectl wait` see that the conditions hold."""
    for condition in conditions:
        cluster.kubectl("wait", f"sshloadtest/{test}", f"--for=condition={condition}", "--timeout=60s")


def act(cluster: LiveCluster, test: str, action: str) -> None:
    """Do one of Argo CD's actions: what it changes of the spec is sent as a merge patch."""
    obj = cluster.get("sshloadtest", test)
    assert action in argo_lua.offered(obj)
    changed = argo_lua.after(action, obj)["spec"]
    patch = {key: value for key, value in changed.items() if obj["spec"].get(key) != value}
    cluster.change("sshloadtest", test, {"spec": patch})


@pytest.mark.parametrize("kind", KINDS)
def test_what_no_operator_has_seen_yet_is_not_taken_for_done(kind: str, cluster: LiveCluster, reader: Reader) -> None:
    cluster.apply(
        {"apiVersion": "sshload.dev/v1alpha1", "kind": kind, "metadata": {"name": "new"}, "spec": KINDS[kind]}
    )
    obj = cluster.get(kind, "new")
    assert reader.kstatus(obj) == "InProgress"
    assert reader.health(obj)["status"] == "Progressing"
    assert waits(cluster, "Ready", "new", kind)


def test_a_gate_opens_for_a_capacity_that_is_kept_and_closes_when_it_is_to_run_again(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, pods: Pods, reader: Reader
) -> None:
    operator.start()
    gate = load_test("gate", load=SEARCH, thresholds=promised(100), triggers={"server": "10.0p1"})
    cluster.apply(gate)
    begin(cluster, pods("gate"))
    assert reader.kstatus(cluster.get("sshloadtest", "gate")) == "InProgress"
    says_summary(proxy, pods("gate"), FOUND)
    pods("gate").fare("master", ended(0))
    waits_no_more(cluster, "gate", "Complete", "Ready", "Passed")
    passed = cluster.get("sshloadtest", "gate")
    assert (passed["status"]["verdict"], passed["status"]["run"]) == ("Passed", 1)
    assert (reader.kstatus(passed), reader.health(passed)["status"]) == ("Current", "Healthy")

    operator.stop()  # so that nothing but the generation tells the old verdict from a new one
    cluster.apply({**gate, "spec": {**gate["spec"], "triggers": {"server": "10.2p1"}}})
    edited = cluster.get("sshloadtest", "gate")
    assert edited["status"] == passed["status"]
    assert (reader.kstatus(edited), reader.health(edited)["status"]) == ("InProgress", "Progressing")
    assert all(waits(cluster, condition, "gate") for condition in ("Complete", "Ready", "Passed"))

    operator.start()
    status = cluster.wait("gate", lambda status: status["observedGeneration"] == 2, "new run")
    assert (status["phase"], status["run"]) == ("PreparingTarget", 2)


def test_a_gate_stays_shut_for_a_capacity_that_is_missed_and_nobody_waits_for_the_timeout(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, pods: Pods, reader: Reader
) -> None:
    operator.start()
    cluster.apply(load_test("gate", load=SEARCH, thresholds=promised(130)))
    assert play(cluster, proxy, pods("gate"), FOUND)["verdict"] == "Failed"
    obj = cluster.get("sshloadtest", "gate")
    assert reader.kstatus(obj) == "Failed"
    assert reader.health(obj) == {"status": "Degraded", "message": f"Failed: {obj['status']['message']}"}
    assert waits(cluster, "Ready", "gate")
    waits_no_more(cluster, "gate", "Complete", "Stalled", "Passed=false")
    assert cluster.kubectl("get", "sshloadtest", "gate", "-o", "jsonpath={.status.verdict}") == "Failed"


def test_a_test_is_aborted_and_run_again_by_hand_without_any_drift_from_git(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, pods: Pods
) -> None:
    operator.start()
    in_git = load_test("mine", thresholds=MET, triggers={"server": "10.2p1"})
    cluster.kubectl("apply", "-f", "-", stdin=json.dumps(in_git))
    begin(cluster, pods("mine"))
    act(cluster, "mine", "abort")
    assert cluster.finished("mine")["verdict"] == "Aborted"
    pods("mine").collect_all()
    assert_in_sync(cluster, in_git)
    assert cluster.status("mine")["verdict"] == "Aborted"

    act(cluster, "mine", "re-run")
    status = play(cluster, proxy, pods("mine"))
    assert (status["verdict"], status["run"]) == ("Passed", 3)
    assert_in_sync(cluster, in_git)
    assert cluster.status("mine") == status


def assert_in_sync(cluster: LiveCluster, manifest: Manifest) -> None:
    """Apply a manifest as it is in Git again, by both kinds of apply: there is nothing to change."""
    generation = cluster.get("sshloadtest", manifest["metadata"]["name"])["metadata"]["generation"]
    assert cluster.kubectl("diff", "-f", "-", stdin=json.dumps(manifest)) == ""
    cluster.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))
    for manager in ("argocd-controller", "kustomize-controller"):
        cluster.kubectl(
            "apply", "--server-side", "--force-conflicts", f"--field-manager={manager}", "-f", "-",
            stdin=json.dumps(manifest),
        )  # fmt: skip
    assert cluster.get("sshloadtest", manifest["metadata"]["name"])["metadata"]["generation"] == generation


def test_a_schedule_is_run_now_and_counts_the_test_as_its_own(
    cluster: LiveCluster, operator: OperatorProcess, reader: Reader
) -> None:
    operator.start()
    metadata = {"name": "yearly", "namespace": cluster.namespace}
    spec = {**KINDS["SSHLoadTestSchedule"], "testTemplate": {"spec": {**_SPEC, "target": {"managed": {}}}}}
    cluster.apply(
        {"apiVersion": "sshload.dev/v1alpha1", "kind": "SSHLoadTestSchedule", "metadata": metadata, "spec": spec}
    )
    (impact,) = reader.after("run-now", cluster.get("slts", "yearly"))
    assert impact["operation"] == "create"
    cluster.create(impact["resource"])
    name = impact["resource"]["metadata"]["name"]
    cluster.wait(name, lambda status: status.get("phase") == "PreparingTarget", "start")
    cluster.gone(lambda: active(cluster.get("slts", "yearly")) != [name], "lack of an active test")
    assert waits(cluster, "Complete", name)


def active(schedule: dict[str, Any]) -> list[str]:
    """Return the names of the tests that a schedule says are under way."""
    return [found["name"] for found in schedule.get("status", {}).get("active", ())]
