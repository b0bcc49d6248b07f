"""Thresholds relative to a baseline, and the verdict by them, which is decided after that on the run alone.

A relative threshold is met, broken, or within the noise of the two runs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import ceil, inf, isinf, log
from typing import Any, Final, TypeAlias

from sshload_contract.digits import to_digits
from sshload_contract.judgement.own_delay import MORE_CPU, OTHER_MACHINE
from sshload_contract.steal import is_stolen
from sshload_contract.thresholds import ThresholdResult
from sshload_contract.vocabulary import MEASURED_VERDICTS, Verdict

from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.thresholds import RelativeCapacity, RelativeLatency, RelativeThreshold, RelativeThroughput
from sshload_operator.decision.baseline.find import Found, Unusable, compares_figures, find_baseline
from sshload_operator.decision.baseline.measured import (
    Bounds,
    Ratio,
    capacity,
    capacity_ratio,
    completed_rate,
    lacks_interval,
    latency_ms,
    own_delay_ms,
    ratio,
    stolen_share,
)
from sshload_operator.decision.judgement import Judgement
from sshload_operator.planning.differs import other_login
from sshload_operator.planning.plan import Plan
from sshload_operator.state import ObservedBaseline, Reason

# A load more than so many times as long is not useful advice.
_MOST_TIMES_LONGER = 100
_PERCENT = 100
_BEST_FIRST = (True, None, False)


@dataclass(frozen=True, slots=True)
class RelativeResult:
    """The result of a relative threshold. If `result.met` is None, `reason` and `message` say why.

    `figures` are, in words, the new figure, its ratio to the baseline's, and the interval of that ratio.
    """

    result: ThresholdResult
    figures: str
    reason: Reason | None = None
    message: str = ""


# The name of the baseline, and the result of the comparison with it.
_Held: TypeAlias = tuple[str, RelativeResult]


@dataclass(frozen=True, slots=True)
class _Compared:
    """Two figures in words, and their ratio, None if there is none."""

    new: str
    base: str
    ratio: Ratio | None


def unjudged(threshold: RelativeThreshold) -> ThresholdResult:
    """Return the result of a threshold for which there is no baseline."""
    return ThresholdResult(threshold.terms, None, None)


def _change(ratio: float) -> float | None:
    """Return the difference from the baseline in percent of the baseline; None if it is not bounded."""
    return None if ratio == 0 or isinf(ratio) else (ratio - 1) * _PERCENT


def judge_relative(threshold: RelativeThreshold, new: TestStatus, base: TestStatus) -> RelativeResult:
    """Compare what a test measured with what its baseline measured, both by their statuses."""
    compared = _COMPARISONS[type(threshold)](threshold, new, base)
    if isinstance(compared, RelativeResult):
        return compared
    terms, found = threshold.terms, compared.ratio
    if found is None:
        message = f"{terms.words} cannot be judged: it was {compared.new}, and {compared.base} in the baseline"
        return RelativeResult(ThresholdResult(terms, compared.new, None), compared.new, Reason.NO_BASELINE, message)
    between = f"{_bound(found.low)} to {_bound(found.high)}"
    figures = f"{compared.new}, {to_digits(found.value, 3)} ({between}) times the baseline's {compared.base}"
    met = _holds(threshold, found)
    change = (_change(found.value), _change(found.low), _change(found.high))
    result = ThresholdResult(terms, figures, met, *change)
    if met is not None:
        return RelativeResult(result, figures)
    return RelativeResult(
        result, figures, Reason.WITHIN_NOISE, f"{terms.words}: it was {figures}. {_remedy(threshold, found)}"
    )


def _compare_capacity(threshold: RelativeCapacity, new: TestStatus, base: TestStatus) -> _Compared | RelativeResult:
    found, known = capacity(new), capacity(base)
    if found is None or known is None or known.lower is None:
        return _missing(threshold, Reason.NO_BASELINE, "the baseline has found no capacity. Run it again")
    return _Compared(_amount(found), _amount(known), capacity_ratio(found, known))


def _compare_throughput(threshold: RelativeThroughput, new: TestStatus, base: TestStatus) -> _Compared | RelativeResult:
    ours, theirs = completed_rate(new), completed_rate(base)
    if ours is None or theirs is None:
        return _missing(threshold, Reason.NO_BASELINE, "the baseline does not state it. Run it again")
    return _Compared(f"{ours.value:.2f}/s", f"{theirs.value:.2f}/s", ratio(ours, theirs))


def _compare_latency(threshold: RelativeLatency, new: TestStatus, base: TestStatus) -> _Compared | RelativeResult:
    ours = latency_ms(new, threshold.step, threshold.percentile)
    theirs = latency_ms(base, threshold.step, threshold.percentile)
    if ours is None:
        asked = threshold.asked_percentile
        needed = f"p{asked.key} needs {asked.samples_needed} samples"
        return _missing(threshold, Reason.TOO_FEW_SAMPLES, f"{needed}. Lengthen the load or raise its rate")
    if theirs is None or lacks_interval(base, threshold.step, threshold.percentile):
        stated = "does not state it" if theirs is None else "states it without its interval"
        why = "too few samples, or no threshold on that percentile of that step. Run it again, longer or with one"
        return _missing(threshold, Reason.NO_BASELINE, f"the baseline {stated}: {why}")
    return _Compared(_milliseconds(ours.value), _milliseconds(theirs.value), ratio(ours, theirs))


def _missing(threshold: RelativeThreshold, reason: Reason, why: str) -> RelativeResult:
    return RelativeResult(unjudged(threshold), "", reason, f"{threshold.terms.words} cannot be judged: {why}")


_COMPARISONS: Final[
    Mapping[type[RelativeThreshold], Callable[[Any, TestStatus, TestStatus], _Compared | RelativeResult]]
] = {
    RelativeLatency: _compare_latency,
    RelativeThroughput: _compare_throughput,
    RelativeCapacity: _compare_capacity,
}


def _limit(threshold: RelativeThreshold) -> float:
    return 1 + threshold.within if threshold.terms.is_upper_limit else 1 - threshold.within


def _holds(threshold: RelativeThreshold, found: Ratio) -> bool | None:
    """Return True if the whole interval of the ratio is within the limit, False if all of it is outside, else None."""
    limit = _limit(threshold)
    if threshold.terms.is_upper_limit:
        return True if found.high <= limit else False if found.low > limit else None
    return True if found.low >= limit else False if found.high < limit else None


def _remedy(threshold: RelativeThreshold, found: Ratio) -> str:
    """Return what a decision needs: the noise decreases with the square root of the load's length."""
    if threshold.is_on_capacity:
        precision = threshold.within * 100 / 2
        return (
            f"Search both with spec.load.capacity.precision of {precision:.3g}% or finer, and a max at which a"
            " threshold breaks"
        )
    noise = max(_logarithm(found.value / found.low if found.low else inf), _logarithm(found.high / found.value))
    tolerance = abs(log(_limit(threshold)))
    if noise == inf:
        return (
            "There are too few samples to bound it, or it rose and fell too slowly to tell. Lengthen the load of both"
        )
    if noise > tolerance:
        times = (noise / tolerance) ** 2
        return (
            f"The noise of the two runs is larger than the allowed difference: both need a load {_times(times)} as"
            f" long for the noise to fall below {threshold.within * 100:.4g} %"
        )
    distance = abs(log(found.value / _limit(threshold)))
    times = (noise / distance) ** 2 if distance else inf
    if times > _MOST_TIMES_LONGER:
        return (
            "It is exactly at the limit, so no load is long enough to tell whether it is above or below. Allow more"
            " or less of it"
        )
    return f"It is near the limit: both need a load {_times(times)} as long to tell whether it is above or below"


