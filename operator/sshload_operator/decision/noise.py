"""How much of a run's figures is chance: their 95 % confidence intervals, as a status has them."""

from collections.abc import Iterator
from math import exp, sqrt
from typing import Any

from sshload_contract.load import UsersLoad
from sshload_contract.run_summary import RunSummary, StepStats
from sshload_contract.spread import rate_width, spread

from sshload_operator.decision.figures import milliseconds, rounded, stated
from sshload_operator.planning.plan import Plan

_Z_95 = 1.96


def percentile_intervals(step: StepStats) -> list[dict[str, Any]]:
    """Return each percentile of a step that is stated, with its interval as far as the samples bound it."""
    return [
        stated(
            {
                "percentile": float(key),
                "ms": milliseconds(value_us),
                "lowMs": milliseconds(step.percentiles_low_us.get(key)),
                "highMs": milliseconds(step.percentiles_high_us.get(key)),
            }
        )
        for key, value_us in step.percentiles_us.items()
        if value_us is not None
    ]


def completed_rate_interval(plan: Plan, summary: RunSummary) -> dict[str, float]:
    """Return the bounds of `completedRate`, none where nothing ended well.

    The count of iterations is taken for that of independent events (Poisson), or for less even where it was, by the
    time series of a closed load. In an open model that is too wide: what is completed there is what is offered, as long
    as the server keeps up.
    """
    load = summary.load
    if not load.completed_rate or not load.offered_rate:
        return {}
    inside = load.completed_rate * load.scheduled / load.offered_rate  # those that succeed after the window have no say
    width = exp(_Z_95 * rate_width(inside, _rate_spread(plan, summary)) / sqrt(inside))
    return {
        "completedRateLow": rounded(load.completed_rate / width),
        "completedRateHigh": rounded(load.completed_rate * width),
    }


def _rate_spread(plan: Plan, summary: RunSummary) -> float:
    if not isinstance(plan.spec.load, UsersLoad) or plan.spec.capacity is not None:
        return 1.0
    counted = list(_measured(plan, summary))
    return spread([weight for weight, _ in counted], [count for _, count in counted], summary.load.succeeded)


def _measured(plan: Plan, summary: RunSummary) -> Iterator[tuple[float, int]]:
    """Yield what each interval of the measured window had of users' time, and of iterations that ended well."""
    begin_s, end_s = plan.spec.warm_up_s, plan.spec.warm_up_s + summary.load.duration_s
    before_s = 0.0
    for point in summary.series:
        if before_s >= begin_s and point.at_s <= end_s and point.users:
            yield point.users * (point.at_s - before_s), point.succeeded
        before_s = point.at_s
