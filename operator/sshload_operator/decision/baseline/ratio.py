"""The ratio of a figure to its baseline's, with the noise of both."""

from dataclasses import dataclass
from math import exp, hypot, inf, log

from sshload_operator.decision.baseline.measured import Bounds, Figure


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio and what it lies between: 0 and infinity where a side is not bounded."""

    value: float
    low: float
    high: float


def ratio(new: Figure, base: Figure) -> Ratio | None:
    """Return the ratio with its 95 % confidence interval; None where one of them is 0.

    The intervals of the two, which are of independent runs, are combined as Zou and Donner do (Statistics in Medicine
    27, 2008, "MOVER"): on the logarithms, each side's distances are added as the legs of a right triangle. So it takes
    over the skew of each, and the safety of each: theirs are widened for latencies that are alike, never narrowed.
    """
    if new.value <= 0 or base.value <= 0:
        return None
    value = new.value / base.value
    down = hypot(_distance(new.value, new.low), _distance(base.value, base.high))
    up = hypot(_distance(new.value, new.high), _distance(base.value, base.low))
    return Ratio(value, value * exp(-down), value * _exp(up))


def capacity_ratio(new: Bounds, base: Bounds) -> Ratio | None:
    """Return the ratio of two capacities, with the least and the most that it can be by the bounds of both.

    None where the bounds leave both sides open.
    """
    low = new.lower / base.upper if new.lower and base.upper else 0.0
    high = new.upper / base.lower if new.upper and base.lower else inf
    if new.lower and base.lower:
        return Ratio(new.lower / base.lower, low, high)
    return None if low == 0 and high == inf else Ratio(high if low == 0 else low, low, high)


def _distance(value: float, bound: float | None) -> float:
    return inf if not bound else abs(log(bound / value))


def _exp(exponent: float) -> float:
    return inf if exponent == inf else exp(exponent)
