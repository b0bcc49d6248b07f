"""What a run has measured of one step, as a value and as a row of text in `status.results.timings`.

A step in full has a rate, extremes, and percentiles with 95 % confidence intervals: the whole iteration, a whole login,
a whole step of the scenario, and each step that a latency threshold names. The other steps are parts of a login or of a
step of the scenario: of these there are count, mean, p50, p90 and p99. What is left out is in the summary, which
resultsConfigMap has.

A row such as `600, 20/s, min 20.1, mean 24.5, p50 23.9 (23.5 to 24.2), p99 30.4, max 37.5 ms` is a sequence of phrases.
They are declared once: the API server checks a row by them, and they are how it is written and read.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import isclose
from typing import Annotated, Any, Final

from sshload_contract.declared import Absent, Items, Text
from sshload_contract.vocabulary import Timing

from sshload_operator.api.status.figures import Amount, Count, StepName
from sshload_operator.api.status.percentiles import (
    BOUNDS_PATTERN,
    FIELDS_OF_PERCENTILES,
    NUMBER,
    PERCENTILE_PATTERN,
    Percentile,
    bounds_in,
    bounds_text,
    digits,
    number,
    percentiles_in,
    without_names,
)


@dataclass(frozen=True, slots=True)
class _Phrase:
    """A figure of a row, with the words around it. `name` is the attribute of a StepResult that has it."""

    name: str
    words: str
    figure: str = NUMBER

    @property
    def pattern(self) -> str:
        return self.words.replace("{}", f"(?P<{self.name}>{self.figure})")

    def text(self, step: "StepResult") -> str:
        figure = getattr(step, self.name)
        return "" if figure is None else self.words.format(digits(figure) if self.figure is NUMBER else figure)


_STEPS: Final = tuple(step.value for step in Timing)
_LOGIN: Final = frozenset(_STEPS[_STEPS.index(Timing.CONNECT) : _STEPS.index(Timing.LOGIN) + 1])
_COUNT: Final = "[0-9]{1,18}"
_SUCCEEDED: Final = _Phrase("count", "{}", _COUNT)
_FAILED: Final = _Phrase("failures", "{} failed", _COUNT)
_RATE: Final = _Phrase("rate", "{}/s")
_BELOW: Final = (_Phrase("min_ms", "min {}"), _Phrase("mean_ms", "mean {}"))
_LONGEST: Final = _Phrase("max_ms", "max {}")
_MOVED: Final = _Phrase("bytes_per_second", "{} bytes/s")


def _optional(*phrases: _Phrase) -> str:
    return "".join(f"(?:, {one.pattern})?" for one in phrases)


_ROW: Final = (
    f"{_SUCCEEDED.pattern}{_optional(_FAILED, _RATE, *_BELOW)}(?P<percentiles>(?:, {PERCENTILE_PATTERN})*)"
    f"{_optional(_LONGEST)}(?: ms)?{_optional(_MOVED)}"
)
Row = Annotated[
    str,
    Text(2_000, pattern=without_names(_ROW)),
    "Of one step, such as 600, 20/s, min 20.1, mean 24.5, p50 23.9 (23.5 to 24.2), p99 30.4 (from 29.9), max 37.5 ms.",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """One step."""

    step: Annotated[StepName, "The step's name (connect, login, total, or uptime.exec of a named step)."]
    count: Annotated[Count, "How often it succeeded, of the iterations that were due in the measured window."]
    failures: Annotated[Count, Absent(0), "How often it failed. Absent if it never did."] = 0
    rate: Annotated[Amount | None, "How often it ended well in the measured window, per second."] = None
    bytes_per_second: Annotated[
        Amount | None,
        "What it moved in the measured window, per second, however it ended. Absent if it moves no content.",
    ] = None
    min_ms: Annotated[Amount | None, "The shortest."] = None
    mean_ms: Annotated[Amount | None, "The mean."] = None
    max_ms: Annotated[Amount | None, "The longest."] = None
    p50_ms: Annotated[Amount | None, "The median. A percentile is absent if there are too few samples for it."] = None
    p90_ms: Annotated[Amount | None, "The 90th percentile."] = None
    p95_ms: Annotated[Amount | None, "The 95th percentile."] = None
    p99_ms: Annotated[Amount | None, "The 99th percentile."] = None
    p999_ms: Annotated[Amount | None, "The 99.9th percentile."] = None
    bounds: Annotated[
        str,
        Text(400, pattern=BOUNDS_PATTERN),
        Absent(""),
        "The 95 % confidence intervals of p50Ms, p90Ms and p99Ms, and of each percentile that a threshold names, in"
        " milliseconds: p50 42.7 to 47.7, p99 from 85.5.",
    ] = ""
    intervals: Annotated[
        tuple[Percentile, ...],
        Items(most=25),
        Absent(()),
        "Percentiles without a field of their own, with their intervals.",
    ] = ()

    @property
    def percentiles(self) -> tuple[Percentile, ...]:
        """All percentiles that are stated, the smallest first."""
        listed = {one.percentile for one in self.intervals}
        bounds = bounds_in(self.bounds)
        flat = (self._flat(percentile, bounds) for percentile in FIELDS_OF_PERCENTILES if percentile not in listed)
        stated = (*self.intervals, *(one for one in flat if one is not None))
        return tuple(sorted(stated, key=lambda one: one.percentile))

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

    @property
    def row(self) -> str:
        """The step as `timings` has it."""
        failed = (_FAILED,) if self.failures else ()
        below, longest = ([one.text(self) for one in phrases] for phrases in (_BELOW, (_LONGEST,)))
        times = ", ".join(filter(None, (*below, *(one.text for one in self.percentiles), *longest)))
        counts = [one.text(self) for one in (_SUCCEEDED, *failed, _RATE)]
        return ", ".join(filter(None, (*counts, f"{times} ms" if times else "", _MOVED.text(self))))

    def _flat(self, percentile: float, bounds: Mapping[float, tuple[float | None, float | None]]) -> Percentile | None:
        ms = getattr(self, f"{FIELDS_OF_PERCENTILES[percentile]}_ms")
        low_ms, high_ms = bounds.get(percentile, (None, None))
        return None if ms is None else Percentile(percentile=percentile, ms=ms, low_ms=low_ms, high_ms=high_ms)


def with_percentiles(step: StepResult, percentiles: Iterable[Percentile]) -> StepResult:
    """Return a step that states these percentiles and no others: those with a field there, the others in a list."""
    stated = {one.percentile: one for one in percentiles}
    flat: Mapping[str, Any] = {
        f"{name}_ms": stated[one].ms if one in stated else None for one, name in FIELDS_OF_PERCENTILES.items()
    }
    return replace(
        step,
        bounds=bounds_text(stated[one] for one in FIELDS_OF_PERCENTILES if one in stated),
        intervals=tuple(one for name, one in stated.items() if name not in FIELDS_OF_PERCENTILES),
        **flat,
    )


def steps_of(rows: Mapping[str, str]) -> tuple[StepResult, ...]:
    """Return the steps that rows state, by name. What is no figure is as if absent, and so is what is no row."""
    found = ((step, re.fullmatch(_ROW, row)) for step, row in rows.items())
    return tuple(_step(step, row) for step, row in found if row is not None)


def _step(step: str, row: re.Match[str]) -> StepResult:
    figures: Mapping[str, Any] = {one.name: number(row[one.name]) for one in (_RATE, *_BELOW, _LONGEST, _MOVED)}
    counts: Mapping[str, Any] = {one.name: int(row[one.name] or 0) for one in (_SUCCEEDED, _FAILED)}
    return with_percentiles(StepResult(step=step, **counts, **figures), percentiles_in(row["percentiles"]))


def rank_of(step: str) -> tuple[int, int]:
    """Return when a step happens within an iteration, to sort by: its group of at least 1, and its rank in that.

    It does not follow from the order in which a status has them, because the API server sorts a map by its keys.
    """
    owner, _, name = step.rpartition(".")
    rank = _STEPS.index(name) if name in _STEPS else len(_STEPS)
    if owner:
        return (2 if owner.startswith("via") else 4), rank
    return (1 if name == Timing.START_DELAY else 3 if name in _LOGIN else 5 if name == Timing.TOTAL else 4), rank


def in_order(steps: Iterable[StepResult]) -> tuple[StepResult, ...]:
    """Return steps as they happen: those of one named step of the scenario together, in the order of these."""
    given = tuple(steps)
    owners = list(dict.fromkeys(step.step.rpartition(".")[0] for step in given))

    def key(step: StepResult) -> tuple[int, int, int]:
        group, rank = rank_of(step.step)
        return group, owners.index(step.step.rpartition(".")[0]), rank

    return tuple(sorted(given, key=key))
