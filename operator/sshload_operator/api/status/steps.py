"""`status.results.steps` and `status.results.parts` of a test: what a run has measured of its steps.

A step in full has a rate, extremes, and percentiles with 95 % confidence intervals: the whole iteration, a whole login,
a whole step of the scenario, and each step that a latency threshold names. The other steps are parts of a login or of a
step of the scenario. There are many of them, so that each is one line of text: count, mean, p50, p90 and p99. What is
left out is in the summary, which resultsConfigMap has.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isclose, isfinite
from typing import Annotated, Final

from sshload_contract.declared import Absent, Items, Text

from sshload_operator.api.status.figures import Amount, Count, Percent, StepName


def percentile_name(percentile: float) -> str:
    """Return what the name of a percentile's field or column begins with: p99, or p999 for 99.9."""
    return f"p{percentile:g}".replace(".", "")


FIELDS_OF_PERCENTILES: Final = {one: percentile_name(one) for one in (50.0, 90.0, 95.0, 99.0, 99.9)}
"""The percentiles that have fields of their own, and with what these begin."""

TELLING_PERCENTILES: Final = (50.0, 90.0, 99.0)
"""What is stated of a part, and has an interval in a step in full whether or not a threshold names it."""

_NUMBER: Final = "[0-9]{1,15}(?:[.][0-9]{1,15})?(?:e[+][0-9]{1,3})?"
_COUNT: Final = "[0-9]{1,18}"
_BOUNDS: Final = f"p(?:50|90|95|99|99[.]9) (?:from {_NUMBER}|to {_NUMBER}|{_NUMBER} to {_NUMBER})"
_TIMES: Final = "".join(f"(?:, {name} {_NUMBER})?" for name in ("mean", *map("p{:g}".format, TELLING_PERCENTILES)))
_PART: Final = f"{_COUNT}(?:, {_COUNT} failed)?{_TIMES}(?: ms)?(?:, {_NUMBER} bytes/s)?"
PartRow = Annotated[str, Text(300, pattern=_PART), "Of one part, such as 600, mean 4.5, p50 4.3, p90 5.4, p99 7 ms."]


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
    rate: Annotated[Amount | None, "How often it succeeded inside the measured window, per second."] = None
    bytes_per_second: Annotated[
        Amount | None,
        "What the step moved inside the measured window, per second. Absent for a step that moves no content.",
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
        Text(400, pattern=f"{_BOUNDS}(?:, {_BOUNDS}){{0,4}}"),
        Absent(""),
        "The 95 % confidence intervals of p50Ms, p90Ms and p99Ms, and of each percentile that a threshold names, in"
        " milliseconds: p50 42.7 to 47.7, p99 from 85.5. They are wider where latencies that follow each other are"
        " alike. An end, or an interval, is absent where there are too few samples for it.",
    ] = ""
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

    @property
    def is_part(self) -> bool:
        """Whether it is a part of a login or of a step of the scenario that no latency threshold names."""
        return self.rate is None

    @property
    def row(self) -> str:
        """The step as `parts` has it."""
        words = [f"{self.count}", *([f"{self.failures} failed"] if self.failures else [])]
        times = [("mean", self.mean_ms), *((f"p{one:g}", self.percentile_ms(one)) for one in TELLING_PERCENTILES)]
        said = [f"{name} {_digits(ms)}" for name, ms in times if ms is not None]
        moved = [] if self.bytes_per_second is None else [f"{_digits(self.bytes_per_second)} bytes/s"]
        return ", ".join([*words, *said]) + (" ms" if said else "") + "".join(f", {one}" for one in moved)

    def _flat(self, percentile: float) -> Percentile | None:
        ms = getattr(self, f"{FIELDS_OF_PERCENTILES[percentile]}_ms")
        low_ms, high_ms = _bounds_in(self.bounds).get(percentile, (None, None))
        return None if ms is None else Percentile(percentile=percentile, ms=ms, low_ms=low_ms, high_ms=high_ms)


def part_of(step: str, row: str) -> StepResult:
    """Return the part that a row of `parts` states. What is no figure is as if absent."""
    count, *words = row.replace(" ms", "").split(", ")
    found = dict(_named(*word.split(" ")) for word in words)
    return StepResult(
        step=step,
        count=int(count),
        failures=int(found.get("failed", "0")),
        bytes_per_second=_finite(found.get("bytes/s")),
        mean_ms=_finite(found.get("mean")),
        p50_ms=_finite(found.get("p50")),
        p90_ms=_finite(found.get("p90")),
        p99_ms=_finite(found.get("p99")),
    )


def _named(first: str, last: str) -> tuple[str, str]:
    """Return the name and the figure of a word of a row."""
    return (last, first) if last in {"failed", "bytes/s"} else (first, last)


def bounds_text(percentiles: Iterable[Percentile]) -> str:
    """Return the intervals of percentiles as `bounds` has them, without those that have no end."""
    return ", ".join(f"p{one.percentile:g} {_interval(one)}" for one in percentiles if _interval(one))


def _interval(one: Percentile) -> str:
    if one.low_ms is None:
        return "" if one.high_ms is None else f"to {_digits(one.high_ms)}"
    return f"from {_digits(one.low_ms)}" if one.high_ms is None else f"{_digits(one.low_ms)} to {_digits(one.high_ms)}"


def _bounds_in(text: str) -> dict[float, tuple[float | None, float | None]]:
    return {float(name[1:]): _ends(words) for name, *words in map(str.split, filter(None, text.split(", ")))}


def _ends(words: list[str]) -> tuple[float | None, float | None]:
    match words:
        case ["from", low]:
            return _finite(low), None
        case ["to", high]:
            return None, _finite(high)
        case [low, _, high]:
            return _finite(low), _finite(high)
    return None, None


def _finite(figure: str | None) -> float | None:
    return None if figure is None or not isfinite(found := float(figure)) else found


def _digits(figure: float) -> str:
    return f"{figure:.15g}"
