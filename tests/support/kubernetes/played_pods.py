"""The pods of a run on an API server without controllers and kubelet: the test makes them and says how they fare."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from live_cluster import LiveCluster
from sshload_operator.api.names import label_value

# What pods report: containers have no name here, for each role has its own.
READY: Mapping[str, Any] = {
    "phase": "Running",
    "conditions": [{"type": "Ready", "status": "True"}],
    "containerStatuses": [{"ready": True, "restartCount": 0, "image": "", "imageID": "", "state": {"running": {}}}],
}
STARTING: Mapping[str, Any] = {**READY, "conditions": [{"type": "Ready", "status": "False"}]}


@dataclass(frozen=True, slots=True)
class PlayedPods:
    """The pods of one test's current run."""

    cluster: LiveCluster
    test: str

    def create(self) -> None:
        """Create the pods that the Deployment and the Jobs of the test would have."""
        for maker in self._labelled("deployments,jobs"):
            self.cluster.create(*(pod_of(maker, index) for index in range(maker["spec"].get("completions") or 1)))

    def fare(self, role: str, status: Mapping[str, Any]) -> None:
        """Write the status of all pods of a role, whose one container has the role's name."""
        containers = [{**container, "name": role} for container in status["containerStatuses"]]
        for name in self.names(role):
            self.cluster.change("pod", name, {"status": {**status, "containerStatuses": containers}}, "status")

    def all_fare(self, status: Mapping[str, Any]) -> None:
        """Write the status of all pods."""
        for role in sorted({pod["metadata"]["labels"]["sshload.dev/role"] for pod in self._labelled("pods")}):
            self.fare(role, status)

    def names(self, role: str = "") -> list[str]:
        """Return the names of the pods of a role, or of all pods."""
        found = self._labelled("pods", *([f"sshload.dev/role={role}"] if role else []))
        return [pod["metadata"]["name"] for pod in found]

    def collect_garbage(self) -> None:
        """Delete the pods whose Job or Deployment is gone, as the garbage collector would."""
        makers = {maker["metadata"]["uid"] for maker in self._labelled("deployments,jobs")}
        for pod in self._labelled("pods"):
            (owner,) = pod["metadata"]["ownerReferences"]
            if owner["uid"] not in makers:
                self.cluster.delete("pod", pod["metadata"]["name"], grace_s=0)

    def collect_all(self) -> None:
        """Collect garbage until no pod is left: the operator deletes the pods' makers after it wrote the verdict."""

        def left() -> list[str]:
            self.collect_garbage()
            return self.names()

        self.cluster.gone(left, f"pods of {self.test}")

    def _labelled(self, kinds: str, *labels: str) -> list[dict[str, Any]]:
        return self.cluster.labelled(kinds, ",".join((f"sshload.dev/test={label_value(self.test)}", *labels)))


def pod_of(maker: Mapping[str, Any], index: int) -> Mapping[str, Any]:
    """Return a pod that a Deployment or Job makes."""
    template = maker["spec"]["template"]
    name, is_job = maker["metadata"]["name"], maker["kind"] == "Job"
    # The Deployment's ReplicaSet, which no controller makes here, has the Deployment's uid.
    owner = {"apiVersion": maker["apiVersion"], "kind": "Job" if is_job else "ReplicaSet", "controller": True,
             "name": name if is_job else f"{name}-5c9f", "uid": maker["metadata"]["uid"]}  # fmt: skip
    metadata = {
        "name": f"{maker['metadata']['name']}-{index}",
        "labels": template["metadata"]["labels"],
        "annotations": template["metadata"]["annotations"],
        "ownerReferences": [owner],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def ended(exit_code: int, message: str = "") -> dict[str, Any]:
    """Return the status of a pod whose container ended and is not restarted."""
    end = {"exitCode": exit_code, "reason": "Error" if exit_code else "Completed", "message": message}
    container = {**READY["containerStatuses"][0], "ready": False, "state": {"terminated": end}}
    return {
        "phase": "Failed" if exit_code else "Succeeded",
        "conditions": [{"type": "Ready", "status": "False"}],
        "containerStatuses": [container],
    }
