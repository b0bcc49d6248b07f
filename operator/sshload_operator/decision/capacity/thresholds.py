"""What was promised of the capacity itself, held against what the search found."""

from sshload_contract.run_summary import CapacityResult, RunSummary
from sshload_contract.thresholds import Terms, ThresholdResult
from sshload_contract.vocabulary import SearchEnd

from sshload_operator.api.thresholds import CapacityThreshold, RelativeCapacity
from sshload_operator.decision.capacity.amount import capacity_in_words, in_words
from sshload_operator.decision.capacity.unjudged import unjudged_least
from sshload_operator.planning.plan import Plan

_CONFIRMED_LOWER = (SearchEnd.FOUND, SearchEnd.MOST_HELD, SearchEnd.GENERATOR_LIMIT)


def capacity_results(plan: Plan, summary: RunSummary) -> tuple[ThresholdResult, ...]:
    """Return whether each threshold on the capacity held: None where the bounds that are confirmed do not tell."""
    return tuple(_judge(threshold, plan, summary) for threshold in plan.spec.capacity_thresholds)


def promises_capacity(plan: Plan) -> bool:
    """Tell whether anything is promised of the capacity, in itself or against a baseline."""
    relative = any(isinstance(threshold, RelativeCapacity) for threshold in plan.spec.relative_thresholds)
    return relative or bool(plan.spec.capacity_thresholds)


def known(plan: Plan, found: CapacityResult) -> str | None:
    """Return what is known of the capacity, in a few words, None where nothing is."""
    return None if unjudged_least(plan, found) is not None else capacity_in_words(found, plan.spec.load)


def _judge(threshold: CapacityThreshold, plan: Plan, summary: RunSummary) -> ThresholdResult:
    words = f"capacity above {in_words(threshold.above, plan.spec.load)}"
    terms = Terms(threshold.kind, threshold.above, plan.spec.load.unit)
    found = summary.capacity
    if found is None:
        return ThresholdResult(words, None, None, terms)
    passed: bool | None = None
    if found.lower is not None and found.lower > threshold.above and found.end in _CONFIRMED_LOWER:
        passed = True
    elif found.end is SearchEnd.FOUND or _is_below(plan, found, threshold.above):
        passed = False
    value = found.lower if found.end is SearchEnd.FOUND else None
    return ThresholdResult(words, known(plan, found), passed, terms, value, found.lower, found.upper)


def _is_below(plan: Plan, found: CapacityResult, amount: float) -> bool:
    """Tell whether the least, where that fails, is no more than was promised."""
    fails = found.end is SearchEnd.LEAST_BROKEN and unjudged_least(plan, found) is None
    return fails and found.upper is not None and found.upper <= amount
