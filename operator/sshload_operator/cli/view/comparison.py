"""The result of a comparison as a page, from its status alone: a table for each variant but the first, or a curve."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from sshload_contract.vocabulary import Timing

from sshload_operator.api.inert_text import printable
from sshload_operator.api.status.compared import milliseconds_text, place
from sshload_operator.api.status.comparison import (
    ComparedFigure,
    ComparisonPhase,
    ComparisonResults,
    ComparisonStatus,
    ComparisonVerdict,
    Difference,
    VariantResult,
    negotiated_in,
)
from sshload_operator.api.status.measured import CAPACITY, COMPLETED_RATE, ERROR_PERCENT
from sshload_operator.cli.view.measured import agreement_text
from sshload_operator.cli.view.page import Facts, Grid, Page
from sshload_operator.cli.view.text import ABSENT, bar, milliseconds, size_text
from sshload_operator.report.comparison import values_of

_GROUPED_FROM: Final = 100.0
_BAR: Final = 6
_CAPACITY: Final = ("", CAPACITY)
_MEDIAN: Final = ("total", "p50Ms")
_OF_CURVE: Final = (("", COMPLETED_RATE), ("", ERROR_PERCENT), _MEDIAN, ("total", "p99Ms"))
_TOLD_IN_MS: Final = (Timing.LOGIN, Timing.TOTAL)
_CURVE_HEAD: Final = ("completed/s", "errors %", "p50 ms", "p99 ms")
_WORDS: Final = {Difference.NONE: "no difference", Difference.UNKNOWN: ABSENT, None: ABSENT}


def comparison_page(name: str, status: ComparisonStatus, *, verbose: bool = False) -> Page:
    """Return the whole result. What the status does not state is shown as `-`.

    Without `verbose`, figures that are the same in all variants are counted and not listed.
    """
    if status.phase is not ComparisonPhase.FINISHED:
        return Page(name, "No verdict yet", status.phase or ComparisonPhase.PENDING, None)
    return Page(
        name=name,
        verdict=f"{status.verdict or ABSENT} ({status.reason or ABSENT})",
        sentence=status.message,
        passed=True if status.verdict is ComparisonVerdict.CONCLUSIVE else None,
        parts=(*_parts(status, verbose=verbose), *_logins(status, verbose=verbose), *_unmeasured(status)),
    )


def comparison_rows(status: ComparisonStatus) -> Iterator[Mapping[str, object]]:
    """Yield each figure of each variant, for a spreadsheet."""
    for variant in () if status.results is None else status.results.variants:
        for one in variant.figures:
            yield {
                "variant": variant.name,
                "sweptValue": variant.value,
                "step": one.step,
                "figure": one.figure,
                **values_of(one),
            }


def comparison_progress(status: ComparisonStatus) -> str:
    """Return the progress of a comparison in one line."""
    tests = f"{status.progress} tests over, " if status.progress else ""
    said = f"{tests}{status.message}"
    phase = status.phase or ComparisonPhase.PENDING
    return printable(f"{phase}: {said}" if said else phase)


def _parts(status: ComparisonStatus, *, verbose: bool) -> Iterator[Grid]:
    """Yield the curve of a sweep, and the tables of the variants; a sweep has tables only with `verbose`."""
    results = status.results
    if results is not None and results.swept:
        yield _curve(results)
    if results is None or not results.swept or verbose:
        yield from _tables(status, verbose=verbose)


def _curve(results: ComparisonResults) -> Grid:
    """Return a row for each value of the swept field, with a bar as long as the median is high."""
    is_search = any(_figure_of(one, _CAPACITY) for one in results.variants)
    told, main = ((_CAPACITY,), _CAPACITY) if is_search else (_OF_CURVE, _MEDIAN)
    medians = [_figure_of(one, main) for one in results.variants]
    most = max((one.value for one in medians if one is not None), default=0.0)
    rows = tuple(
        (
            variant.value,
            *(_value(_figure_of(variant, key)) for key in told),
            *((ABSENT, ABSENT) if median is None else (_change(median), _interval(median))),
            "" if median is None else bar(median.value, most, _BAR),
        )
        for variant, median in zip(results.variants, medians, strict=True)
    )
    names = ("capacity",) if is_search else _CURVE_HEAD
    head = (results.swept.rpartition(".")[2], *names, "ratio" if is_search else "p50 ratio", "95 % interval", "")
    return Grid(head, rows, left=1, last_left=True, note="-v shows all figures of each value")


def _figure_of(variant: VariantResult, key: tuple[str, str]) -> ComparedFigure | None:
    return _by_key(variant).get(key)


def _tables(status: ComparisonStatus, *, verbose: bool) -> Iterator[Grid]:
    results = ComparisonResults(()) if status.results is None else status.results
    for variant in results.variants[1:]:
        reference = results.reference_of(variant)
        first, other = (one.value or one.name for one in (reference, variant))
        head = ("figure", first, other, "ratio", "95 % interval", "difference")
        keyed = dict(_rows(_by_key(reference), _by_key(variant)))
        shown = {name: row for name, row in keyed.items() if verbose or row[-1] != _WORDS[Difference.NONE]} or keyed
        left_out = len(keyed) - len(shown)
        note = f"-v shows the {left_out} figures without a difference" if left_out else ""
        yield Grid(head, tuple((name, *row) for name, row in shown.items()), left=1, last_left=True, note=note)
        yield from _added(f"{other} over {first}", _by_key(variant), verbose=verbose)


def _added(title: str, figures: Mapping[tuple[str, str], ComparedFigure], *, verbose: bool) -> Iterator[Grid]:
    """Yield what the variant adds to each latency; without `verbose`, to the login and the whole iteration only."""
    rows = tuple(
        (_name(key), milliseconds_text(one.difference_ms), _bounds(one.low_ms, one.high_ms, milliseconds_text))
        for key, one in sorted(figures.items(), key=lambda item: _place(item[0]))
        if one.difference_ms is not None and (verbose or one.step in _TOLD_IN_MS)
    )
    if rows:
        yield Grid((title, "ms", "95 % interval"), rows)


def _by_key(variant: VariantResult) -> dict[tuple[str, str], ComparedFigure]:
    return {(one.step, one.figure): one for one in variant.figures}


def _rows(
    first: Mapping[tuple[str, str], ComparedFigure], other: Mapping[tuple[str, str], ComparedFigure]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield a row for each figure that either variant has, after the figure's name."""
    for key in sorted({*first, *other}, key=_place):
        theirs, ours = first.get(key), other.get(key)
        beside = (ABSENT, ABSENT, ABSENT) if ours is None else (_change(ours), _interval(ours), _difference(ours))
        yield _name(key), (_value(theirs), _value(ours), *beside)


