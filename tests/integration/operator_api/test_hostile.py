"""What a tenant can do to the operator with the pods, the log and the spec of a test of his own."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from api_proxy import ApiProxy
from circles import in_pairs
from live_cluster import LiveCluster, Manifest, load_test
from operator_process import OperatorProcess
from played_pods import READY, PlayedPods, ended
from runs import packed_words, retold, run_token, says_running, says_summary, summary
from sim_comparison import comparison_spec
from specs.scheduling import SPREAD
from sshload_contract.vocabulary import Window
from sshload_contract.wire.codec import to_json
from sshload_contract.wire.master_log import summary_lines
from sshload_operator.control.api_server.cluster import LIST_PAGE

Pods = Callable[[str], PlayedPods]
DEEP: Mapping[str, Manifest] = {
    "affinity": load_test("deep", workers={"affinity": "NESTED"}),
    "spread": load_test("deep", workers={"topologySpreadConstraints": [{**SPREAD[0], "labelSelector": "NESTED"}]}),
    "patch": {
        "apiVersion": "sshload.dev/v1alpha1",
        "kind": "SSHLoadTestComparison",
        "metadata": {"name": "deep"},
        "spec": comparison_spec(variants=[{"name": "a"}, {"name": "b", "patch": "NESTED"}]),
    },
}
MOST_MEMORY_KB = 130_000  # with all that the operator imports, which is about half of it


def running(cluster: LiveCluster, proxy: ApiProxy, pods: Pods, name: str) -> PlayedPods:
    """Bring a test to the phase Running."""
    cluster.apply(load_test(name))
    cluster.wait(name, lambda status: status.get("phase") == "PreparingTarget", "start")
    played = pods(name)
    played.create()
    played.all_fare(READY)
    says_running(proxy, played)
    cluster.wait(name, lambda status: status["phase"] == "Running", "load")
    return played


def memory_kb(operator: OperatorProcess) -> int:
    """Return the most memory that the operator has taken so far."""
    status = Path(f"/proc/{operator.pid}/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0])


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"[" + b"{}," * 21_000_000 + b"{}]", id="64 MB of empty objects"),
        pytest.param(b"[" + b"{}," * 190_000 + b"{}]", id="as many values as are parsed"),
        pytest.param(b'"\\ud83d\\ude00' + b"a" * 4_000_000 + b'"', id="one wide string"),
        pytest.param(b"[" * 4_000_000, id="nested without end"),
    ],
)
def test_a_log_made_to_fill_the_memory_ends_its_own_test_and_nothing_else(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, pods: Pods, text: bytes
) -> None:
    operator.start()
    played = running(cluster, proxy, pods, "hostile")
    (master,) = played.names("master")
    proxy.logs[master] = packed_words(text, run_token(played))
    played.fare("master", ended(0))
    cluster.apply(load_test("neighbour"))
    cluster.wait("neighbour", lambda status: status.get("phase") == "PreparingTarget", "start")
    status = cluster.finished("hostile")
    assert (status["verdict"], status["reason"]) == ("Error", "ResultsUnreadable")
    assert memory_kb(operator) < MOST_MEMORY_KB


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"started": 0, "duration_s": 0.0, "succeeded": -5}, id="numbers that cannot be"),
        pytest.param({"scheduled": 2**63 - 1, "offered_rate": 1e308, "achieved_rate": 1e308}, id="endless numbers"),
    ],
)
def test_results_that_cannot_be_end_the_test(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, pods: Pods, changes: dict[str, Any]
) -> None:
    operator.start()
    played = running(cluster, proxy, pods, "false")
    found = summary()
    says_summary(proxy, played, retold(found, load=replace(found.trial.load, **changes)))
    played.fare("master", ended(0))
    status = cluster.finished("false")
    assert (status["verdict"], status["reason"]) == ("Error", "ResultsUnreadable"), status["message"]


def test_names_of_steps_that_are_too_long_and_alike_keep_no_verdict_back(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, pods: Pods
) -> None:
    operator.start()
    played = running(cluster, proxy, pods, "large")
    (master,) = played.names("master")
    run_id = cluster.get("pod", master)["metadata"]["labels"]["sshload.dev/run-id"]
    step = next(step for step in summary().trial.steps if step.window is Window.MEASURED)
    steps = tuple(replace(step, step=f"{number:20000}") for number in range(100))
    proxy.logs[master] = packed_words(
        to_json(retold(summary(), run_id=run_id, steps=steps)).encode(), run_token(played)
    )
    played.fare("master", ended(0))
    status = cluster.finished("large")
    assert (status["reason"], len(status["results"]["parts"])) == ("NoThresholds", 1)


def test_labels_of_a_pod_delete_nothing_that_the_operator_did_not_make(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, pods: Pods
) -> None:
    """The pods say that they are left from a run "signing" of the test "prod", which would have to be swept."""
    cluster.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "prod-signing-keys"},
            "stringData": {"key": "value"},
        },
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "prod-signing-config"}},
    )
    operator.start()
    played = running(cluster, proxy, pods, "prod")
    uid = cluster.get("sshloadtest", "prod")["metadata"]["uid"]
    job = {"apiVersion": "batch/v1", "kind": "Job", "controller": True, "name": "prod-signing-workers", "uid": uid}
    forged = stranger("forged", "prod", "signing", "worker", [job])
    strangers = stranger("plain", "prod", "signing", "worker", []), stranger("nobodys", "", "signing", "worker", [])
    cluster.create(forged, *strangers)
    says_summary(proxy, played)
    cluster.finished("prod")
    cluster.gone(lambda: cluster.children("prod", "deployments,jobs,services,secrets,networkpolicies"), "children")
    assert cluster.exists("secret", "prod-signing-keys")
    assert cluster.exists("configmap", "prod-signing-config")
    assert "sshload_operator_failed_passes_total 0.0" in operator.metrics()


def test_the_log_of_a_pod_that_the_operator_did_not_make_is_not_read(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, pods: Pods
) -> None:
    operator.start()
    played = running(cluster, proxy, pods, "believed")
    (master,) = played.names("master")
    token = run_token(played)
    found = cluster.get("pod", master)["metadata"]
    claimed = found["labels"]["sshload.dev/run-id"]
    forged = stranger("a-master", "believed", claimed, "master", [])
    cluster.create(forged)
    cluster.change("pod", "a-master", {"status": {"phase": "Running"}}, "status")
    proxy.logs["a-master"] = "\n".join([*summary_lines(replace(summary(), run_id=claimed), token), ""])
    contradictory = retold(summary(), run_id=claimed, load=replace(summary().trial.load, succeeded=0, failed=600))
    proxy.logs[master] += "\n".join([*summary_lines(contradictory, token), ""])
    cluster.change("pod", master, {"status": ended(0)}, "status")
    status = cluster.finished("believed")
    assert (status["verdict"], status["reason"]) == ("Invalid", "CountsDisagree"), status["message"]


def test_a_summary_without_the_token_of_the_run_is_not_believed(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, pods: Pods
) -> None:
    operator.start()
    played = running(cluster, proxy, pods, "untold")
    (master,) = played.names("master")
    claimed = cluster.get("pod", master)["metadata"]["labels"]["sshload.dev/run-id"]
    proxy.logs[master] += "\n".join([*summary_lines(replace(summary(), run_id=claimed), "0f" * 32), ""])
    played.fare("master", ended(0))
    status = cluster.finished("untold")
    assert (status["verdict"], status["reason"]) == ("Error", "ResultsUnreadable")
    assert "does not carry the token of this run" in status["message"]


@in_pairs(("place", list(DEEP)), ("levels", [60, 900, 9000]))
def test_what_is_nested_without_end_in_a_spec_is_refused(
    cluster: LiveCluster, operator: OperatorProcess, place: str, levels: int
) -> None:
    """And pruned, where a client asks for no strictness; neither holds up the tests of others."""
    nested = '{"deeper":' * levels + "{}" + "}" * levels
    manifest = json.dumps(DEEP[place]).replace('"NESTED"', nested)
    operator.start()
    assert 'unknown field "spec.' in cluster.kubectl("create", "-f", "-", stdin=manifest, check=False)
    cluster.kubectl("create", "--validate=ignore", "-f", "-", stdin=manifest)
    assert "deeper" not in cluster.kubectl("get", DEEP[place]["kind"], "deep", "-o", "json")
    cluster.apply(load_test("neighbour"))
    cluster.wait("neighbour", lambda status: status.get("phase") == "PreparingTarget", "start")


@pytest.mark.parametrize("levels", [pytest.param(900, marks=pytest.mark.full), 9000])
def test_deeply_nested_metadata_delays_no_other_test(
    cluster: LiveCluster, operator: OperatorProcess, levels: int
) -> None:
    """Of managedFields the API server keeps what a client writes. The operator meets it in a watch and in a list."""
    operator.start()
    nested = '{"f:deeper":' * levels + "{}" + "}" * levels
    manifest = json.dumps(with_fields_managed(load_test("deep"), "NESTED")).replace('"NESTED"', nested)
    cluster.kubectl("create", "-f", "-", stdin=manifest)
    assert cluster.kubectl("get", "slt", "deep", "--show-managed-fields", "-o", "json").count("f:deeper") == levels
    # This process cannot parse the object, and kubectl takes half a second for it.
    cluster.gone(lambda: not cluster.children("deep"), "lack of a start")
    operator.stop()
    operator.start()
    cluster.apply(load_test("neighbour"))
    cluster.wait("neighbour", lambda status: status.get("phase") == "PreparingTarget", "start")


@pytest.mark.parametrize("filling", ["managedFields", pytest.param("arguments", marks=pytest.mark.full)])
def test_memory_stays_bounded_at_a_restart_among_the_largest_objects(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, pods: Pods, filling: str
) -> None:
    """Of pods, which whoever may create them in a namespace can fill with what he likes: two pages of a list."""
    pod = stranger("", "large", "1", "worker", [])
    if filling == "managedFields":
        pod = with_fields_managed(pod, {f"f:{number:05x}": {} for number in range(100_000)})
    else:
        pod["spec"]["containers"][0]["args"] = [f"{number % 100:02}" for number in range(270_000)]
    assert len(json.dumps(pod, separators=(",", ":"))) > 1_300_000
    for number in range(2 * LIST_PAGE):
        pod["metadata"]["name"] = f"large-{number:02}"
        cluster.create(pod)
    operator.start()
    running(cluster, proxy, pods, "neighbour")  # of its pods it hears when it has read all others
    assert memory_kb(operator) < MOST_MEMORY_KB


def test_a_new_run_takes_away_the_results_of_the_one_before(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, pods: Pods
) -> None:
    operator.start()
    played = running(cluster, proxy, pods, "again")
    says_summary(proxy, played)
    played.fare("master", ended(0))
    first = cluster.finished("again")["resultsConfigMap"]
    assert cluster.exists("configmap", first)
    cluster.change("slt", "again", {"spec": {"warmUp": "1s"}})
    cluster.gone(lambda: cluster.exists("configmap", first), "results of the first run")


def stranger(name: str, test: str, run_id: str, role: str, owners: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a pod that somebody else makes with the labels of a run."""
    labels = {"sshload.dev/test": test, "sshload.dev/run-id": run_id, "sshload.dev/role": role}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels, "ownerReferences": owners},
        "spec": {"containers": [{"name": "main", "image": "any"}]},
    }


def with_fields_managed(manifest: Manifest, fields: Any) -> dict[str, Any]:
    """Return an object of which a client says that it manages these fields."""
    entry = {
        "manager": "anybody",
        "operation": "Update",
        "apiVersion": manifest["apiVersion"],
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    return {**manifest, "metadata": {**manifest["metadata"], "managedFields": [entry]}}
