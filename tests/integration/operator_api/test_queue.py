"""Where only so many tests may run at once, the others wait for their turn, and outlive a restart of the operator."""

from collections.abc import Callable

from api_proxy import ApiProxy
from live_cluster import LiveCluster, load_test
from operator_process import OperatorProcess
from played_pods import READY, PlayedPods, ended
from runs import says_running, says_summary

Pods = Callable[[str], PlayedPods]


def runs(cluster: LiveCluster, pods: Pods, name: str) -> PlayedPods:
    """Wait until a test has begun, and make its pods."""
    cluster.wait(name, lambda status: status.get("phase") == "PreparingTarget", "start")
    played = pods(name)
    played.create()
    played.all_fare(READY)
    return played


def test_a_test_waits_until_another_has_ended(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, pods: Pods
) -> None:
    operator.more_of_installation = "limits: {concurrentTests: 1}\n"
    operator.start()
    cluster.apply(load_test("first"))
    played = runs(cluster, pods, "first")
    cluster.apply(load_test("second"))
    status = cluster.wait("second", lambda status: status.get("reason") == "Queued", "place in the queue")
    assert status["message"].startswith("position 1 in the queue: ")
    operator.kill()
    operator.start()
    says_running(proxy, played)
    cluster.wait("first", lambda status: status["phase"] == "Running", "load")
    assert cluster.status("second")["reason"] == "Queued"
    assert cluster.children("second") == []
    says_summary(proxy, played)
    played.fare("master", ended(0))
    cluster.finished("first")
    runs(cluster, pods, "second")


def test_a_queued_test_can_be_aborted_and_deleted(cluster: LiveCluster, operator: OperatorProcess, pods: Pods) -> None:
    operator.more_of_installation = "limits: {concurrentTestsPerNamespace: 1}\n"
    operator.start()
    cluster.apply(load_test("first"))
    runs(cluster, pods, "first")
    cluster.apply(load_test("aborted"), load_test("deleted"), load_test("last"))
    for name in ("aborted", "deleted", "last"):
        cluster.wait(name, lambda status: status.get("reason") == "Queued", "place in the queue")
    cluster.change("slt", "aborted", {"spec": {"abort": True}})
    assert cluster.finished("aborted")["verdict"] == "Aborted"
    cluster.delete("slt", "deleted")
    cluster.delete("slt", "first")
    runs(cluster, pods, "last")
