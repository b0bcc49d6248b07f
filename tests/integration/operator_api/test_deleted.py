"""Objects that were deleted and remain for a finalizer of somebody else, and what a deletion leaves behind."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from live_cluster import LiveCluster, Manifest, load_test
from operator_process import OperatorProcess
from played_pods import READY, PlayedPods

Pods = Callable[[str], PlayedPods]
KEPT = {"metadata": {"finalizers": ["example.com/keeps"]}}
FREE: Manifest = {"metadata": {"finalizers": None}}
KINDS = "deployments,jobs,services,secrets,configmaps,networkpolicies"


def kept(manifest: Manifest) -> Manifest:
    """Return an object with a finalizer that nobody removes."""
    return {**manifest, "metadata": {**manifest["metadata"], **KEPT["metadata"]}}


def delete(cluster: LiveCluster, kind: str, name: str, cascade: str = "background") -> None:
    """Delete an object, and do not wait until it is gone."""
    cluster.kubectl("delete", kind, name, f"--cascade={cascade}", "--wait=false")


def begun(cluster: LiveCluster, pods: Pods, name: str) -> None:
    """Wait until the run of a test has pods that are ready."""
    cluster.wait(name, lambda status: status.get("phase") == "PreparingTarget", "start")
    pods(name).create()
    pods(name).all_fare(READY)
    cluster.wait(name, lambda status: status.get("phase") == "StartingWorkers", "target")


def test_a_deleted_test_that_a_finalizer_keeps_ends_and_leaves_no_children(
    cluster: LiveCluster, operator: OperatorProcess, pods: Pods
) -> None:
    operator.start()
    cluster.apply(kept(load_test("deleted")))
    begun(cluster, pods, "deleted")
    delete(cluster, "sshloadtest", "deleted")
    status = cluster.finished("deleted")
    assert (status["verdict"], status["reason"]) == ("Aborted", "Deleted")
    assert "deleted while it was under way" in status["message"]
    cluster.gone(lambda: cluster.children("deleted", "deployments,jobs,services,secrets,networkpolicies"), "children")
    other = {"arrivals": {"stages": [{"duration": "7s", "rate": 1}]}}
    cluster.change("sshloadtest", "deleted", {"spec": {"load": other}})
    seen = cluster.get("sshloadtest", "deleted")["metadata"]["generation"]
    status = cluster.wait("deleted", lambda status: status["observedGeneration"] == seen, "sight of the edit")
    assert (status["phase"], status["verdict"]) == ("Finished", "Aborted")
    assert cluster.children("deleted", "deployments,jobs") == []
    cluster.change("sshloadtest", "deleted", FREE)
    cluster.gone(lambda: cluster.exists("sshloadtest", "deleted"), "the test")


def test_a_test_that_was_deleted_while_no_operator_ran_is_ended_by_the_next_one(
    cluster: LiveCluster, operator: OperatorProcess, pods: Pods
) -> None:
    operator.start()
    cluster.apply(kept(load_test("deleted")))
    begun(cluster, pods, "deleted")
    operator.stop()
    delete(cluster, "sshloadtest", "deleted")
    operator.start()
    assert cluster.finished("deleted")["reason"] == "Deleted"
    cluster.gone(lambda: cluster.children("deleted", "deployments,jobs"), "children")


def test_a_deleted_test_that_had_ended_keeps_its_verdict(cluster: LiveCluster, operator: OperatorProcess) -> None:
    operator.start()
    cluster.apply(kept(load_test("ended", abort=True)))
    cluster.finished("ended")
    delete(cluster, "sshloadtest", "ended")
    seen = cluster.get("sshloadtest", "ended")["metadata"]["generation"]
    status = cluster.wait("ended", lambda status: status["observedGeneration"] == seen, "sight of the deletion")
    assert (status["verdict"], status["reason"]) == ("Aborted", "AbortRequested")


def test_a_deleted_test_that_waits_never_begins(cluster: LiveCluster, operator: OperatorProcess) -> None:
    operator.start()
    cluster.apply(kept(load_test("waits", suspend=True)))
    cluster.wait("waits", lambda status: status.get("reason") == "Suspended", "hold")
    delete(cluster, "sshloadtest", "waits")
    assert cluster.finished("waits")["reason"] == "Deleted"
    cluster.change("sshloadtest", "waits", {"spec": {"suspend": False}})
    seen = cluster.get("sshloadtest", "waits")["metadata"]["generation"]
    cluster.wait("waits", lambda status: status["observedGeneration"] == seen, "sight of the edit")
    assert cluster.children("waits") == []


def test_a_deleted_comparison_that_a_finalizer_keeps_ends_and_deletes_its_tests(
    cluster: LiveCluster, operator: OperatorProcess
) -> None:
    operator.start()
    patch = {"target": {"managed": {"sshd": {"maxStartups": "10:30:100"}}}}
    variants = [{"name": "tuned"}, {"name": "default", "patch": patch}]
    spec = {"base": load_test("base")["spec"], "variants": variants, "repeats": 1}
    cluster.apply(kept(of_kind("SSHLoadTestComparison", "compared", spec)))
    cluster.gone(lambda: not cluster.labelled("sshloadtests"), "lack of a test")
    delete(cluster, "sshloadtestcomparison", "compared")
    status = cluster.wait_for("sltc", "compared", lambda status: status.get("phase") == "Finished", "end")
    assert (status["verdict"], status["reason"]) == ("Aborted", "Deleted")
    cluster.gone(lambda: cluster.labelled("sshloadtests"), "tests")
    assert cluster.exists("sltc", "compared")


def test_a_deleted_schedule_that_a_finalizer_keeps_starts_nothing_and_deletes_its_tests(
    cluster: LiveCluster, operator: OperatorProcess
) -> None:
    template = {"spec": load_test("any")["spec"]}
    cluster.apply(kept(of_kind("SSHLoadTestSchedule", "nightly", {"schedule": "0 0 1 1 *", "testTemplate": template})))
    last = f"{datetime.now(UTC) - timedelta(days=730):%Y-%m-%dT%H:%M:%SZ}"
    cluster.change("slts", "nightly", {"status": {"lastScheduleTime": last}}, "status")
    operator.start()
    cluster.gone(lambda: not cluster.labelled("sshloadtests"), "lack of a test")
    delete(cluster, "sshloadtestschedule", "nightly")
    cluster.gone(lambda: cluster.labelled("sshloadtests"), "tests")

    def is_ready(status: dict[str, Any]) -> str:
        (ready,) = (found for found in status.get("conditions", ()) if found["type"] == "Ready")
        return str(ready["reason"])

    status = cluster.wait_for("slts", "nightly", lambda status: is_ready(status) == "Deleted", "word of the deletion")
    assert "nextScheduleTime" not in status


def test_what_a_deletion_orphans_is_left_alone_until_another_test_has_that_name(
    cluster: LiveCluster, operator: OperatorProcess, pods: Pods
) -> None:
    operator.start()
    cluster.apply(load_test("again"))
    begun(cluster, pods, "again")
    left = set(cluster.children("again", KINDS))
    delete(cluster, "sshloadtest", "again", cascade="orphan")
    for child in cluster.labelled(KINDS, "sshload.dev/test=again"):  # as the garbage collector does
        cluster.change(child["kind"].lower(), child["metadata"]["name"], {"metadata": {"ownerReferences": None}})
    operator.stop()
    operator.start()
    assert set(cluster.children("again", KINDS)) == left
    cluster.change("sshloadtest", "again", FREE)
    cluster.gone(lambda: cluster.exists("sshloadtest", "again"), "the test")
    (job,) = (one for one in cluster.labelled("jobs", "sshload.dev/test=again,sshload.dev/role=master"))
    cluster.create(of_somebody_else(job))
    cluster.apply(load_test("again"))
    cluster.wait("again", lambda status: status.get("phase") == "PreparingTarget", "start")
    cluster.gone(lambda: left.intersection(cluster.children("again", KINDS)), "what was orphaned")
    assert "Job/again-0123456789-master" in cluster.children("again", "jobs")
    assert cluster.status("again")["phase"] == "PreparingTarget"


def of_somebody_else(job: dict[str, Any]) -> Manifest:
    """Return a Job that looks like an orphan of ours, and has the id of a run that no test of that uid can have had."""
    labels = {**job["metadata"]["labels"], "sshload.dev/run-id": "0123456789"}
    container = {"name": "any", "image": "any"}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    annotations = job["metadata"]["annotations"]
    metadata = {"name": "again-0123456789-master", "labels": labels, "annotations": annotations}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}}


def of_kind(kind: str, name: str, spec: dict[str, Any]) -> Manifest:
    return {"apiVersion": "sshload.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}
