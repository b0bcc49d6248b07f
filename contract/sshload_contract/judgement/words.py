"""Thresholds and latencies in words."""

from sshload_contract.percentile import percentile_key
from sshload_contract.thresholds import ErrorRateThreshold, LatencyThreshold, Threshold, ThroughputThreshold

_US_PER_S = 1_000_000


def in_words(threshold: Threshold) -> str:
    """Return a threshold as a person would write it: "p99 of total below 2 s"."""
    match threshold:
        case LatencyThreshold():
            limit = duration_in_words(threshold.below_s * _US_PER_S)
            return f"p{percentile_key(threshold.percentile)} of {threshold.step} below {limit}"
        case ErrorRateThreshold():
            return f"error rate below {threshold.below * 100:.4g} %"
        case ThroughputThreshold():
            return f"throughput above {threshold.above:g}/s"


def duration_in_words(duration_us: float) -> str:
    """Return a duration in seconds, or in milliseconds below one."""
    seconds = duration_us / _US_PER_S
    return f"{seconds:.4g} s" if seconds >= 1 else f"{seconds * 1_000:.4g} ms"
