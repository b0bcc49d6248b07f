"""How many worker processes a pod runs: one for each whole CPU, because a process of Python works on one at a time."""

from collections.abc import Mapping
from typing import Any

from sshload_contract.quantities import resource_amount

from sshload_operator.api.spec import Workers


def worker_resources(workers: Workers, default: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the resources of a worker pod: the test's own, else the installation's."""
    return workers.resources or default


def processes_per_pod(workers: Workers, default: Mapping[str, Any]) -> int:
    """Return how many processes a worker pod runs: as the test says, else one for each whole CPU, one at least.

    The CPU limit counts, or the request where there is none.
    """
    if workers.processes_per_pod is not None:
        return workers.processes_per_pod
    resources = worker_resources(workers, default)
    for kind in ("limits", "requests"):
        amount = resources.get(kind, {}).get("cpu")
        if amount is not None:
            return max(1, int(resource_amount(amount)))
    return 1
