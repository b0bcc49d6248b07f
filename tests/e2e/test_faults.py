"""A pod that is killed during a run: the run ends as the verdict table says, never in a hang, never in Passed."""

from typing import Any

from live_cluster import LiveCluster, load_test

LONG_LOAD = {"arrivals": {"stages": [{"rate": 5, "duration": "300s"}]}}


def delete_now(cluster: LiveCluster, test: str, role: str) -> None:
    selector = f"sshload.dev/test={test},sshload.dev/role={role}"
    pod = cluster.labelled("pods", selector)[0]["metadata"]["name"]
    cluster.kubectl("delete", "pod", pod, "--grace-period=0", "--force", "--wait=false")


def killed(cluster: LiveCluster, role: str) -> dict[str, Any]:
    name = f"{role}-killed"
    cluster.apply(load_test(name, load=LONG_LOAD))
    cluster.running(name)
    delete_now(cluster, name, role)
    status = cluster.finished(name)
    cluster.gone(lambda: cluster.children(name), "children")
    return status


def test_a_killed_worker_makes_the_run_invalid(cluster: LiveCluster) -> None:
    status = killed(cluster, "worker")
    assert (status["verdict"], status["reason"]) == ("Invalid", "WorkerLost")


def test_a_killed_master_makes_the_run_an_error(cluster: LiveCluster) -> None:
    status = killed(cluster, "master")
    assert (status["verdict"], status["reason"]) == ("Error", "MasterLost")


def test_a_killed_target_makes_the_run_an_error(cluster: LiveCluster) -> None:
    status = killed(cluster, "target")
    assert (status["verdict"], status["reason"]) == ("Error", "TargetLost")
