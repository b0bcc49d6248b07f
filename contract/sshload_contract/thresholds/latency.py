"""LatencyThreshold: an upper limit for a percentile of a step's latency."""

from dataclasses import dataclass, replace
from typing import ClassVar, Final, Self

from sshload_contract.thresholds.kind import AskedPercentile, Terms, ThresholdKind, duration_in_words

_MS_PER_S: Final = 1_000
_US_PER_MS: Final = 1_000


@dataclass(frozen=True, slots=True)
class LatencyThreshold(ThresholdKind):
    """The percentile of a step must be below `below_s`."""

    kind: ClassVar[str] = "latency"
    is_upper_limit: ClassVar[bool] = True
    can_abort: ClassVar[bool] = True
    step: str
    percentile: float
    below_s: float
    abort_on_fail: bool = False

    @property
    def terms(self) -> Terms:
        """The limit in milliseconds."""
        return Terms(self.kind, self.below_s * _MS_PER_S, "ms", self.step, self.percentile)

    @property
    def asked_percentile(self) -> AskedPercentile:
        """Its percentile."""
        return AskedPercentile(self.step, self.percentile)

    @property
    def promised_s(self) -> float:
        """Its limit."""
        return self.below_s

    def aborting(self) -> Self:
        """Return the same, which ends the load as soon as it is certainly broken."""
        return replace(self, abort_on_fail=True)

    @staticmethod
    def limit_in_words(limit: float, unit: str) -> str:
        """Return a time in seconds or milliseconds."""
        del unit
        return duration_in_words(limit * _US_PER_MS)
