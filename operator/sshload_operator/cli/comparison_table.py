"""The result of a comparison as text, rendered from its status alone: one table for each variant but the first."""

from collections.abc import Iterator, Mapping

from sshload_operator.api.status.comparison import (
    ComparedFigure,
    ComparisonPhase,
    ComparisonStatus,
    Difference,
    VariantResult,
)
from sshload_operator.cli.plain_text import ABSENT, columns, milliseconds, printable
from sshload_operator.decision.comparison.figures import place

_HEAD = ("figure", "95 % interval", "difference")
_GROUPED_FROM = 100.0
_WORDS = {Difference.NONE: "no difference", Difference.UNKNOWN: ABSENT, None: ABSENT}


def comparison_text(status: ComparisonStatus) -> str:
    """Return the whole result, the verdict last. What the status does not state is shown as `-`."""
    sections = [*_tables(status), *_unmeasured(status), _verdict(status)]
    return "\n\n".join(sections) + "\n"


def comparison_progress(status: ComparisonStatus) -> str:
    """Return where a comparison stands, in one line."""
    tests = f"{status.progress} tests over, " if status.progress else ""
    said = f"{tests}{status.message}"
    phase = status.phase or ComparisonPhase.PENDING
    return printable(f"{phase}: {said}" if said else phase)


def _tables(status: ComparisonStatus) -> Iterator[str]:
    variants = () if status.results is None else status.results.variants
    for variant in variants[1:]:
        figure, interval, difference = _HEAD
        head = (figure, printable(variants[0].name), printable(variant.name), "ratio", interval, difference)
        yield columns(head, list(_rows(_by_key(variants[0]), _by_key(variant))), left=1, last_left=True)


def _by_key(variant: VariantResult) -> dict[tuple[str, str], ComparedFigure]:
    return {(one.step, one.figure): one for one in variant.figures}


def _rows(
    first: Mapping[tuple[str, str], ComparedFigure], other: Mapping[tuple[str, str], ComparedFigure]
) -> Iterator[tuple[str, ...]]:
    """Yield a row for each figure that either variant has."""
    for key in sorted({*first, *other}, key=lambda key: place(".".join(filter(None, key)))):
        theirs, ours = first.get(key), other.get(key)
        beside = (ABSENT, ABSENT, ABSENT) if ours is None else (_change(ours), _interval(ours), _difference(ours))
        yield _name(key), _value(theirs), _value(ours), *beside


def _name(key: tuple[str, str]) -> str:
    step, figure = key
    return printable(f"{step} {figure.removesuffix('Ms')} ms" if step else figure)


def _value(one: ComparedFigure | None) -> str:
    if one is None:
        return ABSENT
    if one.figure.endswith("Ms"):
        return milliseconds(one.value)
    return f"{one.value:,.0f}" if one.value >= _GROUPED_FROM else f"{one.value:.3g}"


def _change(one: ComparedFigure) -> str:
    if one.points is not None:
        return f"{one.points:+.3g} points"
    return ABSENT if one.ratio is None else f"{one.ratio:.3f}"


def _interval(one: ComparedFigure) -> str:
    if one.low is None or one.high is None:
        return ABSENT
    form = "{:.3f} to {:.3f}" if one.points is None else "{:+.3g} to {:+.3g}"
    return form.format(one.low, one.high)


def _difference(one: ComparedFigure) -> str:
    return _WORDS.get(one.difference, str(one.difference))


def _unmeasured(status: ComparisonStatus) -> Iterator[str]:
    """Yield a line for each test that gave no figures, all together."""
    lost = [test for test in status.tests if test.problem]
    if lost:
        yield "\n".join(f"{printable(test.test)} gave no figures: {printable(test.problem)}" for test in lost)


def _verdict(status: ComparisonStatus) -> str:
    if status.phase is not ComparisonPhase.FINISHED:
        return f"no verdict yet: {status.phase or ComparisonPhase.PENDING}"
    said = f"{status.verdict or ABSENT} ({status.reason or ABSENT})"
    return f"verdict    {said}\n           {printable(status.message)}"
