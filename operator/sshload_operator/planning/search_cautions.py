"""What the author of a search for the capacity should know beforehand."""

from collections.abc import Iterator
from math import ceil, sqrt

from sshload_contract.judgement.words import in_words
from sshload_contract.load import ArrivalProcess, ArrivalsLoad
from sshload_contract.percentile import samples_needed
from sshload_contract.thresholds import ErrorRateThreshold, LatencyThreshold

from sshload_operator.api.thresholds import RelativeCapacity
from sshload_operator.planning.plan import Plan
from sshload_operator.planning.samples import most_samples
from sshload_operator.planning.search import likely_trial_s, likely_trials

_SPREAD_OF_POISSON = 3.0


def search_cautions(plan: Plan) -> tuple[str, ...]:
    """Return one sentence for each; none where nothing is searched."""
    if plan.spec.capacity is None:
        return ()
    return (
        *_no_error_rate(plan),
        *_barely_enough_samples(plan),
        *_short_of_time(plan),
        *_too_coarse(plan),
        *_few_in_flight(plan),
    )


def _no_error_rate(plan: Plan) -> Iterator[str]:
    if not any(isinstance(threshold, ErrorRateThreshold) for threshold in plan.spec.thresholds):
        yield (
            "spec.thresholds has no errorRate: what the server refuses or drops counts in no latency, so that a load of"
            " which it refuses a part may hold; add errorRate"
        )


def _barely_enough_samples(plan: Plan) -> Iterator[str]:
    """Speak of percentiles that the failures allowed, or chance, may leave too few samples for."""
    spec = plan.spec
    allowed = [threshold.below for threshold in spec.thresholds if isinstance(threshold, ErrorRateThreshold)]
    for threshold in spec.thresholds:
        if not isinstance(threshold, LatencyThreshold):
            continue
        samples = most_samples(spec, spec.load, threshold.step)
        if samples is None:
            continue
        poisson = isinstance(spec.load, ArrivalsLoad) and spec.load.process is ArrivalProcess.POISSON
        fewest = samples - (_SPREAD_OF_POISSON * sqrt(samples) if poisson else 0)
        fewest *= 1 - min(allowed, default=0.0)
        needed = samples_needed(threshold.percentile)
        if fewest < needed:
            yield (
                f"spec.thresholds: {in_words(threshold)} takes {needed} samples, and of the {samples:.0f} of the least"
                f" trial, by chance or by failures, only {max(fewest, 0):.0f} may be left: a trial that cannot be"
                " judged has failed; make its duration longer"
            )


def _short_of_time(plan: Plan) -> Iterator[str]:
    capacity = plan.spec.capacity
    if capacity is None:
        return
    trials, trial_s = likely_trials(capacity, plan.spec.load), likely_trial_s(plan.spec, capacity)
    if trials * trial_s > capacity.budget_s:
        room = int(capacity.budget_s / trial_s)
        yield (
            f"spec.deadline leaves the search {capacity.budget_s:g} s, time for {room} trials of {trial_s:.4g} s, and"
            f" it may take {trials}, or more where they contradict each other: raise it, or take a coarser precision,"
            " a smaller confirm, or a min and a max that are nearer to each other"
        )


def _too_coarse(plan: Plan) -> Iterator[str]:
    """Speak of a difference from the baseline that is finer than what two searches of one server differ by."""
    capacity = plan.spec.capacity
    if capacity is None:
        return
    for threshold in plan.spec.relative_thresholds:
        if isinstance(threshold, RelativeCapacity) and capacity.precision > threshold.within:
            yield (
                f"spec.load.capacity.precision is {capacity.precision * 100:.4g}%, and spec.thresholds asks for a"
                f" capacity within {threshold.within * 100:.4g}% of the baseline's: so near to each other two searches"
                " of the same server need not come; ask for a precision of half of that, or finer, in both"
            )


def _few_in_flight(plan: Plan) -> Iterator[str]:
    """Speak of a maxInFlight that is reached while the promised latency still holds: that trial is no trial."""
    load, capacity = plan.spec.load, plan.spec.capacity
    promised_s = [threshold.below_s for threshold in plan.spec.thresholds if isinstance(threshold, LatencyThreshold)]
    if capacity is None or not isinstance(load, ArrivalsLoad) or not promised_s:
        return
    under_way = ceil(capacity.most * min(promised_s))
    if load.max_in_flight < under_way:
        yield (
            f"spec.load.capacity.arrivals.maxInFlight is {load.max_in_flight}, and at max {under_way} are under way"
            f" when a latency comes to the promised {min(promised_s):g} s: a trial that drops arrivals before a promise"
            f" is broken cannot be judged; raise it to {under_way} or more"
        )
