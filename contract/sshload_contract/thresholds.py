"""Threshold: what a server must keep, in words and as judged; and the capacity, the highest load that keeps them all.

`judgement.threshold` judges a run by a threshold. With `abort_on_fail` the load ends as soon as the threshold is broken
and the rest of the load cannot change that.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

from sshload_contract.percentiles import percentile_key

_MS_PER_S = 1_000
_PERCENT = 100

_US_PER_S = 1_000_000

GIVEN_UP_AFTER = 2
"""A search gives an amount up once its unjudged trials, as `unjudged` counts them, are so many."""
_STOLEN_AS_ONE = 4


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


@dataclass(frozen=True, slots=True)
class Capacity:
    """What is searched: an amount of load from `least` to `most`, both included, in the unit of the run's load.

    The unit is the arrivals per second, the users, the connections of a burst or the held sessions, whole but for the
    first. The search ends where the bounds are apart by `precision` (0.05: 5 %) or less, each confirmed by `confirm`
    further trials. No trial is begun that would end later than `budget_s` after the start of the first.
    """

    least: float
    most: float
    precision: float
    confirm: int
    budget_s: float


def unjudged(invalid: int, stolen: int, judged: int) -> float:
    """Return by how many the invalid trials of an amount outnumber those that were judged.

    `stolen` trials are invalid because the host took CPU time from a worker's machine. They are not among `invalid`.
    Four of them count as one: steal does not depend on the load, so the next trial may well be judged.
    """
    return invalid + stolen / _STOLEN_AS_ONE - judged
