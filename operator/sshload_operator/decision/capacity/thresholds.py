"""What was promised of the capacity itself, held against what the search found."""

from sshload_contract.run_summary import RunSummary
from sshload_contract.thresholds import ThresholdResult
from sshload_contract.vocabulary import SearchEnd

from sshload_operator.api.spec import CapacityThreshold, RelativeCapacity
from sshload_operator.decision.capacity.amount import capacity_in_words, in_words
from sshload_operator.planning.plan import Plan

_CONFIRMED_LOWER = (SearchEnd.FOUND, SearchEnd.MOST_HELD, SearchEnd.GENERATOR_LIMIT)
_CONFIRMED_UPPER = (SearchEnd.FOUND, SearchEnd.LEAST_BROKEN)


def capacity_results(plan: Plan, summary: RunSummary) -> tuple[ThresholdResult, ...]:
    """Return whether each threshold on the capacity held: None where the bounds that are confirmed do not tell."""
    return tuple(_judge(threshold, plan, summary) for threshold in plan.spec.capacity_thresholds)


def promises_capacity(plan: Plan) -> bool:
    """Tell whether anything is promised of the capacity, in itself or against a baseline."""
    relative = any(isinstance(threshold, RelativeCapacity) for threshold in plan.spec.relative_thresholds)
    return relative or bool(plan.spec.capacity_thresholds)


def _judge(threshold: CapacityThreshold, plan: Plan, summary: RunSummary) -> ThresholdResult:
    words = f"capacity above {in_words(threshold.above, plan.spec.load)}"
    found = summary.capacity
    if found is None:
        return ThresholdResult(words, None, None)
    passed: bool | None = None
    if found.lower is not None and found.lower > threshold.above and found.end in _CONFIRMED_LOWER:
        passed = True
    elif found.end is SearchEnd.FOUND or (found.end in _CONFIRMED_UPPER and _is_below(found.upper, threshold.above)):
        passed = False
    return ThresholdResult(words, capacity_in_words(found, plan.spec.load), passed)


def _is_below(upper: float | None, amount: float) -> bool:
    return upper is not None and upper <= amount
