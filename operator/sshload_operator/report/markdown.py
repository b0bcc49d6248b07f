"""A report as Markdown, for a ticket or a pull request: the parts that fit into tables."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from sshload_contract.digits import to_digits
from sshload_contract.vocabulary import InPath

from sshload_operator.api.inert_text import inert_markdown, inert_paragraph, inert_table
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.capacity import CapacityStatus
from sshload_operator.api.status.compared import milliseconds_text
from sshload_operator.api.status.head import written
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.results import Results, UsersResult
from sshload_operator.report.comparison import COMPARISON_REPORT_VERSION
from sshload_operator.report.document import REPORT_VERSION
from sshload_operator.report.schedule import SCHEDULE_REPORT_VERSION
from sshload_operator.report.sweep import SWEEP_REPORT_VERSION

_OF_STATUS: Final = ("results", "thresholds", "capacity")
_APART: Final = {True: "apart", False: "overlap", None: None}
_EFFECT_WORDS: Final = {"better": "better", "worse": "worse", "none": "no difference", "unknown": None, None: None}
_STATED: Final = ("completedRate", "p50Ms", "p99Ms")
_STATED_HEAD: Final = ("completed/s", "p50 ms", "p99 ms")
_SIGNS: Final = {True: "met", False: "broken", None: "cannot be said"}
_STEP_HEAD: Final = ("step", "count", "failures", "p50 ms", "p90 ms", "p99 ms", "max ms")
_AGREED: Final = ("kex", "cipher", "mac", "hostKey", "serverVersion", "count")
_AGREED_HEAD: Final = ("variant", "key exchange", "cipher", "MAC", "host key", "server", "logins")
_TRIAL_HEAD: Final = ("trial", "load", "state", "completed/s", "p99 ms", "why")


def markdown_text(document: Mapping[str, Any]) -> str:
    """Return the verdict and what was measured, as Markdown."""
    return "\n".join(_LINES[document["version"]](document)).rstrip() + "\n"


def _head(name: str, verdict: Mapping[str, Any]) -> Iterator[str]:
    reason = f" ({_plain(verdict['reason'])})" if verdict["reason"] else ""
    yield f"# {_plain(name)}: {_plain(verdict['word'] or 'no verdict')}{reason}\n"
    yield f"{inert_paragraph(verdict['message'])}\n"


def _test_lines(document: Mapping[str, Any]) -> Iterator[str]:
    status = read_fitting(TestStatus, {name: document[name] for name in _OF_STATUS})
    yield from _head(document["test"]["name"], document["verdict"])
    rows = [(one.message, _SIGNS[one.met]) for one in status.thresholds]
    yield from _table("Thresholds", ("threshold", "verdict"), rows)
    if status.capacity is not None:
        yield from _capacity(status.capacity)
    if status.results is not None:
        yield from _measured(document["figures"], status.results)
    yield from _table("Server", ("figure", "value"), (document["server"] or {}).items())
    if status.results is not None:
        for name in (*InPath, "generator"):
            rows = written(status.results).get(name, {}).items()
            yield from _table(name.capitalize(), ("figure", "value"), rows)
    if document.get("against"):
        yield from _against(document["against"])
    yield from _lacks(document)


def _lacks(document: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"- {inert_paragraph(said)}" for said in document["lacks"])


def _against(other: Mapping[str, Any]) -> Iterator[str]:
    rows = (
        (one["figure"], one["here"]["value"], one["there"]["value"], one["ratio"], _APART[one["apart"]])
        for one in other["figures"]
    )
    head = ("figure", "this run", "the other run", "ratio", "intervals")
    yield from _table(f"Beside {_plain(other['test']['name'])}", head, rows)
    if other["difference"]:
        yield f"The two did not measure the same: {_plain(other['difference'])}\n"


def _comparison_lines(document: Mapping[str, Any]) -> Iterator[str]:
    yield from _head(document["comparison"]["name"], document["verdict"])
    for variant, reference in ((one["name"], one["reference"]) for one in document["variants"][1:]):
        rows = (_compared(one, reference, variant) for one in document["figures"] or ())
        head = ("figure", reference, variant, "ratio", "95 % interval", "ms", "95 % interval", "difference")
        yield from _table(f"{_plain(variant)} beside {_plain(reference)}", head, rows)
    tests = (
        (one["round"], one["variant"], one["test"], one["verdict"], one["problem"] or one["reason"])
        for one in document["tests"] or ()
    )
    yield from _table("Rounds", ("round", "variant", "test", "verdict", "why"), tests)
    agreed = ((one["name"], *_values(found, _AGREED)) for one in document["variants"] for found in one["negotiated"])
    yield from _table("Negotiated algorithms", _AGREED_HEAD, agreed)
    yield from _lacks(document)


def _compared(figure: Mapping[str, Any], first: str, variant: str) -> Sequence[Any]:
    found = {one["variant"]: one for one in figure["variants"]}
    here, there = found.get(variant), found.get(first)
    value = None if there is None else there["value"]
    if here is None:
        return figure["figure"], value, *[None] * 6
    change = f"{here['points']:+.3g} points" if here["points"] is not None else here["ratio"]
    beside = change, _range(here), *_milliseconds(here), _EFFECT_WORDS[here["effect"]]
    return figure["figure"], value, here["value"], *beside


def _milliseconds(found: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return a difference in milliseconds and its interval in words, None if there is none."""
    ms, low, high = (
        None if found[name] is None else milliseconds_text(found[name]) for name in ("differenceMs", "lowMs", "highMs")
    )
    return ms, None if low is None or high is None else f"{low} to {high}"


