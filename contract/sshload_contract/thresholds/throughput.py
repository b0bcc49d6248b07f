"""ThroughputThreshold: a lower limit for the iterations completed per second."""

from dataclasses import dataclass
from typing import ClassVar

from sshload_contract.thresholds.kind import Terms, ThresholdKind


@dataclass(frozen=True, slots=True)
class ThroughputThreshold(ThresholdKind):
    """The number of iterations completed per second must be above this."""

    kind: ClassVar[str] = "throughput"
    above: float

    @property
    def terms(self) -> Terms:
        """The limit per second."""
        return Terms(self.kind, self.above, "/s")

    @property
    def promised_rate(self) -> float:
        """Its limit."""
        return self.above

    @staticmethod
    def limit_in_words(limit: float, unit: str) -> str:
        """Return a rate."""
        return f"{limit:g}{unit}"
