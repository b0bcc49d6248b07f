"""Judge thresholds by the measured window of a trial: a table by kind.

A kind judges itself in a module of this room; `judgement.error_rate` does for the thresholds on errors.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

from sshload_contract.judgement.error_rate import judge_error_rate
from sshload_contract.judgement.threshold.latency import judge_latency, missing_latency
from sshload_contract.judgement.threshold.target import judge_target, target_in_window
from sshload_contract.judgement.threshold.throughput import judge_throughput
from sshload_contract.load import Load
from sshload_contract.thresholds import (
    ErrorRateThreshold,
    Judged,
    LatencyThreshold,
    TargetThreshold,
    Threshold,
    ThroughputThreshold,
)
from sshload_contract.wire.run_summary import Trial

__all__ = ["judge_threshold", "target_in_window", "why_too_few"]


def _no_iteration(_: Threshold, __: Trial) -> str:
    return "no iteration ended"


@dataclass(frozen=True, slots=True)
class _Kind:
    """How a kind is judged, and what it lacks where it cannot be."""

    judge: Callable[[Any, Load, Trial], Judged]
    missing: Callable[[Any, Trial], str] = _no_iteration


_KINDS: Final[Mapping[type[Threshold], _Kind]] = {
    LatencyThreshold: _Kind(judge_latency, missing_latency),
    ErrorRateThreshold: _Kind(judge_error_rate),
    ThroughputThreshold: _Kind(judge_throughput),
    **dict.fromkeys(get_args(TargetThreshold), _Kind(judge_target)),
}


def judge_threshold(threshold: Threshold, load: Load, trial: Trial) -> Judged:
    """Judge whether a threshold was met in the measured window of a run of this load.

    The answer is in doubt if the generator's own delay may have changed it.
    """
    return _KINDS[type(threshold)].judge(threshold, load, trial)


def why_too_few(thresholds: Sequence[Threshold], judged: Sequence[Judged], trial: Trial) -> tuple[str, ...]:
    """Return a sentence for each threshold that has too few samples. `judged` are theirs, in order."""
    return tuple(
        f"{threshold.words} cannot be judged: {_KINDS[type(threshold)].missing(threshold, trial)}"
        for threshold, one in zip(thresholds, judged, strict=True)
        if one.result.met is None and not one.doubt and not one.unread
    )
