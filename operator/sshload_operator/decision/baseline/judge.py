"""The verdict where a baseline has a say: after all that a run says by itself."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from sshload_contract.judgement.own_delay import MORE_CPU, OTHER_MACHINE, is_stolen
from sshload_contract.vocabulary import Verdict

from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.thresholds import RelativeThreshold
from sshload_operator.decision.baseline.candidates import compares_figures
from sshload_operator.decision.baseline.find import Found, Unusable, find_baseline
from sshload_operator.decision.baseline.measured import own_delay_ms, stolen_share
from sshload_operator.decision.baseline.threshold import RelativeResult, judge_relative, unjudged
from sshload_operator.decision.findings import Judgement
from sshload_operator.planning.plan import Plan
from sshload_operator.state import ObservedBaseline, Reason

# A result, and the name of the test that it is about.
_Held: TypeAlias = tuple[str, RelativeResult]
_BEST_FIRST = (True, None, False)
_MEASURED = (Verdict.PASSED, Verdict.FAILED, Verdict.INCONCLUSIVE)


def against_baseline(
    plan: Plan, by_itself: Judgement, measured: TestStatus, observed: ObservedBaseline | None, start_time: datetime
) -> Judgement:
    """Return the judgement on a run that was started then, of which `measured` is what its status states.

    What the run says by itself outranks its baseline, but for what is Inconclusive: a broken threshold outranks one
    that cannot be judged, whatever it is held against.
    """
    unmeasured = by_itself.verdict not in _MEASURED or by_itself.reason is Reason.SEARCH_UNFINISHED
    if unmeasured or not plan.spec.relative_thresholds:
        return by_itself
    delay_ms = own_delay_ms(measured)
    if delay_ms is not None and compares_figures(plan.spec):
        return _spoiled(plan, by_itself, delay_ms, stolen=is_stolen(stolen_share(measured)))
    found = find_baseline(plan, observed, start_time)
    if isinstance(found, Unusable):
        return _without(plan, by_itself, found)
    held = [_hold(threshold, measured, found) for threshold in plan.spec.relative_thresholds]
    judged = replace(
        by_itself, thresholds=(*by_itself.thresholds, *(one.result for _, one in held)), baseline=found.ref
    )
    return _judged(judged, held)


def _hold(threshold: RelativeThreshold, measured: TestStatus, found: Found) -> _Held:
    """Hold a figure against its baseline, and against the oldest one too: the worse result counts."""
    last = judge_relative(threshold, measured, found.status)
    if found.oldest is None:
        return found.ref.test, last
    oldest, name = judge_relative(threshold, measured, found.oldest.status), found.oldest.ref.test
    if _BEST_FIRST.index(last.result.passed) >= _BEST_FIRST.index(oldest.result.passed):
        return found.ref.test, last
    observed = oldest.result.observed and f"{oldest.result.observed} ({name}, the oldest baseline)"
    return f"{name}, the oldest", replace(oldest, result=replace(oldest.result, observed=observed))


def _without(plan: Plan, by_itself: Judgement, why: Unusable) -> Judgement:
    unknown = tuple(map(unjudged, plan.spec.relative_thresholds))
    judged = replace(by_itself, thresholds=(*by_itself.thresholds, *unknown), baseline=why.ref)
    if by_itself.verdict is not Verdict.PASSED:
        return judged
    return replace(judged, verdict=Verdict.INCONCLUSIVE, reason=why.reason, message=why.message)


def _spoiled(plan: Plan, by_itself: Judgement, delay_ms: float, *, stolen: bool) -> Judgement:
    """Hold nothing against a baseline where the generator lagged: a ratio is wrong in either direction then."""
    unknown = tuple(map(unjudged, plan.spec.relative_thresholds))
    judged = replace(by_itself, thresholds=(*by_itself.thresholds, *unknown))
    if by_itself.verdict is Verdict.FAILED:
        return judged
    message = (
        f"latencies may include {delay_ms:.4g} ms of the generator's own delay, so nothing can be held against the "
        f"baseline. {OTHER_MACHINE if stolen else MORE_CPU}. Then run again"
    )
    reason = Reason.CPU_STOLEN if stolen else Reason.GENERATOR_SATURATED
    return replace(judged, verdict=Verdict.INVALID, reason=reason, message=message)


def _judged(judged: Judgement, held: Sequence[_Held]) -> Judgement:
    broken = "; ".join(_in_full(one, name, ", but it was") for name, one in held if one.result.passed is False)
    if broken and judged.reason is Reason.THRESHOLD_BROKEN:
        return replace(judged, message=f"{judged.message}; {broken}")
    if broken and judged.verdict is not Verdict.FAILED:
        return replace(judged, verdict=Verdict.FAILED, reason=Reason.THRESHOLD_BROKEN, message=broken)
    if judged.verdict is not Verdict.PASSED:
        return judged
    unknown = [(name, one) for name, one in held if one.result.passed is None]
    if unknown:
        reason = unknown[0][1].reason or Reason.NO_BASELINE
        message = "; ".join(f"{one.message} (baseline: {name})" for name, one in unknown)
        return replace(judged, verdict=Verdict.INCONCLUSIVE, reason=reason, message=message)
    kept = "; ".join(_in_full(one, name, ":") for name, one in held)
    if judged.reason is Reason.NO_THRESHOLDS:
        return replace(judged, reason=Reason.THRESHOLDS_MET, message=f"the thresholds were met: {kept}")
    return replace(judged, message=f"{judged.message}; {kept}")


def _in_full(one: RelativeResult, baseline: str, joint: str) -> str:
    return f"{one.result.threshold} {baseline}{joint} {one.figures}"
