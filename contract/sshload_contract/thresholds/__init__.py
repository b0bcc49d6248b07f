"""The kinds of thresholds, and their results.

`judgement.threshold` judges a run by a threshold. With `abort_on_fail` the load ends as soon as the threshold is broken
and the rest of the load cannot change that.
"""

from sshload_contract.thresholds.capacity import GIVEN_UP_AFTER, CapacityThreshold, unjudged
from sshload_contract.thresholds.error_rate import ErrorRateThreshold
from sshload_contract.thresholds.judged import Judged, ThresholdResult
from sshload_contract.thresholds.kind import BASELINE_UNIT, AskedPercentile, Terms, ThresholdKind, duration_in_words
from sshload_contract.thresholds.latency import LatencyThreshold
from sshload_contract.thresholds.target import (
    SessionsThreshold,
    TargetCpuThreshold,
    TargetMemoryThreshold,
    TargetThreshold,
    TargetUsage,
)
from sshload_contract.thresholds.throughput import ThroughputThreshold

__all__ = [
    "BASELINE_UNIT",
    "GIVEN_UP_AFTER",
    "AskedPercentile",
    "CapacityThreshold",
    "ErrorRateThreshold",
    "Judged",
    "LatencyThreshold",
    "SessionsThreshold",
    "TargetCpuThreshold",
    "TargetMemoryThreshold",
    "TargetThreshold",
    "TargetUsage",
    "Terms",
    "Threshold",
    "ThresholdKind",
    "ThresholdResult",
    "ThroughputThreshold",
    "duration_in_words",
    "unjudged",
]

Threshold = LatencyThreshold | ErrorRateThreshold | ThroughputThreshold | TargetThreshold
