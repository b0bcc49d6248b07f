"""The HTML of lists, of a run that is under way, and of the login form.

Each text of an object is escaped. Only the live page has a script, which sets texts as text nodes.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby, islice
from typing import Final

from sshload_operator.api.kinds import COMPARISON, SCHEDULE, TEST, Kind
from sshload_operator.control.pages.index import Index, Line

MOST_ROWS: Final = 500
_WIDTH, _HEIGHT = 120, 24
_TITLES: Final = {TEST: "Tests", SCHEDULE: "Schedules", COMPARISON: "Comparisons"}
_STATES: Final = {True: "passed", False: "failed", None: "unknown"}
_SIGNS: Final = {True: "✓ ", False: "✗ ", None: ""}


def overview(index: Index, namespace: str) -> str:
    """Return the lists of all objects of a namespace, "" for all, the newest first: at most MOST_ROWS of each kind."""
    title = f"sshload: {namespace}" if namespace else "sshload"
    sections = "".join(_section(kind, list(index.lines(kind, namespace))) for kind in _TITLES)
    namespaces = sorted({line.namespace for kind in _TITLES for line in index.lines(kind)})
    links = (
        "" if namespace else "".join(f'<li><a href="/ui/{escape(one)}">{escape(one)}</a></li>' for one in namespaces)
    )
    within = (
        f'<nav aria-label="Namespaces"><ul class="inline">{links}</ul></nav>'
        if links
        else '<p><a href="/ui">All namespaces</a></p>'
    )
    return page(title, f"<h1>{escape(title)}</h1>{within if namespace or links else ''}{sections}", logged_in=True)


def live_page(line: Line) -> str:
    """Return the page of a run that is under way. Its script fills it from the event stream of its path."""
    name, namespace = escape(line.name), escape(line.namespace)
    body = (
        f'<p><a href="/ui/{namespace}">Tests of {namespace}</a></p>'
        f'<h1><span class="state unknown" id="state">{escape(line.state)}</span> {name}</h1>'
        '<p id="message" role="status"></p><p id="connection" class="quiet">connecting</p>'
        '<dl id="figures" class="figures"></dl><div id="charts"></div>'
        '<details><summary>The course as a table</summary><div class="wide" tabindex="0" role="group"'
        ' aria-label="The course: a table"><table aria-label="The course"><thead><tr><th scope="col">seconds</th>'
        '<th scope="col">completed/s</th><th scope="col">median ms</th><th scope="col">errors %</th></tr></thead>'
        '<tbody id="course"></tbody></table></div></details>'
        '<script src="/ui/-/static/live.js"></script>'
    )
    return page(f"{line.name}: {line.state}", body, logged_in=True)


def login_page(following: str, problem: str = "") -> str:
    """Return the login form, which takes a bearer token and leads to `following`."""
    said = f'<p class="failed" role="alert">{escape(problem)}</p>' if problem else ""
    return page(
        "sshload: log in",
        f"<h1>Log in</h1>{said}<p>Paste a bearer token that the API server of the cluster accepts, such as the"
        " output of <code>kubectl create token NAME</code>. RBAC must allow its user to get these pages.</p>"
        '<form method="post" action="/ui/-/login" autocomplete="off"><label for="token">Token</label>'
        '<input id="token" name="token" type="password" required autocomplete="off" maxlength="8192">'
        f'<input type="hidden" name="next" value="{escape(following)}"><button>Log in</button></form>',
        logged_in=False,
    )


def error_page(title: str, message: str) -> str:
    """Return the page of an error."""
    return page(
        title, f'<h1>{escape(title)}</h1><p>{escape(message)}</p><p><a href="/ui">All tests</a></p>', logged_in=False
    )


def page(title: str, body: str, *, logged_in: bool) -> str:
    """Return a whole page."""
    leave = '<form method="post" action="/ui/-/logout"><button>Log out</button></form>' if logged_in else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f'<title>{escape(title)}</title><link rel="stylesheet" href="/ui/-/static/pages.css"></head>'
        f"<body><main>{body}</main><footer>{leave}</footer></body></html>"
    )


def _section(kind: Kind, lines: list[Line]) -> str:
    if not lines:
        return ""
    newest = sorted(lines, key=lambda line: (line.is_live, line.time, line.name), reverse=True)[:MOST_ROWS]
    shown = sorted(newest, key=lambda line: line.namespace)
    tables = "".join(
        _table(kind, namespace, list(some)) for namespace, some in groupby(shown, lambda line: line.namespace)
    )
    left = len(lines) - len(newest)
    more = f'<p class="quiet">{left} older ones are not shown: open the page of a namespace.</p>' if left else ""
    return f"<section><h2>{_TITLES[kind]}</h2>{tables}{more}</section>"


def _table(kind: Kind, namespace: str, lines: Sequence[Line]) -> str:
    names = list(dict.fromkeys(name for line in lines for name in line.figures))
    has_trend = kind is SCHEDULE
    head = "".join(
        f'<th scope="col"{" class=number" if name in names else ""}>{escape(name)}</th>'
        for name in ("name", "verdict", *names, *(("trend",) if has_trend else ()), "time", "why")
    )
    rows = "".join(_row(kind, line, names, has_trend=has_trend) for line in lines)
    label = escape(f"{_TITLES[kind]} in {namespace}")
    return (
        f'<h3>{escape(namespace)}</h3><div class="wide" tabindex="0" role="group" aria-label="{label}: a table">'
        f'<table aria-label="{label}"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _row(kind: Kind, line: Line, names: Iterable[str], *, has_trend: bool) -> str:
    path = f"/ui/{escape(line.namespace)}/{kind.word}s/{escape(line.name)}"
    live = " (under way)" if line.is_live else ""
    figures = "".join(f'<td class="number">{escape(_figure(line.figures.get(name)))}</td>' for name in names)
    trend = f"<td>{_sparkline(line.trend)}</td>" if has_trend else ""
    return (
        f'<tr><td><a href="{path}">{escape(line.name)}</a></td>'
        f'<td class="{_STATES[line.passed]}">{_SIGNS[line.passed]}{escape(line.state)}{live}</td>{figures}{trend}'
        f"<td>{escape(line.time or '-')}</td><td>{escape(line.message)}</td></tr>"
    )


def _figure(value: float | str | None) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:,.4g}"


def _sparkline(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if len(known) < 2:  # noqa: PLR2004 - two points make a line
        return "-"
    most = max(known) or 1.0
    text = f"{len(known)} runs, from {known[0]:,.4g} to {known[-1]:,.4g}"
    lines = "".join(f'<polyline points="{" ".join(part)}"/>' for part in _parts(values, most))
    return f'<svg class="trend" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(text)}">{lines}</svg>'


def _parts(values: Sequence[float | None], most: float) -> Iterator[Sequence[str]]:
    """Yield the points of each stretch without a gap."""
    step = _WIDTH / max(len(values) - 1, 1)
    placed = ((number * step, value) for number, value in enumerate(values))
    for is_known, part in groupby(placed, lambda place: place[1] is not None):
        if is_known:
            yield [
                f"{x:.1f},{_HEIGHT - 1 - (_HEIGHT - 2) * (y or 0.0) / most:.1f}" for x, y in islice(part, len(values))
            ]
