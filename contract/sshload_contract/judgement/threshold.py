"""Thresholds held against the measured window of a summary."""

from collections.abc import Sequence

from sshload_contract.judgement.attempts import attempts
from sshload_contract.judgement.figures import find_step
from sshload_contract.load import Load
from sshload_contract.percentile import percentile_key, samples_needed
from sshload_contract.run_summary import RunSummary
from sshload_contract.thresholds import (
    ErrorRateThreshold,
    LatencyThreshold,
    Threshold,
    ThresholdResult,
    ThroughputThreshold,
)
from sshload_contract.vocabulary import Window


def judge_threshold(threshold: Threshold, load: Load, summary: RunSummary) -> ThresholdResult:
    """Return whether a threshold held in the measured window of a run of this load."""
    match threshold:
        case LatencyThreshold():
            return _judge_latency(threshold, summary)
        case ErrorRateThreshold():
            return _judge_error_rate(threshold, load, summary)
        case ThroughputThreshold():
            rate = summary.load.completed_rate
            return ThresholdResult(in_words(threshold), f"{rate:.2f}/s", passed=rate > threshold.above)


def _judge_latency(threshold: LatencyThreshold, summary: RunSummary) -> ThresholdResult:
    step = find_step(summary, threshold.step, Window.MEASURED)
    value_us = step.percentiles_us.get(percentile_key(threshold.percentile)) if step is not None else None
    if value_us is None:
        return ThresholdResult(in_words(threshold), None, None)
    value_s = value_us / 1_000_000
    return ThresholdResult(in_words(threshold), _seconds(value_s), passed=value_s < threshold.below_s)


def _judge_error_rate(threshold: ErrorRateThreshold, load: Load, summary: RunSummary) -> ThresholdResult:
    tried = attempts(load, summary)
    rate = tried.error_rate
    if rate is None:
        return ThresholdResult(in_words(threshold), None, None)
    observed = f"{rate * 100:.4g} % ({tried.failed} of {tried.ended})"
    return ThresholdResult(in_words(threshold), observed, passed=rate < threshold.below)


def why_unjudged(
    thresholds: Sequence[Threshold], results: Sequence[ThresholdResult], summary: RunSummary
) -> tuple[str, ...]:
    """Return a sentence for each threshold of which nobody can tell whether it held. `results` are theirs, in order."""
    return tuple(
        f"{in_words(threshold)} cannot be judged: {_want(threshold, summary)}"
        for threshold, result in zip(thresholds, results, strict=True)
        if result.passed is None
    )


def _want(threshold: Threshold, summary: RunSummary) -> str:
    if not isinstance(threshold, LatencyThreshold):
        return "no iteration ended"
    step = find_step(summary, threshold.step, Window.MEASURED)
    needed, count = samples_needed(threshold.percentile), step.count if step is not None else 0
    return f"p{percentile_key(threshold.percentile)} needs {needed} samples, there are {count}"


def in_words(threshold: Threshold) -> str:
    """Return a threshold as a person would write it: "p99 of total below 2 s"."""
    match threshold:
        case LatencyThreshold():
            return f"p{percentile_key(threshold.percentile)} of {threshold.step} below {_seconds(threshold.below_s)}"
        case ErrorRateThreshold():
            return f"error rate below {threshold.below * 100:.4g} %"
        case ThroughputThreshold():
            return f"throughput above {threshold.above:g}/s"


def _seconds(seconds: float) -> str:
    return f"{seconds:.4g} s" if seconds >= 1 else f"{seconds * 1_000:.4g} ms"
