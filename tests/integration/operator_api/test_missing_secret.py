"""A Secret that a test's author forgot is named. What the kubelet would do is played, in its own words."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from live_cluster import LiveCluster, load_test
from operator_process import OperatorProcess
from played_pods import READY, PlayedPods

Pods = Callable[[str], PlayedPods]
CREATING: Mapping[str, Any] = {
    "phase": "Pending",
    "conditions": [{"type": "Ready", "status": "False"}],
    "containerStatuses": [
        {
            "name": "main",
            "ready": False,
            "restartCount": 0,
            "image": "",
            "imageID": "",
            "state": {"waiting": {"reason": "ContainerCreating"}},
        }
    ],
}


def mount_failed(pod: str, namespace: str, message: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{pod}.1", "namespace": namespace},
        "involvedObject": {"kind": "Pod", "namespace": namespace, "name": pod},
        "type": "Warning",
        "reason": "FailedMount",
        "message": f'MountVolume.SetUp failed for volume "config" : {message}',
    }


@pytest.mark.parametrize(
    "message",
    [
        pytest.param('secret "credentials" not found', id="no Secret"),
        pytest.param("references non-existent secret key: id", id="no such key in it"),
    ],
)
def test_what_cannot_be_mounted_is_an_error_that_says_what(
    cluster: LiveCluster, operator: OperatorProcess, pods: Pods, message: str
) -> None:
    operator.start()
    cluster.apply(load_test("unmounted"))
    cluster.wait("unmounted", lambda status: status.get("phase") == "PreparingTarget", "start")
    played = pods("unmounted")
    played.create()
    played.all_fare(READY)
    played.fare("worker", CREATING)
    cluster.apply(mount_failed(played.names("worker")[0], cluster.namespace, message))
    status = cluster.finished("unmounted")
    assert (status["verdict"], status["reason"]) == ("Error", "PodConfigError")
    assert message in status["message"]


def test_a_mount_that_only_takes_its_time_is_waited_for(
    cluster: LiveCluster, operator: OperatorProcess, pods: Pods
) -> None:
    operator.start()
    cluster.apply(load_test("slow", startTimeout="20s"))
    cluster.wait("slow", lambda status: status.get("phase") == "PreparingTarget", "start")
    played = pods("slow")
    played.create()
    played.all_fare(READY)
    played.fare("worker", CREATING)
    slow = "failed to sync configmap cache: timed out waiting for the condition"
    cluster.apply(mount_failed(played.names("worker")[0], cluster.namespace, slow))
    status = cluster.finished("slow")
    assert status["reason"] == "WorkersMissing"
    assert "cannot be made" not in status["message"]
