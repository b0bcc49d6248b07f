"""How many worker processes a pod runs: one for each whole CPU, because a process of Python works on one at a time."""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from sshload_operator.api.spec import Workers

_AMOUNT = re.compile(r"(?P<number>[0-9]+(\.[0-9]+)?)(?P<unit>[A-Za-z]*)")
_UNITS = {
    "m": Fraction(1, 1000),
    "": Fraction(1),
    **{unit: Fraction(1000**power) for power, unit in enumerate("kMGT", start=1)},
    **{f"{unit}i": Fraction(1024**power) for power, unit in enumerate("KMGT", start=1)},
}


def worker_resources(workers: Workers, default: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the resources of a worker pod: the test's own, else the installation's."""
    return workers.placement.resources or default


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
            return max(1, int(cpus(amount)))
    return 1


def cpus(amount: float | str) -> Fraction:
    """Return an amount of CPU as Kubernetes writes it (2, "1500m", "0.5"); raises ValueError for what is none."""
    found = _AMOUNT.fullmatch(str(amount))
    if found is None or found["unit"] not in _UNITS:
        raise ValueError(f"{amount!r} is not an amount of CPU")
    return Fraction(found["number"]) * _UNITS[found["unit"]]
