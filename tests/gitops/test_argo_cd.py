"""examples/gitops by Argo CD: production gets a version of the server once staging has shown its capacity."""

from dataclasses import dataclass

import pytest
import yaml
from argo_cd import Argo
from git_repository import GitRepository
from operator_process import OperatorProcess
from stages import ENOUGH, EXAMPLE, SHORT, Stages, runs, write_version

APPLICATION = "bastion"


@dataclass(frozen=True, slots=True)
class Promotion:
    """The example in namespaces of its own, by Argo CD."""

    argo: Argo
    repository: GitRepository
    stages: Stages

    def release(self, version: str) -> str:
        """Commit a version, and return its revision once staging runs it."""
        write_version(self.repository.folder / EXAMPLE, version)
        revision = self.repository.commit()
        application = yaml.safe_load((self.repository.folder / EXAMPLE / "argocd-application.yaml").read_text())
        self.argo.apply(application, self.repository.folder)
        self.argo.refresh(APPLICATION)
        self.stages.rolls_out(self.stages.staging, version)
        return revision


@pytest.fixture
def promotion(argo: Argo, repository: GitRepository, stages: Stages, operator: OperatorProcess) -> Promotion:
    """Start the operator."""
    operator.start()
    return Promotion(argo, repository, stages)


def test_production_waits_while_the_capacity_is_short_and_gets_the_commit_whose_capacity_is_there(
    promotion: Promotion,
) -> None:
    stages, argo = promotion.stages, promotion.argo
    short = promotion.release("1.9.0")
    stages.starts(1)
    argo.says(APPLICATION, "Running", short)
    assert runs(stages.production) == ""
    assert stages.ends(SHORT) == "Failed"
    argo.says(APPLICATION, "Running", short, again=True)
    argo.shows(APPLICATION, "Degraded")
    assert runs(stages.production) == ""

    enough = promotion.release("1.9.1")
    stages.starts(2)
    argo.says(APPLICATION, "Running", enough, again=True)
    assert runs(stages.production) == ""
    assert stages.ends(ENOUGH) == "Passed"
    stages.rolls_out(stages.production, "1.9.1")
    argo.has_deployed(APPLICATION, enough)
    argo.shows(APPLICATION, "Healthy")