def _times(times: float) -> str:
    return f"{ceil(times * 10) / 10:.1f} times" if times < 10 else f"{ceil(times)} times"  # noqa: PLR2004 - two digits


def _logarithm(quotient: float) -> float:
    return inf if quotient == inf else log(quotient)


def _bound(value: float) -> str:
    return "more" if value == inf else to_digits(value, 3)


def _milliseconds(value_ms: float) -> str:
    return f"{to_digits(value_ms / 1_000, 4)} s" if value_ms >= 1_000 else f"{value_ms:.4g} ms"  # noqa: PLR2004 - ms in a second


def _amount(found: Bounds) -> str:
    """Return the bounds of a capacity in words."""
    if found.lower is None:
        return f"below {found.upper:.6g}" if found.upper is not None else "unknown"
    return f"{found.lower:.6g} to {found.upper:.6g}" if found.upper is not None else f"{found.lower:.6g} or more"


def against_baseline(
    plan: Plan, by_itself: Judgement, measured: TestStatus, observed: ObservedBaseline | None, start_time: datetime
) -> Judgement:
    """Return the judgement on a run that started at `start_time` and has the status `measured`.

    The judgement on the run alone has priority, unless it is Inconclusive: a broken threshold, absolute or relative,
    outranks one that cannot be judged.
    """
    if not plan.spec.relative_thresholds:
        return by_itself
    if by_itself.verdict not in MEASURED_VERDICTS or by_itself.reason is Reason.SEARCH_UNFINISHED:
        has_begun = measured.results is not None and measured.results.iterations > 0
        return _all_unjudged(plan, by_itself) if has_begun else by_itself
    delay_ms = own_delay_ms(measured)
    if delay_ms is not None and compares_figures(plan.spec):
        return _spoiled(plan, by_itself, delay_ms, stolen=is_stolen(stolen_share(measured)))
    found = find_baseline(plan, observed, start_time)
    if isinstance(found, Unusable):
        return _without(plan, by_itself, found)
    held = [_hold(threshold, measured, found) for threshold in plan.spec.relative_thresholds]
    judged = replace(
        by_itself,
        thresholds=(*by_itself.thresholds, *(one.result for _, one in held)),
        baseline=found.ref,
        other_login=_other_login(measured, found),
    )
    return _judged(judged, held)


