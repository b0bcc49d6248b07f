"""Thresholds as a spec states them: for the run, the capacity of a search, or relative to a baseline."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Final, TypeAlias

from sshload_contract.declared import Default, Duration, Number, Percentage, Rule, Text, exactly_one
from sshload_contract.load import MOST
from sshload_contract.thresholds import (
    BASELINE_UNIT,
    AskedPercentile,
    CapacityThreshold,
    ErrorRateThreshold,
    LatencyThreshold,
    Terms,
    Threshold,
    ThresholdKind,
    ThroughputThreshold,
)

_LEAST_SHARE: Final = "0.0001%"
_PERCENT: Final = 100
_Share: TypeAlias = Annotated[float | None, Percentage(_LEAST_SHARE, "99.9999%")]
_Amount: TypeAlias = Annotated[float | None, Number(0, MOST)]


@dataclass(frozen=True, slots=True)
class RelativeLatency(ThresholdKind):
    """The percentile of a step is to be at most this fraction above the baseline's."""

    kind: ClassVar[str] = "relativeLatency"
    step: str
    percentile: float
    within: float

    @property
    def terms(self) -> Terms:
        """The limit in percent of the baseline."""
        return Terms(LatencyThreshold.kind, self.within * _PERCENT, BASELINE_UNIT, self.step, self.percentile)

    @property
    def asked_percentile(self) -> AskedPercentile:
        """Its percentile."""
        return AskedPercentile(self.step, self.percentile)


@dataclass(frozen=True, slots=True)
class RelativeThroughput(ThresholdKind):
    """Iterations completed per second are to be at most this fraction below the baseline's."""

    kind: ClassVar[str] = "relativeThroughput"
    within: float

    @property
    def terms(self) -> Terms:
        """The limit in percent of the baseline."""
        return Terms(ThroughputThreshold.kind, self.within * _PERCENT, BASELINE_UNIT)


@dataclass(frozen=True, slots=True)
class RelativeCapacity(ThresholdKind):
    """The capacity is to be at most this fraction below the baseline's."""

    kind: ClassVar[str] = "relativeCapacity"
    is_on_capacity: ClassVar[bool] = True
    within: float

    @property
    def terms(self) -> Terms:
        """The limit in percent of the baseline."""
        return Terms(CapacityThreshold.kind, self.within * _PERCENT, BASELINE_UNIT)


RelativeThreshold = RelativeLatency | RelativeThroughput | RelativeCapacity
AnyThreshold = Threshold | CapacityThreshold | RelativeThreshold


@dataclass(frozen=True, slots=True)
class _Latency:
    """A limit for a percentile of a step's latency: a time, or a distance to the baseline.

    Exactly one of below and within.
    """

    rules: ClassVar[tuple[Rule, ...]] = (exactly_one(below="below_s", within="within"),)
    step: Annotated[
        str,
        Text(shortest=1, longest=50),
        "The timing, such as total, login, exec, uptime.exec of a named step, via1.login of the first jump host, or"
        " held.login of held sessions.",
    ]
    percentile: Annotated[float, Number(1, 99.999), "The percentile, such as 99 or 99.9."]
    below_s: Annotated[float | None, Duration("1ms", "1h", example="2s"), "The limit."]
    within: Annotated[
        float | None,
        Percentage(_LEAST_SHARE, "900%"),
        "By how much it may exceed that of the baseline, such as 10%.",
    ]

    def of_kind(self) -> AnyThreshold:
        """Return the threshold."""
        if self.below_s is not None:
            return LatencyThreshold(self.step, self.percentile, self.below_s)
        return RelativeLatency(self.step, self.percentile, self.within or 0.0)


@dataclass(frozen=True, slots=True)
class _ErrorRate:
    """A limit for the share of failed iterations."""

    below: Annotated[float, Percentage(_LEAST_SHARE, "100%"), "The limit, such as 1%."]

    def of_kind(self) -> AnyThreshold:
        """Return the threshold."""
        return ErrorRateThreshold(self.below)


@dataclass(frozen=True, slots=True)
class _Throughput:
    """A limit for the iterations completed per second: a rate, or a distance to the baseline. Exactly one of both."""

    rules: ClassVar[tuple[Rule, ...]] = (exactly_one(above="above", within="within"),)
    above: Annotated[_Amount, "The lower limit, in iterations per second."]
    within: Annotated[
        _Share,
        "By how much the rate may be lower than that of the baseline, such as 10%. In an open model the completed"
        " rate equals the offered rate as long as the server keeps up. Not with load.burst.",
    ]

    def of_kind(self) -> AnyThreshold:
        """Return the threshold."""
        return RelativeThroughput(self.within or 0.0) if self.above is None else ThroughputThreshold(self.above)


@dataclass(frozen=True, slots=True)
class _Capacity:
    """With load.capacity only: a limit for the capacity: an amount, or a distance to the baseline.

    Exactly one of above and within.
    """

    rules: ClassVar[tuple[Rule, ...]] = (exactly_one(above="above", within="within"),)
    above: Annotated[_Amount, "The lower limit, in the unit of the search."]
    within: Annotated[_Share, "By how much it may be lower than that of the baseline, such as 10%."]

    def of_kind(self) -> AnyThreshold:
        """Return the threshold."""
        return RelativeCapacity(self.within or 0.0) if self.above is None else CapacityThreshold(self.above)


@dataclass(frozen=True, slots=True)
class WrittenThreshold:
    """One threshold: exactly one of latency, errorRate, throughput and capacity."""

    rules: ClassVar[tuple[Rule, ...]] = (
        exactly_one(latency="latency", errorRate="error_rate", throughput="throughput", capacity="capacity"),
        Rule(
            "!self.?abortOnFail.orValue(false) || has(self.errorRate) || has(self.latency) && has(self.latency.below)",
            "is for latency.below and errorRate: only the end shows whether another threshold is broken",
            lambda one: not one.abort_on_fail or one.can_be_unrecoverable,
            at=".abortOnFail",
        ),
    )
    abort_on_fail: Annotated[
        bool,
        Default(False),
        "With latency.below or errorRate: end the load as soon as this threshold is certainly broken. The test is"
        " then Failed, with what was measured so far. The warm-up does not count. Not with"
        " load.hold and load.capacity; with a locustfile only for errorRate and the step total.",
    ]
    latency: _Latency | None
    error_rate: _ErrorRate | None
    throughput: _Throughput | None
    capacity: _Capacity | None

    @property
    def can_be_unrecoverable(self) -> bool:
        """Whether the threshold may be broken whatever the rest of the load brings."""
        return self.error_rate is not None or (self.latency is not None and self.latency.below_s is not None)

    def value(self) -> AnyThreshold:
        """Return the threshold of the kind that is set."""
        given = self.latency or self.error_rate or self.throughput or self.capacity
        if given is None:
            raise ValueError("a threshold of no kind")
        found = given.of_kind()
        if isinstance(found, LatencyThreshold | ErrorRateThreshold):
            return replace(found, abort_on_fail=self.abort_on_fail)
        return found
