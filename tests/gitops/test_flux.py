"""examples/gitops by Flux: production gets a version of the server once staging has shown its capacity."""

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from flux import KUSTOMIZATION, GitSource, git_source, ready
from git_repository import GitRepository
from live_cluster import LiveCluster, condition
from operator_process import OperatorProcess
from stages import ENOUGH, EXAMPLE, SHORT, TEST, Stages, runs, write_version

pytestmark = pytest.mark.usefixtures("flux")

OPEN = ("True", "ReconciliationSucceeded")
SHUT = ("False", "HealthCheckFailed")


@dataclass(frozen=True, slots=True)
class Promotion:
    """The example in namespaces of its own, by Flux."""

    source: GitSource
    stages: Stages

    def release(self, version: str) -> str:
        """Commit a version, and return its revision once staging runs it."""
        write_version(self.source.repository.folder / EXAMPLE, version)
        revision = self.source.commit()
        self.stages.rolls_out(self.stages.staging, version)
        self.says("bastion-staging", *OPEN, revision)
        return revision

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


@pytest.fixture
def source(namespaces: dict[str, LiveCluster], repository: GitRepository, tmp_path: Path) -> Iterator[GitSource]:
    """Apply the example's objects of Flux; nothing is committed yet."""
    system, served = namespaces["flux-system"], tmp_path / "served"
    served.mkdir()
    system.kubectl("apply", "-f", str(repository.folder / EXAMPLE / "flux-kustomization.yaml"))
    with git_source(system, "bastion", repository, served) as source:
        yield source


@pytest.fixture
def promotion(source: GitSource, stages: Stages, operator: OperatorProcess) -> Promotion:
    """Start the operator."""
    operator.start()
    return Promotion(source, stages)


def test_production_waits_while_the_capacity_is_short_and_gets_the_commit_whose_capacity_is_there(
    promotion: Promotion,
) -> None:
    short = promotion.release("1.9.0")
    promotion.stages.starts(1)
    assert promotion.is_held_back()
    assert runs(promotion.stages.production) == ""
    assert promotion.stages.ends(SHORT) == "Failed"
    promotion.says("bastion-capacity", *SHUT, short)
    assert promotion.is_held_back()
    assert runs(promotion.stages.production) == ""

    enough = promotion.release("1.9.1")
    promotion.stages.starts(2)
    assert promotion.is_held_back()
    assert runs(promotion.stages.production) == ""
    assert promotion.stages.ends(ENOUGH) == "Passed"
    promotion.says("bastion-capacity", *OPEN, enough)
    promotion.stages.rolls_out(promotion.stages.production, "1.9.1")
    promotion.says("bastion-production", *OPEN, enough)


def test_production_keeps_its_version_while_a_new_one_is_measured_and_found_short(promotion: Promotion) -> None:
    promotion.release("1.9.0")
    promotion.stages.starts(1)
    assert promotion.stages.ends(ENOUGH) == "Passed"
    promotion.stages.rolls_out(promotion.stages.production, "1.9.0")

    short = promotion.release("2.0.0")
    promotion.stages.starts(2)
    assert promotion.is_held_back()
    assert promotion.stages.ends(SHORT) == "Failed"
    promotion.says("bastion-capacity", *SHUT, short)
    assert promotion.is_held_back()
    assert runs(promotion.stages.production) == "1.9.0"


def test_a_commit_of_anything_else_than_the_version_goes_through_without_a_new_run(promotion: Promotion) -> None:
    promotion.release("1.9.0")
    promotion.stages.starts(1)
    assert promotion.stages.ends(ENOUGH) == "Passed"
    promotion.stages.rolls_out(promotion.stages.production, "1.9.0")

    (promotion.source.repository.folder / "README.md").write_text("Not of the version.\n")
    other = promotion.source.commit()
    for stage in ("bastion-staging", "bastion-capacity", "bastion-production"):
        promotion.says(stage, *OPEN, other)
    assert promotion.stages.staging.status(TEST)["run"] == 1


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
    promotion.stages.starts(1)
    assert promotion.stages.ends(SHORT) == "Failed"
    promotion.stages.rolls_out(promotion.stages.production, "1.9.0")
