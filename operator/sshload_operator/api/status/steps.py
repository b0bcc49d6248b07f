"""What a run has measured of one step, as numbers.

A step in full has a rate, extremes, and percentiles with 95 % confidence intervals: the whole iteration, a whole login,
a whole step of the scenario, and each step that a latency threshold names. The other steps are parts of a login or of a
step of the scenario: of these there are count, mean, p50, p90 and p99. What is left out is in the summary, which
resultsConfigMap has.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import isclose
from typing import Annotated, Any, Final

from sshload_contract.declared import Absent, Items
from sshload_contract.steps import TIMINGS
from sshload_contract.vocabulary import Timing, owner_and_timing

from sshload_operator.api.status.figures import Amount, Count, Measured, StepName
from sshload_operator.api.status.percentiles import FIELDS_OF_PERCENTILES, Percentile

_LOGIN: Final = frozenset(TIMINGS[TIMINGS.index(Timing.CONNECT) : TIMINGS.index(Timing.LOGIN) + 1])


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """One step."""

    step: Annotated[StepName, "The step's name (connect, login, total, or uptime.exec of a named step)."]
    count: Annotated[Count, "How often it succeeded, of the iterations that were due in the measured window."]
    failures: Annotated[Count, Absent(0), "How often it failed. Absent if it never did."] = 0
    rate: Annotated[
        Amount | None, Measured("/s", compared=False), "How often it ended well in the measured window, per second."
    ] = None
    min_ms: Annotated[Amount | None, Measured("ms", compared=False), "The shortest."] = None
    mean_ms: Annotated[Amount | None, Measured("ms"), "The mean."] = None
    p50_ms: Annotated[
        Amount | None, Measured("ms"), "The median. A percentile is absent if there are too few samples for it."
    ] = None
    p90_ms: Annotated[Amount | None, Measured("ms"), "The 90th percentile."] = None
    p95_ms: Annotated[Amount | None, Measured("ms", compared=False), "The 95th percentile."] = None
    p99_ms: Annotated[Amount | None, Measured("ms"), "The 99th percentile."] = None
    p999_ms: Annotated[Amount | None, Measured("ms", compared=False), "The 99.9th percentile."] = None
    max_ms: Annotated[Amount | None, Measured("ms", compared=False), "The longest."] = None
    bytes_per_second: Annotated[
        Amount | None,
        Measured("bytes/s", compared=False),
        "What it moved in the measured window, per second, however it ended. Absent if it moves no content.",
    ] = None
    intervals: Annotated[
        tuple[Percentile, ...],
        Items(most=25),
        Absent(()),
        "The 95 % confidence intervals of p50, p90 and p99, and of each percentile that a threshold names. They are"
        " wider where successive latencies are correlated. A percentile without a field of its own has its value here.",
    ] = ()

    @property
    def percentiles(self) -> tuple[Percentile, ...]:
        """All percentiles that are stated, the smallest first."""
        listed = {one.percentile for one in self.intervals}
        values = ((one, getattr(self, f"{name}_ms")) for one, name in FIELDS_OF_PERCENTILES.items())
        flat = (Percentile(percentile=one, ms=ms) for one, ms in values if ms is not None and one not in listed)
        return tuple(sorted((*self.intervals, *flat), key=lambda one: one.percentile))

    def percentile(self, percentile: float) -> Percentile | None:
        """Return a percentile, None if it is not stated."""
        return next((one for one in self.percentiles if isclose(one.percentile, percentile)), None)

    def percentile_ms(self, percentile: float) -> float | None:
        """Return the value of a percentile, None if it is not stated."""
        found = self.percentile(percentile)
        return None if found is None else found.ms

    @property
    def is_part(self) -> bool:
        """Whether it is a part of a login or of a step of the scenario that no latency threshold names."""
        return self.rate is None


def with_percentiles(step: StepResult, percentiles: Iterable[Percentile]) -> StepResult:
    """Return a step that states these percentiles and no others."""
    stated = {one.percentile: one for one in percentiles}
    flat: Mapping[str, Any] = {
        f"{name}_ms": stated[one].ms if one in stated else None for one, name in FIELDS_OF_PERCENTILES.items()
    }
    listed = (one for one in stated.values() if one.is_bounded or one.percentile not in FIELDS_OF_PERCENTILES)
    return replace(step, intervals=tuple(listed), **flat)


def rank_of(step: str) -> tuple[int, int]:
    """Return when a step happens within an iteration, to sort by: its group of at least 1, and its rank in that."""
    owner, name = owner_and_timing(step)
    rank = TIMINGS.index(name) if name in TIMINGS else len(TIMINGS)
    if owner:
        return (2 if owner.startswith("via") else 4), rank
    return (1 if name == Timing.START_DELAY else 3 if name in _LOGIN else 5 if name == Timing.TOTAL else 4), rank


def in_order(steps: Iterable[StepResult]) -> tuple[StepResult, ...]:
    """Return steps as they happen: those of one named step of the scenario together, in the order of these."""
    given = tuple(steps)
    owners = list(dict.fromkeys(owner_and_timing(step.step)[0] for step in given))

    def key(step: StepResult) -> tuple[int, int, int]:
        group, rank = rank_of(step.step)
        return group, owners.index(owner_and_timing(step.step)[0]), rank

    return tuple(sorted(given, key=key))
