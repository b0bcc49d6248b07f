"""A search for the capacity before its run: why it is impossible, and what its author should know."""

from collections.abc import Iterator
from math import ceil, sqrt

from sshload_contract.digits import to_digits
from sshload_contract.load import Search

from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.planning.estimates import most_samples
from sshload_operator.planning.plan import Plan

_SPREAD_OF_POISSON = 3.0


def search_cautions(plan: Plan) -> tuple[str, ...]:
    """Return one sentence for each; none if nothing is searched."""
    search = plan.spec.load
    if not search.is_search:
        return ()
    return (
        *_no_error_rate(plan),
        *_barely_enough_samples(plan),
        *_short_of_time(plan, search),
        *_too_coarse(plan, search),
        *_few_in_flight(plan, search),
    )


def _no_error_rate(plan: Plan) -> Iterator[str]:
    if all(threshold.allowed_failures is None for threshold in plan.spec.thresholds):
        yield (
            "spec.thresholds has no errorRate: connections that the server refuses or drops have no latency, so that"
            " all thresholds may hold at a load that it partly refuses; add errorRate"
        )


def _barely_enough_samples(plan: Plan) -> Iterator[str]:
    """Speak of percentiles that the failures allowed, or chance, may leave too few samples for."""
    spec = plan.spec
    allowed = [one.allowed_failures for one in spec.thresholds if one.allowed_failures is not None]
    for threshold in spec.thresholds:
        asked = threshold.asked_percentile
        samples = None if asked is None else most_samples(spec, asked.step)
        if asked is None or samples is None:
            continue
        fewest = samples - (_SPREAD_OF_POISSON * sqrt(samples) if spec.load.least.is_memoryless else 0)
        fewest *= 1 - min(allowed, default=0.0)
        needed = asked.samples_needed
        if fewest < needed:
            yield (
                f"spec.thresholds: {threshold.words} takes {needed} samples. The least trial makes {samples:.0f},"
                f" and only {max(fewest, 0):.0f} of them may remain, by chance or because of failures: a trial that"
                f" cannot be judged has failed; make its duration longer"
            )


def _short_of_time(plan: Plan, search: Search) -> Iterator[str]:
    trials, trial_s = search.likely_trials, plan.spec.warm_up_s + search.likely_trial_s
    if trials * trial_s > search.budget_s:
        room = int(search.budget_s / trial_s)
        yield (
            f"spec.deadline leaves the search {search.budget_s:g} s, time for {room} trials of {to_digits(trial_s, 4)}"
            f" s, and it may take {trials}, or more where they contradict each other: raise it, or take a coarser"
            " precision, a smaller confirm, or a min and a max that are nearer to each other"
        )


def _too_coarse(plan: Plan, search: Search) -> Iterator[str]:
    """Speak of a difference from the baseline that is finer than what two searches of one server differ by."""
    for threshold in plan.spec.relative_thresholds:
        if threshold.is_on_capacity and search.precision > threshold.within:
            yield (
                f"spec.load.capacity.precision is {search.precision * 100:.4g}%, and spec.thresholds asks for a"
                f" capacity within {threshold.within * 100:.4g}% of the baseline's: two searches of the same server"
                f" can differ by more than that; ask for a precision of half of that, or finer, in both"
            )


def _few_in_flight(plan: Plan, search: Search) -> Iterator[str]:
    """Speak of a maxInFlight that is reached while the promised latency still holds: that trial is no trial."""
    load = search.largest
    promised_s = [one.promised_s for one in plan.spec.thresholds if one.promised_s is not None]
    if not load.drops_arrivals or not promised_s:
        return
    under_way = ceil(search.most * min(promised_s))
    if load.most_connections < under_way:
        yield (
            f"spec.load.capacity.arrivals.maxInFlight is {load.most_connections}, and at max {under_way} are under way"
            f" when a latency reaches its threshold of {min(promised_s):g} s: a trial that drops arrivals before a"
            f" threshold is broken cannot be judged; raise it to {under_way} or more"
        )


def impossible_search(spec: LoadTestSpec) -> str:
    """Return why the least trial cannot hold, and what to change; empty if it can, or nothing is searched."""
    search = spec.load
    if not search.is_search:
        return ""
    problems = (*_no_probe(search), *_too_few_samples(spec, search), *_too_much_throughput(spec, search))
    return next(iter(problems), "")


def _no_probe(search: Search) -> Iterator[str]:
    probes = search.least.iterations if search.least.held_sessions else None
    if probes is not None and probes < 1:
        yield f"a trial of {_least(search)} begins not one probe: make its duration longer, or raise {_raise(search)}"


def _too_few_samples(spec: LoadTestSpec, search: Search) -> Iterator[str]:
    for threshold in spec.thresholds:
        asked = threshold.asked_percentile
        if asked is None:
            continue
        needed, samples = asked.samples_needed, most_samples(spec, asked.step)
        if samples is None or samples >= needed:
            continue
        if samples == 0:
            yield f"spec.thresholds: {threshold.words} cannot be judged, because a trial has no sample of it"
        else:
            yield (
                f"spec.thresholds: {threshold.words} takes {needed} samples, and a trial of {_least(search)} makes"
                f" about {samples:.0f}: make its duration longer, raise {_raise(search)}, or ask for a lower"
                " percentile"
            )


def _too_much_throughput(spec: LoadTestSpec, search: Search) -> Iterator[str]:
    offered = search.least.offered_rate
    for threshold in spec.thresholds:
        promised = threshold.promised_rate
        if promised is not None and offered is not None and promised >= offered:
            yield (
                f"spec.thresholds: {threshold.words} cannot hold in a trial of {_least(search)}, which begins"
                f" {to_digits(offered, 4)} iterations per second: lower it, or raise {_raise(search)}"
            )


def _least(search: Search) -> str:
    return f"spec.{search.field}.min ({search.least.amount:g})"


def _raise(search: Search) -> str:
    return "probeRate" if search.least.held_sessions else "min"
