"""Threshold: what a server is to keep. `judgement.threshold` holds a run against one.

With `abort_on_fail` the load ends as soon as the threshold is broken whatever the rest of the load may bring.
"""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class LatencyThreshold:
    """The percentile of a step is to stay below `below_s`."""

    kind: ClassVar[str] = "latency"
    step: str
    percentile: float
    below_s: float
    abort_on_fail: bool = False


@dataclass(frozen=True, slots=True)
class ErrorRateThreshold:
    """The share of failed iterations is to stay below this fraction."""

    kind: ClassVar[str] = "errorRate"
    below: float
    abort_on_fail: bool = False


@dataclass(frozen=True, slots=True)
class ThroughputThreshold:
    """Iterations completed per second are to be above this."""

    kind: ClassVar[str] = "throughput"
    above: float


Threshold = LatencyThreshold | ErrorRateThreshold | ThroughputThreshold


@dataclass(frozen=True, slots=True)
class Terms:
    """What a threshold demands, for programs: its `kind` as in a spec, its limit, and the unit of that.

    A latency has a `step` and a percentile.
    """

    kind: str
    limit: float
    unit: str
    step: str = ""
    percentile: float | None = None


@dataclass(frozen=True, slots=True)
class ThresholdResult:
    """One threshold as judged: its text, what was seen (None: too few samples) and whether it held (None likewise).

    `terms` say the same as the text. `value` is what was seen in the unit of the limit, and `low` and `high` are its
    95 % confidence interval where it has one.
    """

    threshold: str
    observed: str | None
    passed: bool | None
    terms: Terms | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def key(self) -> Terms | str:
        """Which threshold it is. The master of the release before says that in words only."""
        return self.terms or self.threshold
