"""examples/gitops by Flux: production gets a version of the server once staging has shown its capacity."""

import json
import re
import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from api_proxy import ApiProxy
from api_server import ApiServer
from flux import KUSTOMIZATION, GitSource, git_source, ready
from live_cluster import LiveCluster, condition
from master_words import says_running, says_summary
from operator_process import OperatorProcess
from played_pods import READY, PlayedPods, ended
from searches import failed, passed, searched
from sshload_contract.run_summary import RunSummary

ROOT = Path(__file__).parents[2]
EXAMPLE = "examples/gitops"
TEST = "bastion-capacity"
OPEN = ("True", "ReconciliationSucceeded")
SHUT = ("False", "HealthCheckFailed")


def found(capacity: float) -> RunSummary:
    """Return a search that found this capacity; the example promises more than 50."""
    above = capacity + 2
    trials = (passed(20), failed(200), passed(capacity), failed(above), passed(capacity), failed(above))
    return searched(*trials, lower=capacity, upper=above)


ENOUGH = found(118)
SHORT = found(40)


@dataclass(frozen=True, slots=True)
class Promotion:
    """The example in namespaces of its own."""

    source: GitSource
    staging: LiveCluster
    production: LiveCluster
    proxy: ApiProxy
    pods: PlayedPods

    def release(self, version: str) -> str:
        """Commit a version, as the one line of the example, and return its revision once staging runs it."""
        file = self.source.repository / EXAMPLE / "release/kustomization.yaml"
        file.write_text(re.sub("newTag: .*", f"newTag: {version}", file.read_text()))
        revision = self.source.commit()
        self.rolls_out(self.staging, version)
        self.says("bastion-staging", *OPEN, revision)
        return revision

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

    def says(self, stage: str, status: str, reason: str, revision: str) -> None:
        """Wait until Flux says this of a Kustomization at a revision."""
        expected = (status, reason, revision)
        cluster = self.source.cluster
        cluster.wait_for(KUSTOMIZATION, stage, lambda found: ready(found) == expected, str(expected))

    def is_held_back(self) -> bool:
        """Let Flux look at production again, as `flux reconcile` does, and tell whether it waits for the capacity."""
        cluster, stage, asked = self.source.cluster, "bastion-production", str(uuid.uuid4())
        cluster.kubectl("annotate", "--overwrite", KUSTOMIZATION, stage, f"reconcile.fluxcd.io/requestedAt={asked}")
        status = cluster.wait_for(
            KUSTOMIZATION, stage, lambda status: status.get("lastHandledReconcileAt") == asked, "second look"
        )
        return condition(status, "Ready")["reason"] == "DependencyNotReady"


def runs(where: LiveCluster) -> str:
    """Return the version in a Deployment's spec, empty where there is no Deployment."""
    if not where.exists("deployment", "bastion"):
        return ""
    pod: dict[str, Any] = where.get("deployment", "bastion")["spec"]["template"]["spec"]
    return str(pod["containers"][0]["image"]).rpartition(":")[2]


@pytest.fixture
def namespaces(cluster: LiveCluster, api_server: ApiServer) -> dict[str, LiveCluster]:
    """Return a namespace of the test's own for each that the example names."""
    production, system = (replace(cluster, namespace=api_server.namespace().namespace) for _ in range(2))
    return {"ssh-staging": cluster, "ssh-production": production, "flux-system": system}


@pytest.fixture
def source(namespaces: dict[str, LiveCluster], tmp_path: Path) -> Iterator[GitSource]:
    """Apply the example's objects of Flux; nothing is committed yet."""
    repository, served = tmp_path / "repository", tmp_path / "served"
    served.mkdir()
    shutil.copytree(ROOT / EXAMPLE, repository / EXAMPLE)
    for file in repository.rglob("*.yaml"):
        own = re.sub("|".join(namespaces), lambda found: namespaces[found[0]].namespace, file.read_text())
        file.write_text(own)
    system = namespaces["flux-system"]
    system.kubectl("apply", "-f", str(repository / EXAMPLE / "flux-kustomization.yaml"))
    with git_source(system, "bastion", repository, served) as source:
        yield source


