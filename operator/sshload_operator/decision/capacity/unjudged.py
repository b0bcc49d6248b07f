"""Whether a search ended at its least load only for too few samples, which says nothing of the server."""

from sshload_contract.judgement.threshold import terms_of
from sshload_contract.judgement.words import in_words
from sshload_contract.percentile import samples_needed
from sshload_contract.run_summary import CapacityResult, Trial
from sshload_contract.thresholds import LatencyThreshold
from sshload_contract.vocabulary import SearchEnd, TrialState

from sshload_operator.decision.capacity.trials import those, trials_at
from sshload_operator.planning.plan import Plan


def unjudged_least(plan: Plan, found: CapacityResult) -> Trial | None:
    """Return a trial of the least load, where most that did not hold there broke nothing, and had too few iterations.

    A trial whose percentile cannot be stated has not held its threshold. Where as many iterations were begun as the
    percentile takes, the server kept them from ending well; where there were fewer, nobody can tell.
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
