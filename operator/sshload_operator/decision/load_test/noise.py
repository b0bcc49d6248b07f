"""The random variation of a run's completed rate: its 95 % confidence interval."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, hypot, sqrt

from sshload_contract.percentiles import FEWEST_SLICES, failures_width, rate_width, spread, variance_of_sum
from sshload_contract.wire.run_summary import RunSummary, SeriesPoint

from sshload_operator.api.status.figures import rounded
from sshload_operator.planning.plan import Plan

_Z_95 = 1.96


@dataclass(frozen=True, slots=True)
class RateBounds:
    """The bounds of the 95 % confidence interval of a completed rate."""

    low: float
    high: float


def completed_rate_interval(plan: Plan, summary: RunSummary) -> RateBounds | None:
    """Return the bounds of the completed rate, None if nothing succeeded.

    If arrivals are evenly spaced and all are begun, as many complete as are due, except those that fail and those that
    are still in flight at the end: only these two are random. The interval does not include disturbances that did not
    occur in the run. The count of any other load is treated as independent events (Poisson); for a closed load with a
    wider interval, if the time series shows that it was less even.
    """
    load = summary.load
    if not load.completed_rate or not load.offered_rate:
        return None
    inside = load.completed_rate * load.scheduled / load.offered_rate  # excludes those that succeed after the window
    measured = list(_measured(plan, summary)) if plan.spec.capacity is None else []
    if _is_even(plan, summary) and len(measured) >= FEWEST_SLICES:
        low, high = _bounds_of_even_arrivals(summary, inside, measured)
    else:
        low, high = _bounds_of_events(plan, summary, inside, measured)
    return RateBounds(rounded(load.completed_rate * low / inside), rounded(load.completed_rate * high / inside))


def _is_even(plan: Plan, summary: RunSummary) -> bool:
    """Return whether arrivals were evenly spaced, and each of them begun."""
    return plan.spec.load.is_even and not summary.load.dropped


def _bounds_of_even_arrivals(
    summary: RunSummary, inside: float, measured: list[tuple[float, SeriesPoint]]
) -> tuple[float, float]:
    """Return the bounds of how many arrivals complete inside the window.

    Failures are a Poisson count (its score interval), widened if they come in bursts. How much the number in flight
    varies between the ends of runs is estimated from its changes over time.
    """
    seconds = [duration_s for duration_s, _ in measured]
    failed = summary.load.failed
    burst = failures_width(failed, spread(seconds, [point.failed for _, point in measured], failed))
    z, under_way = _Z_95 * burst, [point.started - point.succeeded - point.failed for _, point in measured]
    middle, reach = z**2 / 2, z * sqrt(failed + z**2 / 4)
    of_ends = _Z_95 * sqrt(variance_of_sum(seconds, under_way))
    low, high = inside - hypot(reach + middle, of_ends), inside + hypot(reach - middle, of_ends)
    return max(0.0, low), min(float(summary.load.scheduled), high)


def _bounds_of_events(
    plan: Plan, summary: RunSummary, inside: float, measured: list[tuple[float, SeriesPoint]]
) -> tuple[float, float]:
    width = exp(_Z_95 * rate_width(inside, _rate_spread(plan, summary, measured)) / sqrt(inside))
    return inside / width, inside * width


def _rate_spread(plan: Plan, summary: RunSummary, measured: list[tuple[float, SeriesPoint]]) -> float:
    """Return the factor by which the rate of a closed load, per user's time, varies more than independent events."""
    if not plan.spec.load.most_users:
        return 1.0
    with_users = [(duration_s, point) for duration_s, point in measured if point.users]
    weights = [point.users * duration_s for duration_s, point in with_users]
    return spread(weights, [point.succeeded for _, point in with_users], summary.load.succeeded)


def _measured(plan: Plan, summary: RunSummary) -> Iterator[tuple[float, SeriesPoint]]:
    """Yield the intervals of the time series within the measured window, each with its duration in seconds."""
    begin_s, end_s = plan.spec.warm_up_s, plan.spec.warm_up_s + summary.load.duration_s
    before_s = 0.0
    for point in summary.series:
        if before_s >= begin_s and point.at_s <= end_s:
            yield point.at_s - before_s, point
        before_s = point.at_s
