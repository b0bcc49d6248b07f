"""The two stages of examples/gitops, whose pods a test plays: what a GitOps controller finds there."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from api_proxy import ApiProxy
from live_cluster import LiveCluster
from played_pods import READY, PlayedPods, ended
from runs import says_running, says_summary
from searches import failed, passed, searched
from sshload_contract.wire.run_summary import RunSummary

EXAMPLE = "examples/gitops"
TEST = "bastion-capacity"


def found(capacity: float) -> RunSummary:
    """Return a search that found this capacity; the example promises more than 50."""
    above = capacity + 2
    trials = (passed(20), failed(200), passed(capacity), failed(above), passed(capacity), failed(above))
    return searched(*trials, lower=capacity, upper=above)


ENOUGH = found(118)
SHORT = found(40)


@dataclass(frozen=True, slots=True)
class Stages:
    """The example's namespaces, and what happens in them."""

    staging: LiveCluster
    production: LiveCluster
    proxy: ApiProxy
    pods: PlayedPods

    def rolls_out(self, where: LiveCluster, version: str) -> None:
        """Wait until the server's Deployment has a version, and play that its pods have it too."""
        where.gone(lambda: runs(where) != version, f"lack of {version} in {where.namespace}")
        deployment = where.get("deployment", "bastion")
        count = deployment["spec"]["replicas"]
        counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), count)
        conditions = [
            {"type": "Available", "status": "True"},
            {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
        ]
        status = {"observedGeneration": deployment["metadata"]["generation"], **counts, "conditions": conditions}
        patch = json.dumps({"status": status})
        where.kubectl("patch", "deployment", "bastion", "--subresource=status", "--type=merge", "-p", patch)

    def starts(self, run: int) -> None:
        """Play the pods of a run until it is under load."""
        self.staging.wait(
            TEST, lambda status: (status.get("run"), status.get("phase")) == (run, "StartingWorkers"), f"run {run}"
        )
        self.pods.create()
        self.pods.all_fare(READY)
        says_running(self.proxy, self.pods)
        self.staging.wait(TEST, lambda status: status["phase"] == "Running", "load")

    def ends(self, found: RunSummary) -> str:
        """Play the end of a run that has found this, and return its verdict."""
        says_summary(self.proxy, self.pods, found)
        self.pods.fare("master", ended(0))
        status = self.staging.finished(TEST)
        self.pods.collect_all()
        return str(status["verdict"])


def write_version(example: Path, version: str) -> None:
    """Write the version of the server, which is one line of the example."""
    file = example / "release/kustomization.yaml"
    file.write_text(re.sub("newTag: .*", f"newTag: {version}", file.read_text()))


def runs(where: LiveCluster) -> str:
    """Return the version in a Deployment's spec, empty where there is no Deployment."""
    if not where.exists("deployment", "bastion"):
        return ""
    pod: dict[str, Any] = where.get("deployment", "bastion")["spec"]["template"]["spec"]
    return str(pod["containers"][0]["image"]).rpartition(":")[2]
