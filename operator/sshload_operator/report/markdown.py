"""The report as Markdown, for a ticket or a pull request: what fits into tables."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.capacity import CapacityStatus
from sshload_operator.api.status.head import written
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.results import Results

_OF_STATUS: Final = ("results", "thresholds", "capacity")
_SIGNS: Final = {True: "met", False: "broken", None: "cannot be said"}
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~!&])")
_STEP_HEAD: Final = ("step", "count", "failures", "p50 ms", "p90 ms", "p99 ms", "max ms")
_TRIAL_HEAD: Final = ("trial", "load", "state", "completed/s", "p99 ms", "why")


def markdown_text(document: Mapping[str, Any]) -> str:
    """Return the verdict, the thresholds, and what was measured, as Markdown."""
    return "\n".join(_lines(document)).rstrip() + "\n"


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    status = read_fitting(TestStatus, {name: document[name] for name in _OF_STATUS})
    verdict = document["verdict"]
    yield f"# {_plain(document['test']['name'])}: {_plain(verdict['word'])} ({_plain(verdict['reason'])})\n"
    yield f"{_plain(verdict['message'])}\n"
    rows = [(one.threshold, one.observed, _SIGNS[one.passed]) for one in status.thresholds]
    yield from _table("Thresholds", ("threshold", "seen", "verdict"), rows)
    if status.capacity is not None:
        yield from _capacity(status.capacity)
    if status.results is not None:
        yield from _measured(status.results)
    yield from _table("Server", ("figure", "value"), (document["server"] or {}).items())
    if status.results is not None and status.results.generator is not None:
        yield from _table("Generator", ("figure", "value"), written(status.results.generator).items())
    yield from (f"- {_plain(said)}" for said in document["lacks"])


def _capacity(found: CapacityStatus) -> Iterator[str]:
    yield f"## Capacity\n\n{_plain(found.in_words)} (the search ended as {_plain(found.end)})\n"
    trials = [
        (one.number, one.amount, one.state, one.completed_rate, one.p99_ms, one.message or "") for one in found.trials
    ]
    yield from _table("Trials", _TRIAL_HEAD, trials)


def _measured(results: Results) -> Iterator[str]:
    figures = (
        ("offered/s", results.offered_rate),
        ("completed/s", results.completed_rate),
        ("errors %", results.error_percent),
        ("p99 ms", results.p99_ms),
    )
    yield from _table("Measured", ("figure", "value"), figures)
    steps = (
        (one.step, one.count, one.failures, *(one.percentile_ms(wanted) for wanted in (50, 90, 99)), one.max_ms)
        for one in results.steps
    )
    yield from _table("Steps", _STEP_HEAD, steps)
    errors = ((one.step, one.outcome, one.count, one.first_message or "") for one in results.errors)
    yield from _table("Errors", ("step", "outcome", "count", "what was said first"), errors)


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    lines = [f"| {' | '.join(map(_plain, row))} |" for row in rows]
    if lines:
        yield f"## {title}\n"
        yield f"| {' | '.join(head)} |"
        yield f"|{' --- |' * len(head)}"
        yield from lines
        yield ""


def _plain(value: Any) -> str:
    """Return a value as text in one line that Markdown shows as it is, `-` where there is none."""
    if value is None:
        return "-"
    text = f"{value:,.6g}" if isinstance(value, float) else str(value)
    return _SPECIAL.sub(r"\\\1", "".join(one if one.isprintable() else " " for one in text))
