"""Thresholds held against the measured window of a summary."""

from collections.abc import Sequence

from sshload_contract.judgement.error_rate import judge_error_rate
from sshload_contract.judgement.figures import find_step
from sshload_contract.judgement.judged import Judged
from sshload_contract.judgement.latency import judge_latency
from sshload_contract.judgement.throughput import judge_throughput
from sshload_contract.judgement.words import in_words
from sshload_contract.load import Load
from sshload_contract.percentile import percentile_key, samples_needed
from sshload_contract.run_summary import RunSummary
from sshload_contract.thresholds import ErrorRateThreshold, LatencyThreshold, Threshold, ThroughputThreshold
from sshload_contract.vocabulary import Window


def judge_threshold(threshold: Threshold, load: Load, summary: RunSummary) -> Judged:
    """Return whether a threshold was met in the measured window of a run of this load.

    It is judged only where the generator's own delay cannot have changed the answer.
    """
    match threshold:
        case LatencyThreshold():
            return judge_latency(threshold, load, summary)
        case ErrorRateThreshold():
            return judge_error_rate(threshold, load, summary)
        case ThroughputThreshold():
            return judge_throughput(threshold, load, summary)


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