@pytest.fixture
def promotion(
    source: GitSource,
    namespaces: dict[str, LiveCluster],
    operator: OperatorProcess,
    proxy: ApiProxy,
    pods: Callable[[str], PlayedPods],
) -> Promotion:
    """Start the operator as the example asks for it: its host is allowed, and the test's Secrets are there."""
    staging, production = namespaces["ssh-staging"], namespaces["ssh-production"]
    for secret, key in (("bastion-credentials", "id"), ("bastion-known-hosts", "known_hosts")):
        staging.kubectl("create", "secret", "generic", secret, f"--from-literal={key}=any")
    host = f"bastion.{staging.namespace}.svc.cluster.local"
    operator.more_of_installation = f"externalTargets:\n- {{host: {host}, ports: [22]}}\n"
    operator.start()
    return Promotion(source, staging, production, proxy, pods(TEST))


def test_production_waits_while_the_capacity_is_short_and_gets_the_commit_whose_capacity_is_there(
    promotion: Promotion,
) -> None:
    short = promotion.release("1.9.0")
    promotion.starts(1)
    assert promotion.is_held_back()
    assert runs(promotion.production) == ""
    assert promotion.ends(SHORT) == "Failed"
    promotion.says("bastion-capacity", *SHUT, short)
    assert promotion.is_held_back()
    assert runs(promotion.production) == ""

    enough = promotion.release("1.9.1")
    promotion.starts(2)
    assert promotion.is_held_back()
    assert runs(promotion.production) == ""
    assert promotion.ends(ENOUGH) == "Passed"
    promotion.says("bastion-capacity", *OPEN, enough)
    promotion.rolls_out(promotion.production, "1.9.1")
    promotion.says("bastion-production", *OPEN, enough)


def test_production_keeps_its_version_while_a_new_one_is_measured_and_found_short(promotion: Promotion) -> None:
    promotion.release("1.9.0")
    promotion.starts(1)
    assert promotion.ends(ENOUGH) == "Passed"
    promotion.rolls_out(promotion.production, "1.9.0")

    short = promotion.release("2.0.0")
    promotion.starts(2)
    assert promotion.is_held_back()
    assert promotion.ends(SHORT) == "Failed"
    promotion.says("bastion-capacity", *SHUT, short)
    assert promotion.is_held_back()
    assert runs(promotion.production) == "1.9.0"


def test_a_commit_of_anything_else_than_the_version_goes_through_without_a_new_run(promotion: Promotion) -> None:
    promotion.release("1.9.0")
    promotion.starts(1)
    assert promotion.ends(ENOUGH) == "Passed"
    promotion.rolls_out(promotion.production, "1.9.0")

    (promotion.source.repository / "README.md").write_text("Not of the version.\n")
    other = promotion.source.commit()
    for stage in ("bastion-staging", "bastion-capacity", "bastion-production"):
        promotion.says(stage, *OPEN, other)
    assert promotion.staging.status(TEST)["run"] == 1


@pytest.mark.parametrize(
    ("stage", "gate"),
    [
        pytest.param("bastion-production", "dependsOn", id="production does not depend on the capacity"),
        pytest.param("bastion-capacity", "healthChecks", id="the capacity is ready whatever its verdict is"),
    ],
)
def test_without_the_gate_production_gets_a_version_whose_capacity_is_short(
    promotion: Promotion, stage: str, gate: str
) -> None:
    """So it is the gate, and nothing else, that holds production back in the tests above."""
    without = json.dumps([{"op": "remove", "path": f"/spec/{gate}"}])
    promotion.source.cluster.kubectl("patch", KUSTOMIZATION, stage, "--type=json", "-p", without)
    promotion.release("1.9.0")
    promotion.starts(1)
    assert promotion.ends(SHORT) == "Failed"
    promotion.rolls_out(promotion.production, "1.9.0")
