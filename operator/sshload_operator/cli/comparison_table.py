"""The result of a comparison as text, rendered from its status alone: one table for each variant but the first."""

from collections.abc import Iterator, Mapping

from sshload_operator.cli.plain_text import Status, columns, milliseconds, printable
from sshload_operator.decision.comparison.figures import place
from sshload_operator.decision.comparison.words import ComparisonPhase, Difference

_ABSENT = "-"
_NO_DIFFERENCE = "no difference"
_HEAD = ("figure", "95 % interval", "difference")
_GROUPED_FROM = 100.0


def comparison_text(status: Status) -> str:
    """Return the whole result, the verdict last. What the status does not state is shown as `-`."""
    sections = [*_tables(status), *_unmeasured(status), _verdict(status)]
    return "\n\n".join(sections) + "\n"


def progress_status(status: Status) -> Status:
    """Return what the progress line shows of a comparison that is under way."""
    phase, message = status.get("phase", ComparisonPhase.PENDING), status.get("message", "")
    tests = f"{status['progress']} tests over, " if "progress" in status else ""
    return {"phase": phase, "message": f"{tests}{message}"}


def _tables(status: Status) -> Iterator[str]:
    variants = status.get("results", {}).get("variants", ())
    for variant in variants[1:]:
        figure, interval, difference = _HEAD
        head = (figure, printable(variants[0]["name"]), printable(variant["name"]), "ratio", interval, difference)
        yield columns(head, list(_rows(_by_key(variants[0]), _by_key(variant))), left=1, last_left=True)


def _by_key(variant: Status) -> dict[tuple[str, str], Status]:
    return {(one.get("step", ""), one["figure"]): one for one in variant["figures"]}


def _rows(
    first: Mapping[tuple[str, str], Status], other: Mapping[tuple[str, str], Status]
) -> Iterator[tuple[str, ...]]:
    """Yield a row for each figure that either variant has."""
    for key in sorted({*first, *other}, key=lambda key: place(".".join(filter(None, key)))):
        theirs, ours = first.get(key), other.get(key)
        beside = ours or {}
        yield _name(key), _value(theirs), _value(ours), _change(beside), _interval(beside), _difference(beside)


def _name(key: tuple[str, str]) -> str:
    step, figure = key
    return printable(f"{step} {figure.removesuffix('Ms')} ms" if step else figure)


def _value(one: Status | None) -> str:
    if one is None:
        return _ABSENT
    value = one["value"]
    if one["figure"].endswith("Ms"):
        return milliseconds(value)
    return f"{value:,.0f}" if value >= _GROUPED_FROM else f"{value:.3g}"


def _change(one: Status) -> str:
    if "points" in one:
        return f"{one['points']:+.3g} points"
    return f"{one['ratio']:.3f}" if "ratio" in one else _ABSENT


def _interval(one: Status) -> str:
    if "low" not in one or "high" not in one:
        return _ABSENT
    form = "{:+.3g} to {:+.3g}" if "points" in one else "{:.3f} to {:.3f}"
    return form.format(one["low"], one["high"])


def _difference(one: Status) -> str:
    word: str = one.get("difference", Difference.UNKNOWN)
    return {str(Difference.NONE): _NO_DIFFERENCE, str(Difference.UNKNOWN): _ABSENT}.get(word, word)


def _unmeasured(status: Status) -> Iterator[str]:
    """Yield a line for each test that gave no figures, all together."""
    lost = [test for test in status.get("tests", ()) if "problem" in test]
    if lost:
        yield "\n".join(f"{printable(test['test'])} gave no figures: {printable(test['problem'])}" for test in lost)


def _verdict(status: Status) -> str:
    if status.get("phase") != ComparisonPhase.FINISHED:
        return f"no verdict yet: {status.get('phase', ComparisonPhase.PENDING)}"
    verdict, reason = status.get("verdict", _ABSENT), status.get("reason", _ABSENT)
    return f"verdict    {verdict} ({reason})\n           {printable(status.get('message', ''))}"