def _range(found: Mapping[str, Any] | None) -> str | None:
    """Return an interval in words, None if it has no bounds."""
    if found is None or found["low"] is None or found["high"] is None:
        return None
    return f"{_digits(found['low'], 4)} to {_digits(found['high'], 4)}"


def _sweep_lines(document: Mapping[str, Any]) -> Iterator[str]:
    yield from _head(document["sweep"]["name"], document["verdict"])
    rows = (
        (one["value"], one["verdict"]["word"], *_stated(one, _STATED), *_values(one, ("errorPercent",)))
        for one in document["points"]
    )
    field = document["sweep"]["field"]
    yield from _table("Values", (field, "verdict", *_STATED_HEAD, "errors %"), rows)
    yield from _lacks(document)


def _schedule_lines(document: Mapping[str, Any]) -> Iterator[str]:
    yield from _head(document["schedule"]["name"], document["verdict"])
    rows = (
        (*_values(one, ("time", "test", "verdict", "capacityInWords")), *_stated(one, _STATED))
        for one in document["runs"]
    )
    yield from _table("Runs", ("scheduled for", "test", "verdict", "capacity", *_STATED_HEAD), rows)
    drift = (
        (one["time"], one["test"], one["figure"], one["percent"], _range(one), one["limit"], _SIGNS[one["passed"]])
        for one in document["drift"] or ()
    )
    head = ("scheduled for", "test", "figure", "% from the baseline", "95 % interval", "limit %", "verdict")
    yield from _table("Drift", head, drift)
    yield from _lacks(document)


def _values(row: Mapping[str, Any], names: Iterable[str]) -> Iterator[Any]:
    return (row[name] for name in names)


def _stated(row: Mapping[str, Any], names: Iterable[str]) -> Iterator[Any]:
    """Yield figures of a row with their intervals, in words."""
    for name in names:
        found = row[name]
        bounds = _range(found)
        yield None if found is None else f"{_digits(found['value'], 4)}{f' ({bounds})' if bounds else ''}"


def _capacity(found: CapacityStatus) -> Iterator[str]:
    yield f"## Capacity\n\n{_plain(found.in_words)} (the search ended as {_plain(found.end)})\n"
    trials = [
        (one.number, one.amount, one.state, one.completed_rate, one.p99_ms, one.message or "") for one in found.trials
    ]
    yield from _table("Trials", _TRIAL_HEAD, trials)


def _measured(figures: Iterable[Mapping[str, Any]], results: Results) -> Iterator[str]:
    rows = ((one["figure"], one["value"], _range(one), one["unit"]) for one in figures)
    yield from _table("Measured", ("figure", "value", "95 % interval", "unit"), rows)
    steps = (
        (one.step, one.count, one.failures, *(one.percentile_ms(wanted) for wanted in (50, 90, 99)), one.max_ms)
        for one in results.all_steps
    )
    yield from _table("Steps", _STEP_HEAD, steps)
    errors = ((one.step, one.outcome, one.count, one.first_message or "") for one in results.errors)
    yield from _table("Errors", ("step", "outcome", "count", "what was said first"), errors)
    if results.users is not None:
        yield from _users(results.users)
    if results.scope:
        yield "## What was measured\n"
        yield from (f"- {inert_paragraph(said)}" for said in results.scope)
        yield ""


def _users(users: UsersResult) -> Iterator[str]:
    each = (users.took_part, users.population, users.least_logins, users.most_logins, users.failed)
    yield from _table("Users", ("took part", "of", "logins each, least", "most", "with failures"), (each,))
    worst = (
        (one.name or f"no. {one.place}", by, one.logins, one.failures, one.slowest_login_ms)
        for by, ones in (("most failures", users.most_failures), ("slowest login", users.slowest))
        for one in ones
    )
    yield from _table("The worst users", ("user", "by", "logins", "failures", "slowest login ms"), worst)


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    shown = [map(_shown, row) for row in rows]
    if shown:
        yield f"## {title}\n"
        yield inert_table(head, ("---",) * len(head), shown)
        yield ""


def _plain(value: Any) -> str:
    """Return a value as inert text in one line, `-` if there is none."""
    return inert_markdown(_shown(value))


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return _digits(value, 6) if isinstance(value, float) else str(value)


def _digits(figure: float, digits: int) -> str:
    """Return a figure rounded to so many digits, with its thousands apart: `12,300`, `0.0123`."""
    return f"{float(to_digits(figure, digits)):,.15g}"


_LINES: Final[Mapping[str, Callable[[Mapping[str, Any]], Iterator[str]]]] = {
    REPORT_VERSION: _test_lines,
    COMPARISON_REPORT_VERSION: _comparison_lines,
    SWEEP_REPORT_VERSION: _sweep_lines,
    SCHEDULE_REPORT_VERSION: _schedule_lines,
}
