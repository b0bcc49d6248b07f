"""What a finished test measured, with its noise, by its status."""

import sys
from dataclasses import dataclass
from math import exp, hypot, inf, log

from sshload_contract.percentiles import percentile_key

from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.measured import COMPLETED_RATE, Figure, find_figure
from sshload_operator.api.status.percentiles import TELLING_PERCENTILES, latency_name

_LARGEST_LOGARITHM = log(sys.float_info.max) - 1


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a figure with its 95 % confidence interval, None where the samples do not bound it."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Bounds:
    """A capacity: at least `lower`, below `upper`; None if the search found none."""

    lower: float | None
    upper: float | None


def latency_ms(status: TestStatus, step: str, percentile: float) -> Value | None:
    """Return a percentile of a step in milliseconds, None if the status does not state it."""
    return _value(find_figure(status, latency_name(float(percentile_key(percentile))), step))


def lacks_interval(status: TestStatus, step: str, percentile: float) -> bool:
    """Return whether a percentile is stated without its interval, as is possible if no threshold names it."""
    found = None if status.results is None else status.results.step(step)
    stated = None if found is None else found.percentile(percentile)
    if found is None or stated is None or stated.low_ms is not None or stated.high_ms is not None:
        return False
    return found.is_part or percentile not in TELLING_PERCENTILES


def completed_rate(status: TestStatus) -> Value | None:
    """Return the iterations completed per second, None if the status does not state it."""
    return _value(find_figure(status, COMPLETED_RATE))


def _value(found: Figure | None) -> Value | None:
    return None if found is None or found.value is None else Value(found.value, found.low, found.high)


def capacity(status: TestStatus) -> Bounds | None:
    """Return the bounds of the capacity, None if none was searched."""
    found = status.capacity
    return None if found is None else Bounds(found.lower_bound, found.upper_bound)


def own_delay_ms(status: TestStatus) -> float | None:
    """Return how much of its latencies may be the generator's own delay, None if it is too little to matter."""
    return None if status.results is None else status.results.own_delay_ms


def stolen_share(status: TestStatus) -> float | None:
    """Return the share of its workers' CPU time that hosts took, None if it is not known."""
    generator = None if status.results is None else status.results.generator
    percent = None if generator is None else generator.stolen_percent
    return None if percent is None else percent / 100


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio and its bounds: 0 or infinity for a side that is not bounded."""

    value: float
    low: float
    high: float


def ratio(new: Value, base: Value) -> Ratio | None:
    """Return the ratio with its 95 % confidence interval; None if one of them is 0.

    The intervals of the two independent runs are combined with the method of Zou and Donner ("MOVER", Statistics in
    Medicine 27, 2008): on the logarithms, the distances of each side are combined as the root of the sum of squares.
    So the result keeps the skew of both. It is also conservative, because the intervals of both are only ever widened
    for correlated latencies, never narrowed.
    """
    if new.value <= 0 or base.value <= 0:
        return None
    value = min(new.value / base.value, sys.float_info.max)
    down = hypot(_distance(new.value, new.low), _distance(base.value, base.high))
    up = hypot(_distance(new.value, new.high), _distance(base.value, base.low))
    return Ratio(value, value * exp(-down), value * _exp(up))


def capacity_ratio(new: Bounds, base: Bounds) -> Ratio | None:
    """Return the ratio of two capacities, with the smallest and largest value that the bounds of both allow.

    None if the bounds leave both sides open.
    """
    low = new.lower / base.upper if new.lower and base.upper else 0.0
    high = new.upper / base.lower if new.upper and base.lower else inf
    if new.lower and base.lower:
        return Ratio(new.lower / base.lower, low, high)
    return None if low == 0 and high == inf else Ratio(high if low == 0 else low, low, high)


def _distance(value: float, bound: float | None) -> float:
    return inf if not bound else abs(log(bound / value))


def _exp(exponent: float) -> float:
    return inf if exponent > _LARGEST_LOGARITHM else exp(exponent)
