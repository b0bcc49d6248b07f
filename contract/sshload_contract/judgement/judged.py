"""Judged: what a run says of one threshold."""

from dataclasses import dataclass, replace

from sshload_contract.percentile import percentile_key
from sshload_contract.thresholds import (
    ErrorRateThreshold,
    LatencyThreshold,
    Threshold,
    ThresholdResult,
    ThroughputThreshold,
)


@dataclass(frozen=True, slots=True)
class Judged:
    """A threshold as judged. `result.passed` None: too few samples, or `doubt` says why the generator's delay hides it.

    `as_measured` is what a sound generator measured of a threshold in doubt, None where the generator was not sound.
    `caution` says of a threshold that was met what the latency may contain; it is empty where there is nothing to say.
    """

    result: ThresholdResult
    doubt: str = ""
    as_measured: bool | None = None
    caution: str = ""

    def settled(self) -> "Judged":
        """Return the same with what a sound generator measured in place of its doubt.

        A trial of a search is judged so: a search comes near to the limit by intention, and its bounds rest on several
        trials.
        """
        if self.as_measured is None:
            return self
        return Judged(replace(self.result, passed=self.as_measured))


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
