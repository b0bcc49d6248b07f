"""What the installation gave the pods of a run, which a plan says too."""

from dataclasses import dataclass
from typing import Annotated, Final

from sshload_contract.declared import Text

AS_STATED: Final = "as the spec says"
"""What stands for the resources of a role that the spec states, where the cluster set others besides."""

_Resources = Annotated[str | None, Text(1_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledResources:
    """Resources that the installation gave the pods of the run, by role, of the roles whose resources the spec omits.

    What a LimitRange set besides follows, from Kubernetes 1.33 on. A test on pods with other ones is no baseline.
    """

    worker: Annotated[_Resources, "Those of the worker pods: requests cpu 1, memory 1Gi; limits memory 1Gi."] = None
    master: Annotated[_Resources, "Those of the master's pod."] = None
    target: Annotated[_Resources, "Those of the target's pod."] = None
    proxy: Annotated[_Resources, "Those of the proxy's pod."] = None
    gateway: Annotated[_Resources, "Those of the gateway's pod."] = None
