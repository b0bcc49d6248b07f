"""The trials of a search on which conclusions rest, and amounts in words."""

from dataclasses import dataclass
from math import isclose

from sshload_contract.load import Load, Search
from sshload_contract.vocabulary import SearchEnd, TrialState
from sshload_contract.wire.run_summary import RunSummary, Trial

from sshload_operator.planning.plan import Plan


@dataclass(frozen=True, slots=True)
class Searched:
    """A search with its outcome, as in `SearchOutcome`. `trials` are all, in their order; `reported` is one of them."""

    load: Search
    trials: tuple[Trial, ...]
    reported: Trial
    end: SearchEnd
    lower: float | None
    upper: float | None


def search_of(plan: Plan, summary: RunSummary) -> Searched | None:
    """Return the search of a run; None if it was none, or if its master does not report it."""
    load, outcome = plan.spec.load, summary.search
    if not load.is_search or outcome is None:
        return None
    return Searched(load, summary.trials, summary.trial, outcome.end, outcome.lower, outcome.upper)


def trials_at(found: Searched, amount: float) -> tuple[Trial, ...]:
    """Return the trials of an amount, in their order."""
    return tuple(trial for trial in found.trials if isclose(trial.amount, amount))


def those(trials: tuple[Trial, ...], state: TrialState) -> tuple[Trial, ...]:
    """Return the trials that ended in this state."""
    return tuple(trial for trial in trials if trial.state is state)


def how_many(found: Searched) -> str:
    """Return the number of trials and of invalid ones in words: `14 trials, 1 of them invalid and not counted`."""
    count, invalid = len(found.trials), len(those(found.trials, TrialState.INVALID))
    counted = "1 trial" if count == 1 else f"{count} trials"
    return f"{counted}, {invalid} of them invalid and not counted" if invalid else counted


def digits(amount: float) -> str:
    """Return an amount with at most six digits, more than the precision of a search."""
    return f"{amount:.6g}"


def amount_in_words(amount: float, load: Load | Search) -> str:
    """Return an amount with its unit: `118 arrivals/s`."""
    return f"{digits(amount)} {load.unit}"


def capacity_in_words(found: Searched) -> str | None:
    """Return in a few words what is known of the capacity, None if nothing is.

    Only a capacity that was found is a plain amount: `118 arrivals/s`. A bound is not: `500 arrivals/s or more`.
    """
    lower, upper, load = found.lower, found.upper, found.load
    if lower is not None and found.end is SearchEnd.FOUND:
        return amount_in_words(lower, load)
    if lower is not None and upper is not None:
        return f"{digits(lower)} to {amount_in_words(upper, load)}"
    if lower is not None:
        return f"{amount_in_words(lower, load)} or more"
    return f"below {amount_in_words(upper, load)}" if upper is not None else None


def unjudged_least(plan: Plan, found: Searched) -> Trial | None:
    """Return a trial of the smallest load if most that did not pass there broke nothing, but had too few iterations.

    A trial whose percentile cannot be stated has not met its threshold. If as many iterations were begun as the
    percentile needs, the server made them fail; if there were fewer, the trial shows nothing.
    """
    if found.end is not SearchEnd.LEAST_BROKEN or found.upper is None:
        return None
    failed = those(trials_at(found, found.upper), TrialState.FAILED)
    unjudged = [trial for trial in failed if _had_too_few(plan, trial)]
    return unjudged[-1] if 2 * len(unjudged) > len(failed) else None


def _had_too_few(plan: Plan, trial: Trial) -> bool:
    if any(result.met is False for result in trial.thresholds):
        return False
    unknown = {result.terms for result in trial.thresholds if result.met is None}
    needed = (
        asked.samples_needed
        for threshold in plan.spec.thresholds
        if (asked := threshold.asked_percentile) is not None and threshold.terms in unknown
    )
    return trial.load.started < max(needed, default=0)
