"""The verdict on a search for the capacity, as far as it differs from that on other runs.

The bounds must rest on trials: if a bound has no judged trial, the search is Invalid.
"""

from sshload_contract.thresholds import CapacityThreshold, ThresholdResult
from sshload_contract.vocabulary import Invalidity, SearchEnd, TrialState, Verdict

from sshload_operator.decision.capacity.limited_by import limited_by, sentence
from sshload_operator.decision.capacity.trials import (
    Searched,
    amount_in_words,
    capacity_in_words,
    how_many,
    those,
    trials_at,
    unjudged_least,
)
from sshload_operator.decision.judgement import Conclusion
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Reason

_MORE_TIME = "Raise spec.deadline, shorten the trials, bring min and max closer together, or ask for less precision"
_MORE_SAMPLES = "Lengthen the trials, raise spec.load.capacity's min, or use a lower percentile"
_LESS_NOISE = "Lengthen the trials, or ask for less precision"
_CONFIRMED_LOWER = (SearchEnd.FOUND, SearchEnd.MOST_HELD, SearchEnd.GENERATOR_LIMIT)


def by_search(plan: Plan, found: Searched) -> Conclusion | None:
    """Return why a search has no capacity to be judged; None if it has one."""
    return _by_trials(found) or _by_end(plan, found)


def search_so_far(plan: Plan, found: Searched) -> str:
    """Return the progress of the search as a sentence to append to why the run ended."""
    return f". The search had come to {known(plan, found) or 'no bound yet'}, in {how_many(found)}"


def capacity_kept(plan: Plan, found: Searched) -> Conclusion:
    """Return the conclusion that a search found what was asked for."""
    reason = Reason.CAPACITY_FOUND if found.end is SearchEnd.FOUND else Reason.THRESHOLDS_MET
    promised = len(capacity_results(plan, found))
    kept = "" if not promised else ", as required" if promised == 1 else f", as {promised} thresholds require"
    message = f"the capacity is {_stated(plan, found)}{kept} ({how_many(found)}){_limit(plan, found)}"
    return Verdict.PASSED, reason, message


def capacity_broken(plan: Plan, found: Searched) -> Conclusion | None:
    """Return the conclusion with the broken thresholds on the capacity, and what limits it."""
    broken = [result for result in capacity_results(plan, found) if result.met is False]
    if not broken:
        return None
    words = "; ".join(result.broken_words for result in broken)
    return Verdict.FAILED, Reason.THRESHOLD_BROKEN, f"{words}{_limit(plan, found)}"


def _by_trials(found: Searched) -> Conclusion | None:
    """Return the conclusion that the search cannot be trusted, if its bounds do not rest on judged trials."""
    reported = found.reported
    if reported.state is TrialState.INVALID:
        invalidity = reported.invalidity or Invalidity.GENERATOR_FAULT
        return Verdict.INVALID, Reason(invalidity), f"trial {reported.number} cannot be judged: {reported.message}"
    for bound, state in ((found.lower, TrialState.PASSED), (found.upper, TrialState.FAILED)):
        if bound is not None and not those(trials_at(found, bound), state):
            return _contradiction(
                f"no trial has {state} at {amount_in_words(bound, found.load)}, a bound of the search"
            )
    wanting = found.end is SearchEnd.FOUND and (found.lower is None or found.upper is None)
    if wanting or (found.end is SearchEnd.MOST_HELD and found.lower is None):
        return _contradiction(f"the search ended as {found.end} without the bounds that this needs")
    return None


def _contradiction(message: str) -> Conclusion:
    return Verdict.INVALID, Reason.COUNTS_DISAGREE, f"{message}. Run the test again"


def _by_end(plan: Plan, found: Searched) -> Conclusion | None:
    unjudged = unjudged_least(plan, found)
    match found.end:
        case SearchEnd.LEAST_BROKEN if unjudged is not None:
            message = f"no trial of the smallest load can be judged: {unjudged.message}. {_MORE_SAMPLES}"
            return Verdict.INCONCLUSIVE, Reason.TOO_FEW_SAMPLES, message
        case SearchEnd.LEAST_BROKEN:
            return Verdict.FAILED, Reason.CAPACITY_BELOW_MIN, _below_min(plan, found)
        case SearchEnd.MOST_HELD if not _held_enough(plan, found):
            return Verdict.INCONCLUSIVE, Reason.CAPACITY_ABOVE_MAX, _above_max(plan, found)
        case SearchEnd.OUT_OF_TIME:
            why, advice = "there was no time for the next trial", _MORE_TIME
        case SearchEnd.TOO_MANY_TRIALS:
            why, advice = "trials contradicted each other too often", _LESS_NOISE
        case SearchEnd.RUN_ENDED:
            why, advice = "the run ended in the middle of it", "Run the test again"
        case _:
            return None
    so_far = known(plan, found) or "nothing is known"
    message = f"the search ended after {how_many(found)}, because {why}. So far: {so_far}. {advice}"
    return Verdict.INCONCLUSIVE, Reason.SEARCH_UNFINISHED, message


def _held_enough(plan: Plan, found: Searched) -> bool:
    """Return whether the largest load of the search meets the thresholds on the capacity."""
    return promises_capacity(plan) and all(result.met for result in capacity_results(plan, found))


def _above_max(plan: Plan, found: Searched) -> str:
    return (
        f"the capacity is {_stated(plan, found)}: every threshold held at the largest load of the"
        f" search ({how_many(found)}). Raise spec.load.capacity's max, or set a capacity threshold below it"
    )


def _below_min(plan: Plan, found: Searched) -> str:
    where = f"the smallest load of the search ({how_many(found)})"
    return f"the capacity is {_stated(plan, found)}, {where}{_limit(plan, found)}"


def _limit(plan: Plan, found: Searched) -> str:
    limit = limited_by(plan, found)
    return "" if limit is None else f". {sentence(limit, plan)}"


def capacity_results(plan: Plan, found: Searched) -> tuple[ThresholdResult, ...]:
    """Return the result of each threshold on the capacity; undecided if the confirmed bounds do not decide it."""
    return tuple(_judge(threshold, plan, found) for threshold in plan.spec.capacity_thresholds)


def promises_capacity(plan: Plan) -> bool:
    """Return whether there is a threshold on the capacity, absolute or relative to a baseline."""
    return any(one.is_on_capacity for one in (*plan.spec.capacity_thresholds, *plan.spec.relative_thresholds))


def _stated(plan: Plan, found: Searched) -> str:
    return known(plan, found) or "not known"


def known(plan: Plan, found: Searched) -> str | None:
    """Return in a few words what is known of the capacity, None if nothing is."""
    return None if unjudged_least(plan, found) is not None else capacity_in_words(found)


def _judge(threshold: CapacityThreshold, plan: Plan, found: Searched) -> ThresholdResult:
    terms = threshold.terms_in(found.load.unit)
    met: bool | None = None
    if found.lower is not None and found.lower > threshold.above and found.end in _CONFIRMED_LOWER:
        met = True
    elif found.end is SearchEnd.FOUND or _is_below(plan, found, threshold.above):
        met = False
    value = found.lower if found.end is SearchEnd.FOUND else None
    return ThresholdResult(terms, known(plan, found), met, value, found.lower, found.upper)


def _is_below(plan: Plan, found: Searched, amount: float) -> bool:
    """Return whether the smallest load, if it fails, is not above the thresholds on the capacity."""
    fails = found.end is SearchEnd.LEAST_BROKEN and unjudged_least(plan, found) is None
    return fails and found.upper is not None and found.upper <= amount
