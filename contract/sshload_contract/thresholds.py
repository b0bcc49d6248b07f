"""Thresholds on what is measured of a server, their results, and the capacity: the highest load that meets all of them.

`judgement.threshold` judges a run by a threshold. With `abort_on_fail` the load ends as soon as the threshold is broken
and the rest of the load cannot change that.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

from sshload_contract.percentiles import percentile_key

BASELINE_UNIT = "% of the baseline"
_MS_PER_S = 1_000
_PERCENT = 100
_US_PER_MS = 1_000
_US_PER_S = 1_000_000

GIVEN_UP_AFTER = 2
"""A search gives up an amount once it has so many unjudged trials, as `unjudged` counts them."""
_STOLEN_AS_ONE = 4


@dataclass(frozen=True, slots=True)
class LatencyThreshold:
    """The percentile of a step must be below `below_s`."""

    kind: ClassVar[str] = "latency"
    step: str
    percentile: float
    below_s: float
    abort_on_fail: bool = False


@dataclass(frozen=True, slots=True)
class ErrorRateThreshold:
    """The share of failed iterations must be below this fraction."""

    kind: ClassVar[str] = "errorRate"
    below: float
    abort_on_fail: bool = False


@dataclass(frozen=True, slots=True)
class ThroughputThreshold:
    """The number of iterations completed per second must be above this."""

    kind: ClassVar[str] = "throughput"
    above: float


Threshold = LatencyThreshold | ErrorRateThreshold | ThroughputThreshold


@dataclass(frozen=True, slots=True)
class Terms:
    """A threshold for programs: its `kind` as in a spec, its limit, and the unit of the limit.

    A threshold on a latency has a `step` and a percentile. One that is relative to a baseline has the BASELINE_UNIT.
    """

    kind: str
    limit: float
    unit: str
    step: str = ""
    percentile: float | None = None

    @property
    def words(self) -> str:
        """The threshold as text: "p99 of total below 2 s"."""
        figure = "error rate" if self.kind == ErrorRateThreshold.kind else self.kind
        if self.percentile is not None:
            figure = f"p{percentile_key(self.percentile)} of {self.step}"
        if self.unit == BASELINE_UNIT:
            return f"{figure} within {self.limit:.4g} {BASELINE_UNIT}"
        return f"{figure} {'below' if self.is_upper_limit else 'above'} {self._limit}"

    @property
    def is_upper_limit(self) -> bool:
        """Whether the figure must be below the limit; otherwise it must be above."""
        return self.kind in (LatencyThreshold.kind, ErrorRateThreshold.kind)

    @property
    def _limit(self) -> str:
        match self.kind:
            case LatencyThreshold.kind:
                return duration_in_words(self.limit * _US_PER_MS)
            case ErrorRateThreshold.kind:
                return f"{self.limit:.4g} {self.unit}"
            case ThroughputThreshold.kind:
                return f"{self.limit:g}{self.unit}"
            case _:
                return f"{self.limit:.6g} {self.unit}"


@dataclass(frozen=True, slots=True)
class ThresholdResult:
    """The result of one threshold: what was observed, in words, and whether it was met; None with too few samples.

    `value` is the observed value in the unit of the limit, and `low` and `high` are its 95 % confidence interval as far
    as it is known.
    """

    terms: Terms
    observed: str | None
    met: bool | None
    value: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def broken_words(self) -> str:
        """The threshold, and what was observed in its place."""
        return f"{self.terms.words}, but it was {self.observed or 'not observed'}"


def terms_of(threshold: Threshold) -> Terms:
    """Return the terms of a threshold."""
    match threshold:
        case LatencyThreshold():
            limit_ms = threshold.below_s * _MS_PER_S
            return Terms(threshold.kind, limit_ms, "ms", threshold.step, threshold.percentile)
        case ErrorRateThreshold():
            return Terms(threshold.kind, threshold.below * _PERCENT, "%")
        case ThroughputThreshold():
            return Terms(threshold.kind, threshold.above, "/s")


@dataclass(frozen=True, slots=True)
class Judged:
    """A judged threshold. `result.met` is None with too few samples, or if it is in doubt; `doubt` then says why.

    A threshold is in doubt if the generator's own delay may have changed the result. `as_measured` is the result that a
    sound generator measured for a threshold in doubt, None if the generator was not sound. `caution` says what the
    latency may include although the threshold was met; it is empty if there is nothing to say.
    """

    result: ThresholdResult
    doubt: str = ""
    as_measured: bool | None = None
    caution: str = ""

    def settled(self) -> "Judged":
        """Return the same, but with what a sound generator measured in place of a doubt.

        Trials of a search are judged so: a search approaches the limit on purpose, and its bounds rest on several
        trials.
        """
        if self.as_measured is None:
            return self
        return Judged(replace(self.result, met=self.as_measured))


def in_words(threshold: Threshold) -> str:
    """Return a threshold as text: "p99 of total below 2 s"."""
    return terms_of(threshold).words


def duration_in_words(duration_us: float) -> str:
    """Return a duration in seconds, or in milliseconds below one."""
    seconds = duration_us / _US_PER_S
    return f"{seconds:.4g} s" if seconds >= 1 else f"{seconds * 1_000:.4g} ms"


@dataclass(frozen=True, slots=True)
class Capacity:
    """The range of a search: an amount of load from `least` to `most`, both included, in the unit of the run's load.

    The unit is arrivals per second, users, connections of a burst or held sessions; all but the first are whole
    numbers. The search ends when the bounds differ by at most `precision` (0.05: 5 %) and each is confirmed by
    `confirm` further trials. No trial is started that would end later than `budget_s` after the start of the first.
    """

    least: float
    most: float
    precision: float
    confirm: int
    budget_s: float


def unjudged(invalid: int, stolen: int, judged: int) -> float:
    """Return how many more trials of an amount were invalid than were judged.

    `stolen` trials are invalid because the host took CPU time from a worker's machine. They are not included in
    `invalid`. Four of them count as one: steal does not depend on the load, so the next trial may well be judged.
    """
    return invalid + stolen / _STOLEN_AS_ONE - judged
