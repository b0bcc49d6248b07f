"""A pod that is killed during a run: the run ends as the verdict table says, never in a hang, never in Passed.

test_security.py kills the target of the run that it looks at.
"""

from typing import Any

from live_cluster import LiveCluster, load_test

LONG_LOAD = {"arrivals": {"stages": [{"rate": 5, "duration": "300s"}]}}


def killed(cluster: LiveCluster, role: str) -> dict[str, Any]:
    name = f"{role}-killed"
    cluster.apply(load_test(name, load=LONG_LOAD))
    cluster.running(name)
    cluster.kill(name, role)
    status = cluster.finished(name)
    cluster.gone(lambda: cluster.children(name), "children")
    return status


def test_a_killed_worker_makes_the_run_invalid(cluster: LiveCluster) -> None:
    status = killed(cluster, "worker")
    assert (status["verdict"], status["reason"]) == ("Invalid", "WorkerLost")


def test_a_killed_master_makes_the_run_an_error(cluster: LiveCluster) -> None:
    status = killed(cluster, "master")
    assert (status["verdict"], status["reason"]) == ("Error", "MasterLost")
