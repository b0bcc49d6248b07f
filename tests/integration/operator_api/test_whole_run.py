import json
from collections.abc import Callable

import pytest
from api_proxy import ApiProxy
from live_cluster import LiveCluster, condition, load_test
from operator_process import OperatorProcess
from played_pods import READY, STARTING, PlayedPods, ended
from runs import says_running, says_summary

Pods = Callable[[str], PlayedPods]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("whole", id="short"),
        pytest.param("9.whole", marks=pytest.mark.full, id="digit"),
        pytest.param(f"{'whole.' * 42}1", id="longest"),
    ],
)
def test_a_run_goes_from_apply_to_a_verdict(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, pods: Pods, name: str
) -> None:
    operator.start()
    cluster.apply(load_test(name))
    cluster.wait(name, lambda status: status.get("phase") == "PreparingTarget", "start")
    played = pods(name)
    played.create()
    played.all_fare(STARTING)
    played.fare("target", READY)
    cluster.wait(name, lambda status: status["phase"] == "StartingWorkers", "target")
    played.all_fare(READY)
    says_running(proxy, played)
    status = cluster.wait(name, lambda status: status["phase"] == "Running", "load")
    assert status["progress"]["iterations"] == 300
    assert condition(status, "WorkersReady")["status"] == "True"
    says_summary(proxy, played)
    played.fare("master", ended(0))
    status = cluster.finished(name)
    assert (status["verdict"], status["results"]["iterations"]) == ("Passed", 600)
    assert cluster.exists("configmap", status["resultsConfigMap"])
    cluster.gone(lambda: cluster.children(name, "deployments,jobs,services,secrets,networkpolicies"), "children")


def test_nothing_is_left_on_objects_that_would_block_their_deletion(
    cluster: LiveCluster, operator: OperatorProcess, pods: Pods
) -> None:
    operator.start()
    cluster.apply(load_test("clean"))
    cluster.wait("clean", lambda status: status.get("phase") == "PreparingTarget", "start")
    pods("clean").create()
    assert operator.stop() == 0
    kinds = "all,pods,secrets,configmaps,networkpolicies"
    children = json.loads(cluster.kubectl("get", kinds, "-l", "sshload.dev/test=clean", "-o", "json"))["items"]
    objects = [cluster.get("sshloadtest", "clean"), *children]
    assert len(objects) >= 12
    assert [found["metadata"].get("finalizers") for found in objects if found["kind"] != "Job"] == [None] * (
        len(objects) - 2
    )
    kept = [set(found["metadata"].get("annotations", {})) for found in objects if found["kind"] != "Pod"]
    own = {"sshload.dev/proof-sha256", "sshload.dev/test-uid"}
    assert set().union(*kept) <= {"kubectl.kubernetes.io/last-applied-configuration", *own}
    cluster.delete("sshloadtest", "clean")
    assert not cluster.exists("sshloadtest", "clean")
