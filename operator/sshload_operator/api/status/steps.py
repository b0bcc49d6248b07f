"""`status.results.steps` of a test: what a run has measured of one step.

A step in full has a rate, extremes, and percentiles with 95 % confidence intervals: the whole iteration, a whole login,
a whole step of the scenario, and each step that a latency threshold names. The other steps are parts of a login or of a
step of the scenario: of a part there are the mean, p50, p90 and p99 alone. What is left out is in the summary, which
resultsConfigMap has.
"""

from dataclasses import dataclass
from math import isclose
from typing import Annotated, Final

from sshload_contract.declared import Absent, Items

from sshload_operator.api.status.figures import Amount, Count, Percent, StepName

FIELDS_OF_PERCENTILES: Final = {50.0: "p50", 90.0: "p90", 95.0: "p95", 99.0: "p99", 99.9: "p999"}
"""The percentiles that have fields of their own, and with what these begin."""

TELLING_PERCENTILES: Final = (50.0, 90.0, 99.0)
"""What is stated of a part, and has an interval in a step in full whether or not a threshold names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentile:
    """One percentile."""

    percentile: Annotated[Percent, "Which one, such as 99."]
    ms: Annotated[Amount, "Its value."]
    low_ms: Annotated[Amount | None, "The lower bound of its interval."] = None
    high_ms: Annotated[Amount | None, "The upper bound of its interval."] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """One step."""

    step: Annotated[StepName, "The step's name (connect, login, total, or uptime.exec of a named step)."]
    count: Annotated[Count, "How often it succeeded."]
    failures: Annotated[Count, Absent(0), "How often it failed. Absent if it never did."] = 0
    rate: Annotated[
        Amount | None,
        "How often it succeeded inside the measured window, per second. A part of a login or of a step of the scenario"
        " that no latency threshold names has no rate, minMs, maxMs, p95Ms and p999Ms, and no intervals: the summary in"
        " resultsConfigMap has them.",
    ] = None
    bytes_per_second: Annotated[
        Amount | None,
        "What the step moved inside the measured window, per second. Absent for a step that moves no content.",
    ] = None
    min_ms: Annotated[Amount | None, "The shortest."] = None
    mean_ms: Annotated[Amount | None, "The mean."] = None
    max_ms: Annotated[Amount | None, "The longest."] = None
    p50_ms: Annotated[Amount | None, "The median. A percentile is absent if there are too few samples for it."] = None
    p50_low_ms: Annotated[
        Amount | None,
        "The lower bound of its 95 % confidence interval, wider where latencies that follow each other are alike. A"
        " bound is absent where there are too few samples for it, and of p95Ms and p999Ms where no threshold names"
        " them.",
    ] = None
    p50_high_ms: Annotated[Amount | None, "The upper bound."] = None
    p90_ms: Annotated[Amount | None, "The 90th percentile."] = None
    p90_low_ms: Annotated[Amount | None, "The lower bound of its interval."] = None
    p90_high_ms: Annotated[Amount | None, "The upper bound."] = None
    p95_ms: Annotated[Amount | None, "The 95th percentile."] = None
    p95_low_ms: Annotated[Amount | None, "The lower bound of its interval."] = None
    p95_high_ms: Annotated[Amount | None, "The upper bound."] = None
    p99_ms: Annotated[Amount | None, "The 99th percentile."] = None
    p99_low_ms: Annotated[Amount | None, "The lower bound of its interval."] = None
    p99_high_ms: Annotated[Amount | None, "The upper bound."] = None
    p999_ms: Annotated[Amount | None, "The 99.9th percentile."] = None
    p999_low_ms: Annotated[Amount | None, "The lower bound of its interval."] = None
    p999_high_ms: Annotated[Amount | None, "The upper bound."] = None
    intervals: Annotated[
        tuple[Percentile, ...],
        Items(most=25),
        Absent(()),
        "Other percentiles that a threshold names, with their intervals. A test that an earlier operator ran has all"
        " its percentiles here.",
    ] = ()

    @property
    def percentiles(self) -> tuple[Percentile, ...]:
        """All percentiles that are stated, the smallest first."""
        listed = {one.percentile for one in self.intervals}
        flat = (self._flat(percentile) for percentile in FIELDS_OF_PERCENTILES if percentile not in listed)
        stated = (*self.intervals, *(one for one in flat if one is not None))
        return tuple(sorted(stated, key=lambda one: one.percentile))

    def percentile(self, percentile: float) -> Percentile | None:
        """Return a percentile, None where it is not stated."""
        return next((one for one in self.percentiles if isclose(one.percentile, percentile)), None)

    def percentile_ms(self, percentile: float) -> float | None:
        """Return the value of a percentile, None where it is not stated."""
        found = self.percentile(percentile)
        return None if found is None else found.ms

    def _flat(self, percentile: float) -> Percentile | None:
        field = FIELDS_OF_PERCENTILES[percentile]
        ms = getattr(self, f"{field}_ms")
        low_ms, high_ms = getattr(self, f"{field}_low_ms"), getattr(self, f"{field}_high_ms")
        return None if ms is None else Percentile(percentile=percentile, ms=ms, low_ms=low_ms, high_ms=high_ms)