def _other_login(measured: TestStatus, found: Found) -> str:
    """Return how the logins of the baseline were others, or those of the oldest one; empty if neither were."""
    for base in filter(None, (found, found.oldest)):
        if words := other_login(measured.results, base.status.results):
            return f"Beside the baseline {base.ref.test}, {words}"
    return ""


def _hold(threshold: RelativeThreshold, measured: TestStatus, found: Found) -> _Held:
    """Compare a figure with the baseline and with the oldest one; the worse result counts."""
    last = judge_relative(threshold, measured, found.status)
    if found.oldest is None:
        return found.ref.test, last
    oldest, name = judge_relative(threshold, measured, found.oldest.status), found.oldest.ref.test
    if _BEST_FIRST.index(last.result.met) >= _BEST_FIRST.index(oldest.result.met):
        return found.ref.test, last
    observed = oldest.result.observed and f"{oldest.result.observed} ({name}, the oldest baseline)"
    return f"{name}, the oldest", replace(oldest, result=replace(oldest.result, observed=observed))


def _all_unjudged(plan: Plan, by_itself: Judgement) -> Judgement:
    """Return the judgement with each threshold within a baseline as one that is not judged."""
    unknown = tuple(map(unjudged, plan.spec.relative_thresholds))
    return replace(by_itself, thresholds=(*by_itself.thresholds, *unknown))


def _without(plan: Plan, by_itself: Judgement, why: Unusable) -> Judgement:
    judged = replace(_all_unjudged(plan, by_itself), baseline=why.ref)
    if by_itself.verdict is not Verdict.PASSED:
        return judged
    return replace(judged, verdict=Verdict.INCONCLUSIVE, reason=why.reason, message=why.message)


def _spoiled(plan: Plan, by_itself: Judgement, delay_ms: float, *, stolen: bool) -> Judgement:
    """Return the judgement if the generator lagged: without a comparison, because ratios may be wrong either way."""
    judged = _all_unjudged(plan, by_itself)
    if by_itself.verdict is Verdict.FAILED:
        return judged
    message = (
        f"latencies may include {delay_ms:.4g} ms of the generator's own delay, so nothing can be compared with the"
        f" baseline. {OTHER_MACHINE if stolen else MORE_CPU}. Then run again"
    )
    reason = Reason.CPU_STOLEN if stolen else Reason.GENERATOR_SATURATED
    return replace(judged, verdict=Verdict.INVALID, reason=reason, message=message)


def _judged(judged: Judgement, held: Sequence[_Held]) -> Judgement:
    broken = "; ".join(_in_full(one, name, ", but it was") for name, one in held if one.result.met is False)
    if broken and judged.reason is Reason.THRESHOLD_BROKEN:
        return replace(judged, message=f"{judged.message}; {broken}")
    if broken and judged.verdict is not Verdict.FAILED:
        return replace(judged, verdict=Verdict.FAILED, reason=Reason.THRESHOLD_BROKEN, message=broken)
    if judged.verdict is not Verdict.PASSED:
        return judged
    unknown = [(name, one) for name, one in held if one.result.met is None]
    if unknown:
        reason = unknown[0][1].reason or Reason.NO_BASELINE
        message = "; ".join(f"{one.message} (baseline: {name})" for name, one in unknown)
        return replace(judged, verdict=Verdict.INCONCLUSIVE, reason=reason, message=message)
    kept = "; ".join(_in_full(one, name, ":") for name, one in held)
    if judged.reason is Reason.NO_THRESHOLDS:
        return replace(judged, reason=Reason.THRESHOLDS_MET, message=f"the thresholds were met: {kept}")
    return replace(judged, message=f"{judged.message}; {kept}")


def _in_full(one: RelativeResult, baseline: str, joint: str) -> str:
    return f"{one.result.terms.words} {baseline}{joint} {one.figures}"
