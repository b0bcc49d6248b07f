"""Thresholds as a spec states them: for the run, the capacity of a search, or relative to a baseline."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, TypeAlias

from sshload_contract.declared import Default, Duration, Inline, Number, Percentage, Rule, Text, exactly_one
from sshload_contract.load import MOST
from sshload_contract.thresholds import (
    BASELINE_UNIT,
    AskedPercentile,
    CapacityThreshold,
    ErrorRateThreshold,
    LatencyThreshold,
    TargetThreshold,
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


class _Form:
    """A threshold as it is written where its value may be of one kind or another."""

    __slots__ = ()
    kind: ClassVar[str]

    def value(self) -> AnyThreshold:
        """Return the threshold."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class _Latency(_Form):
    """A limit for a percentile of a step's latency: a time, or a distance to the baseline.

    Exactly one of below and within.
    """

    kind: ClassVar[str] = LatencyThreshold.kind
    rules: ClassVar[tuple[Rule, ...]] = (exactly_one("below", "within"),)
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

    def value(self) -> AnyThreshold:
        """Return the threshold."""
        if self.below_s is not None:
            return LatencyThreshold(self.step, self.percentile, self.below_s)
        return RelativeLatency(self.step, self.percentile, self.within or 0.0)


@dataclass(frozen=True, slots=True)
class _ErrorRate(_Form):
    """A limit for the share of failed iterations."""

    kind: ClassVar[str] = ErrorRateThreshold.kind
    below: Annotated[float, Percentage(_LEAST_SHARE, "100%"), "The limit, such as 1%."]

    def value(self) -> AnyThreshold:
        """Return the threshold."""
        return ErrorRateThreshold(self.below)


@dataclass(frozen=True, slots=True)
class _Throughput(_Form):
    """A limit for the iterations completed per second: a rate, or a distance to the baseline. Exactly one of both."""

    kind: ClassVar[str] = ThroughputThreshold.kind
    rules: ClassVar[tuple[Rule, ...]] = (exactly_one("above", "within"),)
    above: Annotated[_Amount, "The lower limit, in iterations per second."]
    within: Annotated[
        _Share,
        "By how much the rate may be lower than that of the baseline, such as 10%. In an open model the completed"
        " rate equals the offered rate as long as the server keeps up. Not with load.burst.",
    ]

    def value(self) -> AnyThreshold:
        """Return the threshold."""
        return RelativeThroughput(self.within or 0.0) if self.above is None else ThroughputThreshold(self.above)


@dataclass(frozen=True, slots=True)
class _Capacity(_Form):
    """With load.capacity only: a limit for the capacity: an amount, or a distance to the baseline.

    Exactly one of above and within.
    """

    kind: ClassVar[str] = CapacityThreshold.kind
    rules: ClassVar[tuple[Rule, ...]] = (exactly_one("above", "within"),)
    above: Annotated[_Amount, "The lower limit, in the unit of the search."]
    within: Annotated[_Share, "By how much it may be lower than that of the baseline, such as 10%."]

    def value(self) -> AnyThreshold:
        """Return the threshold."""
        return RelativeCapacity(self.within or 0.0) if self.above is None else CapacityThreshold(self.above)


@dataclass(frozen=True, slots=True)
class WrittenThreshold:
    """One threshold: exactly one of latency, errorRate, throughput, capacity, targetCpu, targetMemory and sessions."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!self.?abortOnFail.orValue(false) || has(self.errorRate) || has(self.latency) && has(self.latency.below)",
            "is for latency.below and errorRate: only the end shows whether another threshold is broken",
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
    form: Annotated[_Latency | _ErrorRate | _Throughput | _Capacity | TargetThreshold, Inline()]

    @property
    def threshold(self) -> AnyThreshold:
        """The threshold of the kind that is set, without what is written beside it."""
        return self.form.value() if isinstance(self.form, _Form) else self.form

    def value(self) -> AnyThreshold:
        """Return the threshold."""
        return self.threshold.aborting() if self.abort_on_fail else self.threshold
