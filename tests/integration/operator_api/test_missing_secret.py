"""A Secret that a test's author forgot is named. What the kubelet would do is played, in its own words."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from live_cluster import LiveCluster, load_test
from operator_process import OperatorProcess
from played_pods import READY, PlayedPods

Pods = Callable[[str], PlayedPods]
CREATING: Mapping[str, Any] = {
    "phase": "Pending",
    "conditions": [{"type": "Ready", "status": "False"}],
    "containerStatuses": [
        {
            "ready": False,
            "restartCount": 0,
            "image": "",
            "imageID": "",
            "state": {"waiting": {"reason": "ContainerCreating"}},
        }
    ],
}


NOT_THERE: Mapping[str, str] = {
    "no-secret": 'secret "credentials" not found',
    "no-key": "references non-existent secret key: id",
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


def test_what_cannot_be_mounted_is_an_error_that_says_what(
    cluster: LiveCluster, operator: OperatorProcess, pods: Pods
) -> None:
    """Both tests wait at the same time: the operator is patient with what cannot be mounted."""
    operator.start()
    for test, message in NOT_THERE.items():
        begin(cluster, pods(test), message)
    for test, message in NOT_THERE.items():
        status = cluster.finished(test)
        assert (status["verdict"], status["reason"]) == ("Error", "PodConfigError")
        assert message in status["message"]


def begin(cluster: LiveCluster, played: PlayedPods, message: str, **spec: Any) -> None:
    """Apply a test, and let all its pods run but the workers', of one of which the kubelet says this."""
    cluster.apply(load_test(played.test, **spec))
    cluster.wait(played.test, lambda status: status.get("phase") == "PreparingTarget", "start")
    played.create()
    played.fare("target", READY)
    played.fare("master", READY)
    played.fare("worker", CREATING)
    cluster.apply(mount_failed(played.names("worker")[0], cluster.namespace, message))


def test_a_mount_that_only_takes_its_time_is_waited_for(
    cluster: LiveCluster, operator: OperatorProcess, pods: Pods
) -> None:
    """Another test, which waits for a Secret that is not there, begins later and ends before it."""
    operator.start()
    slow = "failed to sync configmap cache: timed out waiting for the condition"
    begin(cluster, pods("slow"), slow, startTimeout="20m", deadline="1h")
    begin(cluster, pods("missing"), NOT_THERE["no-secret"])
    assert cluster.finished("missing")["reason"] == "PodConfigError"
    assert cluster.status("slow")["phase"] == "StartingWorkers"
    status = cluster.finished_after("slow", timedelta(minutes=30))
    assert status["reason"] == "WorkersMissing"
    assert "cannot be made" not in status["message"]
