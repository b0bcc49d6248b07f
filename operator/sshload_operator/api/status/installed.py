"""What the installation gave the pods of a run, which a plan says too."""

from dataclasses import dataclass
from typing import Annotated

from sshload_contract.declared import Text

RESOURCES_CHARACTERS = 1_000
_Resources = Text(RESOURCES_CHARACTERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodResources:
    """The resources of a role's pods."""

    given: Annotated[
        str | None,
        _Resources,
        "What the installation gave: requests cpu 1, memory 1Gi; limits memory 1Gi. Absent where the spec states them.",
    ] = None
    set_by_cluster: Annotated[
        str | None, _Resources, "What a LimitRange set besides. Known from Kubernetes 1.33 on."
    ] = None

    @property
    def words(self) -> str:
        """Both in words."""
        given = self.given or "as the spec says"
        return f"{given}; the cluster sets {self.set_by_cluster}" if self.set_by_cluster else given


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledResources:
    """Resources of the pods of the run, by role, of the roles whose resources are not all stated by the spec.

    A test on pods with other ones is no baseline.
    """

    worker: PodResources | None = None
    master: PodResources | None = None
    target: PodResources | None = None
    proxy: PodResources | None = None
    gateway: PodResources | None = None
