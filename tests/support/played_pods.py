"""The pods of a run on an API server without controllers and kubelet: the test makes them and says how they fare."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from live_cluster import LiveCluster

READY: Mapping[str, Any] = {
    "phase": "Running",
    "conditions": [{"type": "Ready", "status": "True"}],
    "containerStatuses": [
        {"name": "main", "ready": True, "restartCount": 0, "image": "", "imageID": "", "state": {"running": {}}}
    ],
}
STARTING: Mapping[str, Any] = {**READY, "conditions": [{"type": "Ready", "status": "False"}]}


@dataclass(frozen=True, slots=True)
class PlayedPods:
    """The pods of one test's current run."""

    cluster: LiveCluster
    test: str

    def create(self) -> None:
        """Create the pods that the Deployment and the Jobs of the test would have."""
        selector = f"sshload.dev/test={self.test}"
        for maker in self.cluster.labelled("deployments,jobs", selector):
            for index in range(maker["spec"].get("completions") or 1):
                self._create(maker, index)

    def fare(self, role: str, status: Mapping[str, Any]) -> None:
        """Write the status of all pods of a role."""
        for name in self.names(role):
            self.cluster.kubectl(
                "patch", "pod", name, "--subresource=status", "--type=merge", "-p", json.dumps({"status": status})
            )

    def all_fare(self, status: Mapping[str, Any]) -> None:
        """Write the status of all pods."""
        for role in ("target", "master", "worker"):
            self.fare(role, status)

    def names(self, role: str) -> list[str]:
        """Return the names of the pods of a role."""
        found = self.cluster.labelled("pods", f"sshload.dev/test={self.test},sshload.dev/role={role}")
        return [pod["metadata"]["name"] for pod in found]

    def collect_garbage(self) -> None:
        """Delete the pods whose Job or Deployment is gone, as the garbage collector would."""
        for pod in self.cluster.labelled("pods", f"sshload.dev/test={self.test}"):
            (owner,) = pod["metadata"]["ownerReferences"]
            if not self.cluster.exists(owner["kind"], owner["name"]):
                self.cluster.kubectl("delete", "pod", pod["metadata"]["name"], "--grace-period=0", "--force")

    def _create(self, maker: Mapping[str, Any], index: int) -> None:
        template = maker["spec"]["template"]
        owner = {"apiVersion": maker["apiVersion"], "kind": maker["kind"], "controller": True,
                 "name": maker["metadata"]["name"], "uid": maker["metadata"]["uid"]}  # fmt: skip
        metadata = {
            "name": f"{maker['metadata']['name']}-{index}",
            "labels": template["metadata"]["labels"],
            "ownerReferences": [owner],
        }
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
        self.cluster.kubectl("create", "-f", "-", stdin=json.dumps(pod))


def ended(exit_code: int, message: str = "") -> dict[str, Any]:
    """Return the status of a pod whose container ended and is not started anew."""
    end = {"exitCode": exit_code, "reason": "Error" if exit_code else "Completed", "message": message}
    container = {**READY["containerStatuses"][0], "ready": False, "state": {"terminated": end}}
    return {
        "phase": "Failed" if exit_code else "Succeeded",
        "conditions": [{"type": "Ready", "status": "False"}],
        "containerStatuses": [container],
    }
