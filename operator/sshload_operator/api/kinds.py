"""The kinds of the API group: what they are called in objects and in URL paths."""

from dataclasses import dataclass
from typing import Final

GROUP: Final = "sshload.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
LEASE_API_VERSION: Final = "coordination.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind: its name in objects (`SSHLoadTest`), in paths (`sshloadtests`), in sentences (`test`) and in short."""

    name: str
    plural: str
    word: str
    short: str


TEST: Final = Kind("SSHLoadTest", "sshloadtests", "test", "slt")
SCHEDULE: Final = Kind("SSHLoadTestSchedule", "sshloadtestschedules", "schedule", "slts")
COMPARISON: Final = Kind("SSHLoadTestComparison", "sshloadtestcomparisons", "comparison", "sltc")
KINDS: Final = (TEST, SCHEDULE, COMPARISON)
