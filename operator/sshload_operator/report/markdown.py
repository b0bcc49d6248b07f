"""The report as Markdown, for a ticket or a pull request: what fits into tables."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

_SIGNS: Final = {True: "met", False: "**broken**", None: "cannot be said"}
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~!&])")
_STEP_HEAD: Final = ("step", "count", "failures", "p50 ms", "p90 ms", "p99 ms", "max ms")


def markdown_text(document: Mapping[str, Any]) -> str:
    """Return the verdict, the thresholds, and what was measured, as Markdown."""
    return "\n".join(_lines(document)).rstrip() + "\n"


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    verdict, results = document["verdict"], document["results"] or {}
    yield f"# {_plain(document['test']['name'])}: {_plain(verdict['word'])} ({_plain(verdict['reason'])})\n"
    yield f"{_plain(verdict['message'])}\n"
    times = [
        f"{word} {verdict[name]}" for word, name in (("from", "startTime"), ("to", "completionTime")) if verdict[name]
    ]
    yield f"{_plain(' '.join(times))}\n"
    rows = [(one["threshold"], one.get("observed"), _SIGNS[one.get("passed")]) for one in document["thresholds"]]
    yield from _table("Thresholds", ("threshold", "seen", "verdict"), rows, marked=True)
    capacity = document["capacity"] or {}
    if capacity:
        found = _plain(capacity.get("inWords", "not found"))
        yield f"## Capacity\n\n{found}; the search ended as {_plain(capacity.get('end'))}\n"
    trials = [
        (one["number"], one["amount"], one["state"], one["completedRate"], one.get("p99Ms"), one.get("message"))
        for one in capacity.get("trials", ())
    ]
    yield from _table("Trials", ("trial", "amount", "state", "completed/s", "p99 ms", "why"), trials)
    names = (
        ("offeredRate", "offered/s"),
        ("completedRate", "completed/s"),
        ("errorPercent", "errors %"),
        ("p99Ms", "p99 ms"),
    )
    yield from _table(
        "Measured", ("figure", "value"), [(word, results.get(name)) for name, word in names if name in results]
    )
    yield from _table("Steps", _STEP_HEAD, map(_step, results.get("steps", ())))
    errors = [(one["step"], one["outcome"], one["count"], one.get("firstMessage")) for one in results.get("errors", ())]
    yield from _table("Errors", ("step", "outcome", "count", "first message"), errors)
    yield from _table("Server", ("figure", "value"), (document["server"] or {}).items())
    yield from _table("Generator", ("figure", "value"), results.get("generator", {}).items())
    yield from (f"- {_plain(said)}" for said in document["lacks"])


def _step(step: Mapping[str, Any]) -> Sequence[Any]:
    known = {one["percentile"]: one["ms"] for one in step.get("intervals", ())}
    return step["step"], step["count"], step["failures"], known.get(50), known.get(90), known.get(99), step.get("maxMs")


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[Any]], *, marked: bool = False) -> Iterator[str]:
    rows = list(rows)
    if not rows:
        return
    yield f"## {title}\n"
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        cells = [_plain(cell) for cell in (row[:-1] if marked else row)] + ([row[-1]] if marked else [])
        yield f"| {' | '.join(cells)} |"
    yield ""


def _plain(value: Any) -> str:
    """Return a value as text in one line that Markdown shows as it is, `-` where there is none."""
    if value is None:
        return "-"
    text = f"{value:,.6g}" if isinstance(value, float) else str(value)
    return _SPECIAL.sub(r"\\\1", "".join(one if one.isprintable() else " " for one in text))
