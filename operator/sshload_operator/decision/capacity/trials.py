"""Which trials of a search lead to which conclusion."""

from math import isclose

from sshload_contract.load import Load
from sshload_contract.percentiles import samples_needed
from sshload_contract.thresholds import LatencyThreshold, in_words, terms_of
from sshload_contract.vocabulary import SearchEnd, TrialState
from sshload_contract.wire.run_summary import CapacityResult, RunSummary, Trial

from sshload_operator.planning.plan import Plan

_SAME_AMOUNT = 1e-9


def measured_load(plan: Plan, summary: RunSummary) -> Load:
    """Return the load that a summary describes: the plan's, or of a search, that of its reported trial."""
    reported = reported_trial(summary.capacity) if summary.capacity is not None else None
    return plan.spec.load if reported is None else plan.spec.load.at(reported.amount)


def reported_trial(found: CapacityResult) -> Trial | None:
    """Return the trial that the summary beside describes, None if there is none of its number."""
    return next((trial for trial in found.trials if trial.number == found.reported), None)


def trials_at(found: CapacityResult, amount: float) -> tuple[Trial, ...]:
    """Return the trials of an amount, in their order."""
    return tuple(trial for trial in found.trials if isclose(trial.amount, amount, rel_tol=_SAME_AMOUNT))


def those(trials: tuple[Trial, ...], state: TrialState) -> tuple[Trial, ...]:
    """Return the trials that ended in this state."""
    return tuple(trial for trial in trials if trial.state is state)


def how_many(found: CapacityResult) -> str:
    """Return the number of trials in words, and of those that count for nothing: `14 trials, 1 of them invalid`."""
    count, invalid = len(found.trials), len(those(found.trials, TrialState.INVALID))
    counted = "1 trial" if count == 1 else f"{count} trials"
    return f"{counted}, {invalid} of them invalid and not counted" if invalid else counted


def digits(amount: float) -> str:
    """Return an amount with at most six digits, more than the precision of a search."""
    return f"{amount:.6g}"


def amount_in_words(amount: float, load: Load) -> str:
    """Return an amount with its unit: `118 arrivals/s`."""
    return f"{digits(amount)} {load.unit}"


def capacity_in_words(found: CapacityResult, load: Load) -> str | None:
    """Return what is known of the capacity, in a few words, None if nothing is; a bound never reads as a capacity.

    Only a capacity that was found is a plain amount: `118 arrivals/s`, else `500 arrivals/s or more`.
    """
    lower, upper = found.lower, found.upper
    if lower is not None and found.end is SearchEnd.FOUND:
        return amount_in_words(lower, load)
    if lower is not None and upper is not None:
        return f"{digits(lower)} to {amount_in_words(upper, load)}"
    if lower is not None:
        return f"{amount_in_words(lower, load)} or more"
    return f"below {amount_in_words(upper, load)}" if upper is not None else None


def unjudged_least(plan: Plan, found: CapacityResult) -> Trial | None:
    """Return a trial of the least load, where most that did not hold there broke nothing, and had too few iterations.

    A trial whose percentile cannot be stated has not held its threshold. If as many iterations were begun as the
    percentile needs, the server made them fail; if there were fewer, the trial says nothing.
    """
    if found.end is not SearchEnd.LEAST_BROKEN or found.upper is None:
        return None
    failed = those(trials_at(found, found.upper), TrialState.FAILED)
    unjudged = [trial for trial in failed if _had_too_few(plan, trial)]
    return unjudged[-1] if 2 * len(unjudged) > len(failed) else None


def _had_too_few(plan: Plan, trial: Trial) -> bool:
    if any(result.passed is False for result in trial.thresholds):
        return False
    unknown = {result.key for result in trial.thresholds if result.passed is None}
    needed = (
        samples_needed(threshold.percentile)
        for threshold in plan.spec.thresholds
        if isinstance(threshold, LatencyThreshold) and unknown & {terms_of(threshold), in_words(threshold)}
    )
    return trial.load.started < max(needed, default=0)
