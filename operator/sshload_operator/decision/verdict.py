"""The verdict on a whole summary: how the run ended, whether it can be trusted, and only then what was promised."""

from sshload_contract.percentile import percentile_key, samples_needed
from sshload_contract.run_summary import RunSummary
from sshload_contract.vocabulary import Outcome, RunEnd, Verdict, Window

from sshload_operator.api.spec import ErrorRateThreshold, LatencyThreshold, Threshold, ThroughputThreshold
from sshload_operator.decision.results import error_rate, find_step
from sshload_operator.decision.validity import arrivals_dropped, defects
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Judgement, Reason, ThresholdResult

Opinion = tuple[Verdict, Reason, str]

_ENDS: dict[RunEnd, tuple[Verdict, Reason, str]] = {
    RunEnd.WORKER_LOST: (
        Verdict.INVALID,
        Reason.WORKER_LOST,
        "a worker was lost while the load ran, so the load was not the one asked for; see why its pod ended",
    ),
    RunEnd.GENERATOR_FAULT: (Verdict.INVALID, Reason.GENERATOR_FAULT, "the load generator had a fault of its own"),
    RunEnd.WORKERS_MISSING: (
        Verdict.ERROR,
        Reason.WORKERS_MISSING,
        "not all workers connected to the master in time (spec.startTimeout)",
    ),
    RunEnd.TARGET_UNREACHABLE: (Verdict.ERROR, Reason.TARGET_UNREACHABLE, "the workers could not reach the target"),
    RunEnd.STOPPED: (Verdict.ERROR, Reason.MASTER_LOST, "the master was stopped before the end of the load"),
}


def judge(plan: Plan, summary: RunSummary) -> Judgement:
    """Return the verdict. A broken threshold outranks one that cannot be judged; nothing invalid is ever Passed."""
    results = tuple(_judge_threshold(threshold, summary) for threshold in plan.spec.thresholds)
    verdict, reason, message = (
        _by_end(summary)
        or _by_emptiness(summary)
        or _by_common_refusal(summary)
        or _by_validity(plan, summary)
        or _by_thresholds(results)
        or _by_dropped_arrivals(summary)
        or _by_total_failure(summary)
        or _by_too_few_samples(plan, summary, results)
        or _passed(summary, results)
    )
    ran = summary.load.succeeded + summary.load.failed > 0
    return Judgement(verdict, reason, message, thresholds=results if ran else ())


def _by_end(summary: RunSummary) -> Opinion | None:
    if summary.end is RunEnd.COMPLETED:
        return None
    verdict, reason, meaning = _ENDS[summary.end]
    return verdict, reason, f"{meaning}: {summary.message}" if summary.message else meaning


def _by_emptiness(summary: RunSummary) -> Opinion | None:
    if summary.load.started > 0:
        return None
    message = (
        f"not one iteration began in the measured {summary.load.duration_s:g} s, so there is nothing to judge. "
        f"Lengthen the load, raise its rate, or shorten spec.warmUp"
    )
    return Verdict.INVALID, Reason.NO_REQUESTS, message


def _by_common_refusal(summary: RunSummary) -> Opinion | None:
    """Where no iteration ended well, and all for the same reason, the test is set up wrongly: it measured nothing."""
    if summary.load.succeeded > 0 or summary.load.failed == 0:
        return None
    failed = [error for error in summary.errors if error.window is Window.MEASURED and error.count > 0]
    outcomes = {error.outcome for error in failed}
    said = next((f" ({error.first_message})" for error in failed if error.first_message), "")
    if outcomes == {Outcome.AUTH_REJECTED}:
        message = (
            f"the target refused every one of the {summary.load.failed} logins for its credentials{said}. "
            f"Check the user and the Secret that spec.target.external.credentialsSecretRef names"
        )
        return Verdict.ERROR, Reason.CREDENTIALS_REJECTED, message
    if outcomes == {Outcome.HOST_KEY_MISMATCH}:
        message = (
            f"the target's host key is not the known one{said}. Put the right key into the Secret that "
            f"spec.target.external.knownHostsSecretRef names, or find out who answers in the target's place"
        )
        return Verdict.ERROR, Reason.HOST_KEY_MISMATCH, message
    return None


def _by_validity(plan: Plan, summary: RunSummary) -> Opinion | None:
    found = defects(plan, summary)
    if not found:
        return None
    return Verdict.INVALID, found[0].reason, ". Also: ".join(defect.message for defect in found)


