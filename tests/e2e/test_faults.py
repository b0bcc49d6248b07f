"""What is killed in mid-run: the run ends as the verdict table says, never in a hang, never in Passed."""

from typing import Any

import pytest
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


@pytest.mark.parametrize("phase", ["PreparingTarget", "Running"])
def test_a_killed_operator_takes_up_the_run_where_it_stands(cluster: LiveCluster, operator: Any, phase: str) -> None:
    name = f"operator-killed-{phase.lower()}"
    cluster.apply(load_test(name, load={"arrivals": {"stages": [{"rate": 5, "duration": "10s"}]}}))
    cluster.wait(name, lambda status: status.get("phase") in {phase, "Running"}, phase)
    operator.kill()
    status = cluster.finished(name)
    assert status["verdict"] == "Passed", status["message"]
    assert status["results"]["iterations"] == 50
    cluster.gone(lambda: cluster.children(name), "children")


def test_a_run_that_ends_while_the_operator_is_away_keeps_its_results(cluster: LiveCluster, operator: Any) -> None:
    cluster.apply(load_test("unattended", load={"arrivals": {"stages": [{"rate": 5, "duration": "15s"}]}}))
    cluster.running("unattended")
    with operator.away():
        cluster.gone(
            lambda: [
                pod
                for pod in cluster.labelled("pods", "sshload.dev/test=unattended,sshload.dev/role=master")
                if pod["status"]["phase"] == "Running"
            ],
            "running master",
        )
    status = cluster.finished("unattended")
    assert status["verdict"] == "Passed", status["message"]
    assert status["results"]["iterations"] == 75
