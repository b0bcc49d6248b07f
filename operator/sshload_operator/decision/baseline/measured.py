"""What a finished test measured, with its noise, as its status has it."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isclose
from typing import Any

from sshload_operator.decision.results import OWN_DELAY, STOLEN_PERCENT

Status = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with the bounds of its 95 % confidence interval, None where the samples do not bound it there."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Bounds:
    """A capacity: at least `lower`, below `upper`; None where the search found none."""

    lower: float | None
    upper: float | None


def latency_ms(status: Status, step: str, percentile: float) -> Figure | None:
    """Return a percentile of a step in milliseconds, None where the status does not state it."""
    steps = status.get("results", {}).get("steps", ())
    found: Status = next((one for one in steps if one["step"] == step), {})
    for one in found.get("intervals", ()):
        if isclose(one["percentile"], percentile):
            return Figure(one["ms"], one.get("lowMs"), one.get("highMs"))
    return None


def completed_rate(status: Status) -> Figure | None:
    """Return the iterations completed per second, None where the status does not state it."""
    results = status.get("results", {})
    if "completedRate" not in results:
        return None
    return Figure(results["completedRate"], results.get("completedRateLow"), results.get("completedRateHigh"))


def capacity(status: Status) -> Bounds | None:
    """Return the bounds of the capacity, None where none was searched."""
    found = status.get("capacity")
    return None if found is None else Bounds(found.get("lowerBound"), found.get("upperBound"))


def own_delay_ms(status: Status) -> float | None:
    """Return how much of its latencies may be the generator's own delay, None where it is too little to matter."""
    found: float | None = status.get("results", {}).get("generator", {}).get(OWN_DELAY)
    return found


def stolen_share(status: Status) -> float | None:
    """Return which share of its workers' CPU time hosts took, None where nobody tells."""
    percent: float | None = status.get("results", {}).get("generator", {}).get(STOLEN_PERCENT)
    return None if percent is None else percent / 100