def _by_dropped_arrivals(summary: RunSummary) -> Opinion | None:
    defect = arrivals_dropped(summary)
    return None if defect is None else (Verdict.INVALID, defect.reason, defect.message)


def _by_thresholds(results: tuple[ThresholdResult, ...]) -> Opinion | None:
    broken = [f"{result.threshold}, but it was {result.observed}" for result in results if result.passed is False]
    return (Verdict.FAILED, Reason.THRESHOLD_BROKEN, "; ".join(broken)) if broken else None


def _by_total_failure(summary: RunSummary) -> Opinion | None:
    """Fail a test in which nothing worked, even if it promises nothing about errors."""
    if summary.load.succeeded > 0:
        return None
    message = f"not one of {summary.load.failed} iterations ended well; status.results.errors says why"
    return Verdict.FAILED, Reason.ALL_FAILED, message


def _by_too_few_samples(plan: Plan, summary: RunSummary, results: tuple[ThresholdResult, ...]) -> Opinion | None:
    unknown = [
        _samples_wanted(threshold, summary)
        for threshold, result in zip(plan.spec.thresholds, results, strict=True)
        if result.passed is None
    ]
    if not unknown:
        return None
    return Verdict.INCONCLUSIVE, Reason.TOO_FEW_SAMPLES, f"{'; '.join(unknown)}. Lengthen the load or raise its rate"


def _samples_wanted(threshold: Threshold, summary: RunSummary) -> str:
    if not isinstance(threshold, LatencyThreshold):
        return f"{_words(threshold)} cannot be judged: no iteration ended"
    step = find_step(summary, threshold.step, Window.MEASURED)
    count = step.count if step is not None else 0
    needed = samples_needed(threshold.percentile)
    percentile = percentile_key(threshold.percentile)
    return f"{_words(threshold)} cannot be judged: p{percentile} needs {needed} samples, there are {count}"


def _passed(summary: RunSummary, results: tuple[ThresholdResult, ...]) -> Opinion:
    load = summary.load
    ran = f"{load.succeeded + load.failed} iterations at {load.completed_rate:.1f}/s, {load.failed} failed"
    if not results:
        return Verdict.PASSED, Reason.NO_THRESHOLDS, f"the run completed and no threshold was set: {ran}"
    held = "the threshold was met" if len(results) == 1 else f"all {len(results)} thresholds were met"
    return Verdict.PASSED, Reason.THRESHOLDS_MET, f"{held}: {ran}"


def _judge_threshold(threshold: Threshold, summary: RunSummary) -> ThresholdResult:
    match threshold:
        case LatencyThreshold():
            return _judge_latency(threshold, summary)
        case ErrorRateThreshold():
            return _judge_error_rate(threshold, summary)
        case ThroughputThreshold():
            rate = summary.load.completed_rate
            return ThresholdResult(_words(threshold), f"{rate:.2f}/s", passed=rate > threshold.above)


def _judge_latency(threshold: LatencyThreshold, summary: RunSummary) -> ThresholdResult:
    step = find_step(summary, threshold.step, Window.MEASURED)
    value_us = step.percentiles_us.get(percentile_key(threshold.percentile)) if step is not None else None
    if value_us is None:
        return ThresholdResult(_words(threshold), None, None)
    value_s = value_us / 1_000_000
    return ThresholdResult(_words(threshold), _seconds(value_s), passed=value_s < threshold.below_s)


def _judge_error_rate(threshold: ErrorRateThreshold, summary: RunSummary) -> ThresholdResult:
    rate = error_rate(summary.load)
    if rate is None:
        return ThresholdResult(_words(threshold), None, None)
    observed = f"{rate * 100:.4g} % ({summary.load.failed} of {summary.load.succeeded + summary.load.failed})"
    return ThresholdResult(_words(threshold), observed, passed=rate < threshold.below)


def _words(threshold: Threshold) -> str:
    match threshold:
        case LatencyThreshold():
            return f"p{percentile_key(threshold.percentile)} of {threshold.step} below {_seconds(threshold.below_s)}"
        case ErrorRateThreshold():
            return f"error rate below {threshold.below * 100:.4g} %"
        case ThroughputThreshold():
            return f"throughput above {threshold.above:g}/s"


def _seconds(seconds: float) -> str:
    return f"{seconds:.4g} s" if seconds >= 1 else f"{seconds * 1_000:.4g} ms"
