"""How many connections a load begins, at most, within a stretch of time. Pure arithmetic on the load model."""

from itertools import accumulate, pairwise
from math import ceil

from sshload_contract.load import ArrivalsLoad, BurstLoad


def most_begun_within(load: ArrivalsLoad | BurstLoad, warm_up_s: float, stretch_s: float) -> int:
    """Return the largest number of iterations that any `stretch_s` seconds of the run begin, warm-up included.

    The warm-up runs the first stage's rate, or one burst at its start.
    """
    if isinstance(load, BurstLoad):
        return load.connections * _most_bursts_within(load, warm_up_s, stretch_s)
    return _most_arrivals_within(load, warm_up_s, stretch_s)


def _most_bursts_within(load: BurstLoad, warm_up_s: float, stretch_s: float) -> int:
    instants = [0.0] if warm_up_s > 0 else []
    instants += [warm_up_s + repetition * load.interval_s for repetition in range(load.repeat)]
    return max(sum(first <= instant < first + stretch_s for instant in instants) for first in instants)


def _most_arrivals_within(load: ArrivalsLoad, warm_up_s: float, stretch_s: float) -> int:
    """Slide the stretch over the stages. Their sum is piecewise linear, so its maximum is where an edge meets one."""
    rates = [load.stages[0].rate, *(stage.rate for stage in load.stages)]
    edges = list(accumulate([warm_up_s, *(stage.duration_s for stage in load.stages)], initial=0.0))
    starts = {max(0.0, candidate) for edge in edges for candidate in (edge, edge - stretch_s)}
    return max(ceil(_arrivals_between(rates, edges, start, start + stretch_s)) for start in starts)


def _arrivals_between(rates: list[float], edges: list[float], start: float, end: float) -> float:
    overlaps = (max(0.0, min(end, right) - max(start, left)) for left, right in pairwise(edges))
    return sum(rate * overlap for rate, overlap in zip(rates, overlaps, strict=True))
