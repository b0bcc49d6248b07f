"""Thresholds held against the measured window of a summary."""

from collections.abc import Sequence
from dataclasses import replace

from sshload_contract.judgement.attempts import attempts
from sshload_contract.judgement.error_rate import judge_error_rate
from sshload_contract.judgement.figures import find_step
from sshload_contract.judgement.judged import Judged, in_words
from sshload_contract.judgement.latency import judge_latency
from sshload_contract.judgement.throughput import judge_throughput
from sshload_contract.load import Load
from sshload_contract.percentile import percentile_key, samples_needed
from sshload_contract.run_summary import RunSummary
from sshload_contract.thresholds import ErrorRateThreshold, LatencyThreshold, Terms, Threshold, ThroughputThreshold
from sshload_contract.vocabulary import Window

_MS_PER_S = 1_000
_US_PER_MS = 1_000
_PERCENT = 100


def judge_threshold(threshold: Threshold, load: Load, summary: RunSummary) -> Judged:
    """Return whether a threshold was met in the measured window of a run of this load.

    It is judged only where the generator's own delay cannot have changed the answer.
    """
    match threshold:
        case LatencyThreshold():
            judged = judge_latency(threshold, load, summary)
        case ErrorRateThreshold():
            judged = judge_error_rate(threshold, load, summary)
        case ThroughputThreshold():
            judged = judge_throughput(threshold, load, summary)
    value = None if judged.result.observed is None else _value(threshold, load, summary)
    return replace(judged, result=replace(judged.result, terms=terms_of(threshold), value=value))


def terms_of(threshold: Threshold) -> Terms:
    """Return what a threshold demands."""
    match threshold:
        case LatencyThreshold():
            limit_ms = threshold.below_s * _MS_PER_S
            return Terms(threshold.kind, limit_ms, "ms", threshold.step, threshold.percentile)
        case ErrorRateThreshold():
            return Terms(threshold.kind, threshold.below * _PERCENT, "%")
        case ThroughputThreshold():
            return Terms(threshold.kind, threshold.above, "/s")


def _value(threshold: Threshold, load: Load, summary: RunSummary) -> float | None:
    """Return the figure that a threshold limits, in the unit of its limit."""
    match threshold:
        case LatencyThreshold():
            step = find_step(summary, threshold.step, Window.MEASURED)
            value_us = None if step is None else step.percentiles_us.get(percentile_key(threshold.percentile))
            return None if value_us is None else value_us / _US_PER_MS
        case ErrorRateThreshold():
            rate = attempts(load, summary).error_rate
            return None if rate is None else rate * _PERCENT
        case ThroughputThreshold():
            return summary.load.completed_rate


def why_too_few(thresholds: Sequence[Threshold], judged: Sequence[Judged], summary: RunSummary) -> tuple[str, ...]:
    """Return a sentence for each threshold that has too few samples. `judged` are theirs, in order."""
    return tuple(
        f"{in_words(threshold)} cannot be judged: {_want(threshold, summary)}"
        for threshold, one in zip(thresholds, judged, strict=True)
        if one.result.passed is None and not one.doubt
    )


def _want(threshold: Threshold, summary: RunSummary) -> str:
    if not isinstance(threshold, LatencyThreshold):
        return "no iteration ended"
    step = find_step(summary, threshold.step, Window.MEASURED)
    needed, count = samples_needed(threshold.percentile), step.count if step is not None else 0
    return f"p{percentile_key(threshold.percentile)} needs {needed} samples, there are {count}"
