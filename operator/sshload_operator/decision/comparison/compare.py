"""The figures of each variant compared with those of its reference: the first variant, unless it names another.

Rounds are paired blocks: a drift over an hour affects both tests of a round alike, and cancels out in their ratio. So a
ratio is the geometric mean of the rounds' ratios, and its interval is over the rounds. The error rate may be 0 and then
has no ratio, so it is compared by the difference in percentage points. A latency also has its difference in
milliseconds.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, log1p
from statistics import median

from sshload_operator.api.comparison.spec import ComparisonSpec, Variant
from sshload_operator.api.status.compared import Figures, is_latency, most_telling, place, split
from sshload_operator.api.status.comparison import (
    MOST_FIGURES,
    ComparedFigure,
    ComparisonResults,
    Difference,
    TestRun,
    VariantResult,
)
from sshload_operator.api.status.figures import rounded
from sshload_operator.api.status.measured import ERROR_PERCENT
from sshload_operator.decision.comparison.interval import Interval, interval
from sshload_operator.decision.comparison.milliseconds import RESOLUTION, Milliseconds, milliseconds_more

_LARGEST_LOGARITHM = log(sys.float_info.max) - 1
# A smaller difference is below the precision of the measurement.
_RESOLUTION = log1p(RESOLUTION)


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure of one variant. `value` is the median over the variant's tests that have the figure.

    The rest is beside the reference, over the `rounds` in which both have the figure: `mean`, `low` and `high` are
    ratios, or percentage points where `in_points`; None if they cannot be stated. `in_ms` is the same difference in
    milliseconds; None if the figure is no latency.
    """

    key: str
    value: float
    rounds: int
    in_points: bool
    mean: float | None
    low: float | None
    high: float | None
    difference: Difference
    in_ms: Milliseconds | None = None


Results = Mapping[str, Sequence[Compared]]


def keys(runs: Iterable[TestRun]) -> tuple[str, ...]:
    """Return the keys of all figures: those of whole tests first, then those of steps in the order of their steps."""
    return tuple(sorted({key for run in runs for key in run.figures}, key=place))


def compare(runs: Iterable[TestRun], reference: str, variant: str, seed: int) -> tuple[Compared, ...]:
    """Return the variant's figures compared with those of the variant `reference`, which may be the same."""
    ours: dict[int, Figures] = {}
    theirs: dict[int, Figures] = {}
    measured = tuple(runs)
    for run in measured:
        if run.variant == variant:
            ours[run.round] = run.figures
        if run.variant == reference:
            theirs[run.round] = run.figures
    return tuple(_compared(key, ours, theirs, seed, is_first=reference == variant) for key in _known(measured, ours))


def _known(runs: Iterable[TestRun], ours: Mapping[int, Figures]) -> Iterator[str]:
    """Yield the variant's figures. Different rounds may lack different figures, so there may be too many."""
    known = most_telling({key for figures in ours.values() for key in figures}, MOST_FIGURES)
    return (key for key in keys(runs) if key in known)


def _compared(
    key: str, ours: Mapping[int, Figures], theirs: Mapping[int, Figures], seed: int, *, is_first: bool
) -> Compared:
    value = median(figures[key] for figures in ours.values() if key in figures)
    both = [number for number in ours if key in ours[number] and key in theirs.get(number, {})]
    pairs = [(ours[number][key], theirs[number][key]) for number in sorted(both)]
    in_points = split(key)[1] == ERROR_PERCENT
    if is_first:
        return Compared(key, value, len(pairs), in_points, None, None, None, Difference.UNKNOWN)
    in_ms = milliseconds_more(pairs, seed) if is_latency(key) else None
    differences = _differences(pairs, in_points=in_points)
    if not differences:
        return Compared(key, value, len(pairs), in_points, None, None, None, Difference.UNKNOWN, in_ms)
    found = interval(differences, seed)
    mean = sum(differences) / len(differences)
    if found is None:
        stated = mean if in_points else _ratio(mean)
        return Compared(key, value, len(pairs), in_points, stated, None, None, Difference.UNKNOWN, in_ms)
    if in_points:
        return Compared(key, value, len(pairs), in_points, mean, found.low, found.high, _difference(key, found))
    wide = Interval(mean, min(found.low, mean - _RESOLUTION), max(found.high, mean + _RESOLUTION))
    bounds = _ratio(mean), _ratio(wide.low), _ratio(wide.high)
    return Compared(key, value, len(pairs), in_points, *bounds, _difference(key, wide), in_ms)


def _ratio(logarithm: float) -> float:
    """Return the ratio of this logarithm. Anyone who writes a status can state figures whose ratio is too large."""
    return exp(min(logarithm, _LARGEST_LOGARITHM))


def _differences(pairs: Iterable[tuple[float, float]], *, in_points: bool) -> list[float]:
    """Return the rounds' differences, for a ratio those of logarithms; none at all if a value has no logarithm."""
    taken = list(pairs)
    if in_points:
        return [our - their for our, their in taken]
    if any(value <= 0 for pair in taken for value in pair):
        return []
    return [log(our) - log(their) for our, their in taken]


def _difference(key: str, found: Interval) -> Difference:
    if found.low <= 0 <= found.high:
        return Difference.NONE
    if found.low > 0:
        return Difference.SLOWER if is_latency(key) else Difference.HIGHER
    return Difference.FASTER if is_latency(key) else Difference.LOWER


def results_status(spec: ComparisonSpec, results: Results, tests: Sequence[TestRun]) -> ComparisonResults:
    """Return `status.results`: for each variant, in order, the verdicts of its tests and its figures."""
    return ComparisonResults(
        tuple(
            _variant_result(
                variant, results[variant.name], [run for run in tests if run.variant == variant.name], index
            )
            for index, variant in enumerate(spec.variants)
        ),
        spec.swept,
    )


def _variant_result(variant: Variant, found: Sequence[Compared], tests: Sequence[TestRun], index: int) -> VariantResult:
    return VariantResult(
        name=variant.name,
        value=variant.value,
        reference=variant.reference,
        tests=len(tests),
        measured=sum(not run.problem for run in tests),
        verdicts=dict(sorted(Counter(str(run.verdict) for run in tests).items())),
        figures=tuple(_figure(one, is_first=index == 0) for one in found),
    )


def _figure(one: Compared, *, is_first: bool) -> ComparedFigure:
    step, figure = split(one.key)
    if is_first:
        return ComparedFigure(figure=figure, step=step, value=_rounded(one.value), rounds=one.rounds)
    mean = None if one.mean is None else _rounded(one.mean)
    return ComparedFigure(
        figure=figure,
        step=step,
        value=_rounded(one.value),
        rounds=one.rounds,
        ratio=None if one.in_points else mean,
        points=mean if one.in_points else None,
        low=None if one.low is None else _rounded(one.low),
        high=None if one.high is None else _rounded(one.high),
        difference=one.difference,
        **_milliseconds(one.in_ms),
    )


def _milliseconds(found: Milliseconds | None) -> Mapping[str, float | None]:
    """Return the fields of a status that state a difference in milliseconds, to the microsecond."""
    if found is None:
        return {}
    stated = {"difference_ms": found.mean, "low_ms": found.low, "high_ms": found.high}
    return {name: None if value is None else rounded(value) for name, value in stated.items()}


def _rounded(value: float) -> float:
    """Return a figure rounded to six digits, more than its measurement has."""
    return float(f"{value:.6g}")
