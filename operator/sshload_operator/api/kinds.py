"""The kinds of the API group: what they are called in objects and in URL paths."""

from dataclasses import dataclass
from typing import Final

GROUP: Final = "sshload.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
LEASE_API_VERSION: Final = "coordination.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind, by its name in objects (`SSHLoadTest`) and in paths (`sshloadtests`)."""

    name: str
    plural: str


TEST: Final = Kind("SSHLoadTest", "sshloadtests")
SCHEDULE: Final = Kind("SSHLoadTestSchedule", "sshloadtestschedules")
COMPARISON: Final = Kind("SSHLoadTestComparison", "sshloadtestcomparisons")