def _place(key: tuple[str, str]) -> tuple[int, str, int, str]:
    return place(".".join(filter(None, key)))


def _name(key: tuple[str, str]) -> str:
    step, figure = key
    return f"{step} {figure.removesuffix('Ms')} ms" if step else figure.removesuffix("Bytes")


def _value(one: ComparedFigure | None) -> str:
    if one is None:
        return ABSENT
    if one.figure.endswith("Ms"):
        return milliseconds(one.value)
    if one.figure.endswith("Bytes"):
        return size_text(one.value)
    return f"{one.value:,.0f}" if one.value >= _GROUPED_FROM else f"{one.value:.3g}"


def _change(one: ComparedFigure) -> str:
    if one.points is not None:
        return f"{one.points:+.3g} points"
    return ABSENT if one.ratio is None else f"{one.ratio:.3f}"


def _interval(one: ComparedFigure) -> str:
    return _bounds(one.low, one.high, ("{:.3f}" if one.points is None else "{:+.3g}").format)


def _bounds(low: float | None, high: float | None, said: Callable[[float], str]) -> str:
    return ABSENT if low is None or high is None else f"{said(low)} to {said(high)}"


def _difference(one: ComparedFigure) -> str:
    return _WORDS.get(one.difference, str(one.difference))


def _logins(status: ComparisonStatus, *, verbose: bool) -> Iterator[Facts]:
    """Yield what the logins of each variant agreed on; without `verbose`, only where that was not the same in all."""
    variants = () if status.results is None else status.results.variants
    of_each = [(one.value or one.name, negotiated_in(status.tests, one.name)) for one in variants]
    different = {replace(one, count=1) for _, agreed in of_each for one in agreed}
    if different and (verbose or len(different) > 1):
        yield Facts(tuple((name, agreement_text(one)) for name, agreed in of_each for one in agreed))


def _unmeasured(status: ComparisonStatus) -> Iterator[Facts]:
    """Yield each test that gave no figures, all together."""
    lost = tuple(("no figures", f"{test.test}: {test.problem}") for test in status.tests if test.problem)
    if lost:
        yield Facts(lost)
