"""The random variation of a run's completed rate: its 95 % confidence interval."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from math import exp, hypot, inf, sqrt

from sshload_contract.judgement.figures import total_step
from sshload_contract.load import Load
from sshload_contract.percentiles import FEWEST_SLICES, failures_width, rate_width, spread, variance_of_sum
from sshload_contract.vocabulary import Window
from sshload_contract.wire.run_summary import RunSummary, SeriesPoint

from sshload_operator.api.status.figures import rounded
from sshload_operator.planning.plan import Plan

_Z_95 = 1.96
_US_PER_S = 1_000_000
_LARGEST_EXPONENT = 20.0
_AT_BORDERS = 2.0
"""Evenly spaced arrivals that end at the border of a window may end on either side, at each of its two."""


@dataclass(frozen=True, slots=True)
class RateBounds:
    """The bounds of the 95 % confidence interval of a completed rate."""

    low: float
    high: float


def completed_rate_interval(plan: Plan, summary: RunSummary) -> RateBounds | None:
    """Return the bounds of the completed rate, None if nothing ended well in the window, or if the load is a burst.

    They are to hold the rate that such runs have on average, in successes that end in the window. In an open load these
    are the arrivals of a time as long as the window, less the failures, less the growth of the number in flight; each
    of these is random in its own way. Any other load, and one whose arrivals were dropped, has the bounds of
    independent events (Poisson), wider if the time series shows that it was less even.

    The interval does not include disturbances that did not occur in the run. A burst lasts until its last iteration has
    ended, and one run does not tell how much that varies.
    """
    load = summary.trial.load
    asked = plan.spec.load.trial_at(summary.trial.amount)
    ended = load.completed_rate * (load.duration_s - asked.before_iterations_s)
    if ended <= 0 or asked.bursts:
        return None
    measured = [] if plan.spec.load.is_search else list(_measured(plan, summary))
    if asked.most_users or load.dropped:
        low, high = _bounds_of_events(asked, summary, ended, measured)
    else:
        low, high = _bounds_of_arrivals(asked, summary, ended, measured)
    return RateBounds(rounded(load.completed_rate * low / ended), rounded(load.completed_rate * high / ended))


def _bounds_of_arrivals(
    asked: Load, summary: RunSummary, ended: float, measured: list[tuple[float, SeriesPoint]]
) -> tuple[float, float]:
    """Return the bounds of how many arrivals end well in the window.

    Failures are a Poisson count (its score interval), widened if they come in bursts. How much the number in flight
    varies is estimated from its changes over time. Random arrivals are a Poisson count themselves.
    """
    if len(measured) < FEWEST_SLICES:
        width = _factor(1 / sqrt(ended))
        return ended / width, ended * width
    seconds, failed = [duration_s for duration_s, _ in measured], summary.trial.load.failed
    burst = failures_width(failed, spread(seconds, [point.failed for _, point in measured], failed))
    in_flight = variance_of_sum(seconds, list(_growth_in_flight(summary, measured)))
    if not asked.is_even:
        width = _factor(sqrt(ended + in_flight + (burst**2 - 1) * failed) / ended)
        return ended / width, ended * width
    z = _Z_95 * burst
    # The score interval of a Poisson count n is n + z²/2 -+ z sqrt(n + z²/4).
    middle, reach = z**2 / 2, z * sqrt(failed + z**2 / 4)
    of_ends = hypot(_Z_95 * sqrt(in_flight), _AT_BORDERS)
    return max(0.0, ended - hypot(reach + middle, of_ends)), ended + hypot(reach - middle, of_ends)


def _factor(deviation: float) -> float:
    """Return the factor to either side of a count with this relative standard deviation; it is never infinite."""
    return exp(min(_Z_95 * deviation, _LARGEST_EXPONENT))


def _growth_in_flight(summary: RunSummary, measured: list[tuple[float, SeriesPoint]]) -> Iterator[float]:
    """Yield by how much more began than ended in each interval; what began is looked at the mean latency earlier.

    Without that, each change of the rate of arrivals would count as a random one of the number in flight.
    """
    total = total_step(summary.trial, Window.MEASURED)
    earlier_s = 0.0 if total is None or total.mean_us is None else total.mean_us / _US_PER_S
    at_s = [0.0, *(point.at_s for point in summary.series)]
    begun = list(accumulate((point.started for point in summary.series), initial=0))

    def begun_by(instant_s: float) -> float:
        if instant_s <= 0:
            return 0.0
        after = min(bisect_right(at_s, instant_s), len(at_s) - 1)
        gap_s = at_s[after] - at_s[after - 1]
        share = min((instant_s - at_s[after - 1]) / gap_s, 1.0) if gap_s > 0 else 1.0
        return begun[after - 1] + (begun[after] - begun[after - 1]) * share

    for duration_s, point in measured:
        end_s = point.at_s - earlier_s
        yield begun_by(end_s) - begun_by(end_s - duration_s) - point.succeeded - point.failed


def _bounds_of_events(
    asked: Load, summary: RunSummary, ended: float, measured: list[tuple[float, SeriesPoint]]
) -> tuple[float, float]:
    """Return the bounds of how many iterations end well in the window if when they begin depends on others' ends.

    Without enough of a time series, each user may end one more or less: they may all be in step.
    """
    width = _factor(rate_width(ended, _rate_spread(asked, measured)) / sqrt(ended))
    in_step = asked.most_users if len(measured) < FEWEST_SLICES else 0
    return max(ended / width - in_step, 0.0), max(min(ended * width + in_step, _most(asked, summary)), ended)


def _rate_spread(asked: Load, measured: list[tuple[float, SeriesPoint]]) -> float:
    """Return the factor by which the rate, per second or per user's time, varies more than independent events."""
    counted = [(duration_s, point) for duration_s, point in measured if point.users or not asked.most_users]
    weights = [duration_s * (point.users or 1) for duration_s, point in counted]
    counts = [point.succeeded for _, point in counted]
    return spread(weights, counts, sum(counts))


def _most(asked: Load, summary: RunSummary) -> float:
    """Return how many iterations users end if all take as long as the shortest did, and one more at the borders.

    Users who end long iterations in step are uneven over time, and yet limited by this.
    """
    total = total_step(summary.trial, Window.MEASURED)
    if asked.least_pause_s is None or total is None:
        return inf
    shortest_s = (total.min_us or 0) / _US_PER_S + asked.least_pause_s
    return asked.most_users * (summary.trial.load.duration_s / shortest_s + 1) if shortest_s else inf


def _measured(plan: Plan, summary: RunSummary) -> Iterator[tuple[float, SeriesPoint]]:
    """Yield the intervals of the time series within the measured window, each with its duration in seconds."""
    begin_s, end_s = plan.spec.warm_up_s, plan.spec.warm_up_s + summary.trial.load.duration_s
    before_s = 0.0
    for point in summary.series:
        if before_s >= begin_s and before_s < point.at_s <= end_s:
            yield point.at_s - before_s, point
        before_s = point.at_s
