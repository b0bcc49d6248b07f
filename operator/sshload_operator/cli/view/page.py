"""A result as a page, its verdict first; and the page as text, Markdown and JUnit."""

import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TextIO
from xml.etree import ElementTree as ET

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sshload_operator.cli.view.text import ABSENT, in_encoding, mark, printable

COLUMNS: Final = 80
_STYLES = {True: "bold green", False: "bold red", None: "bold yellow"}


@dataclass(frozen=True, slots=True)
class Check:
    """A threshold as judged: whether it held (None: that cannot be said), and by how much."""

    name: str
    observed: str
    margin: str
    passed: bool | None


@dataclass(frozen=True, slots=True)
class Grid:
    """A table. The first `left` columns are text, and so is the last one if `last_left`; the others are figures."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    last_left: bool = False
    note: str = ""

    def is_text(self, column: int) -> bool:
        """Tell whether a column holds text, which may be wrapped; figures may not."""
        return column < self.left or (self.last_left and column == len(self.head) - 1)


@dataclass(frozen=True, slots=True)
class Facts:
    """Sentences, each under a label."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Paste:
    """Lines to be pasted into a file, and why."""

    why: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """What is printed of one object. `passed` is None where the verdict says neither that it held nor that it broke."""

    name: str
    verdict: str
    sentence: str
    passed: bool | None
    checks: tuple[Check, ...] = ()
    parts: tuple[Grid | Facts | Paste, ...] = ()


def show(page: Page, stream: TextIO) -> None:
    """Print a page, in colour on a terminal unless NO_COLOR is set, and as wide as the terminal is."""
    tty = stream.isatty()
    width = os.get_terminal_size(stream.fileno()).columns if tty else COLUMNS
    stream.write(in_encoding(_rendered(_terminal(page), width or COLUMNS, tty=tty), stream.encoding or "ascii"))


def as_text(page: Page, width: int = COLUMNS) -> str:
    """Return a page as plain text of this width. Nothing is cut: what does not fit is wrapped."""
    return _rendered(_terminal(page), width, tty=False)


def _rendered(content: RenderableType, width: int, *, tty: bool) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=tty, highlight=False, legacy_windows=False)
    with console.capture() as captured:
        console.print(content)
    lines = captured.get().splitlines()
    return "\n".join(line.rstrip() for line in lines).strip("\n") + "\n"


def _terminal(page: Page) -> RenderableType:
    sections: list[RenderableType] = [_headline(page)] if page.verdict else []
    if page.checks:
        sections.append(_checks(page.checks))
    sections += [_part(part) for part in page.parts]
    return Group(*(Padding(section, (0, 0, 1, 0)) for section in sections))


def _headline(page: Page) -> Text:
    verdict, said = printable(page.verdict), printable(page.sentence)
    return Text.assemble((verdict, _STYLES[page.passed]), f": {said}" if said else "")


def _checks(checks: Sequence[Check]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(4):
        table.add_column(overflow="fold")
    for one in checks:
        words = map(printable, (one.name, one.observed, one.margin))
        table.add_row(Text(mark(one.passed), _STYLES[one.passed]), *map(Text, words))
    return table


def _part(part: Grid | Facts | Paste) -> RenderableType:
    if isinstance(part, Grid):
        return _grid(part)
    return _facts(part) if isinstance(part, Facts) else _paste(part)


def _grid(grid: Grid) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold", show_edge=False)
    for number, head in enumerate(grid.head):
        text = grid.is_text(number)
        table.add_column(Text(printable(head)), justify="left" if text else "right", no_wrap=not text, overflow="fold")
    for row in grid.rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return Group(table, Text(printable(grid.note))) if grid.note else table


def _facts(facts: Facts) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in facts.rows:
        table.add_row(Text(printable(label)), Text(printable(text)))
    return table


def _paste(paste: Paste) -> RenderableType:
    lines = (Text(f"    {printable(line)}", "bold") for line in paste.lines)
    return Group(Text(printable(paste.why)), Text(""), *lines)


def as_markdown(page: Page) -> str:
    """Return a page as Markdown, for a comment on a change or a summary of a job."""
    said = f": {_escaped(page.sentence)}" if page.sentence else ""
    sections = [f"**{_escaped(page.verdict)}**{said}"] if page.verdict else []
    if page.checks:
        rows = tuple((mark(one.passed), one.name, one.observed, one.margin) for one in page.checks)
        sections.append(_markdown_table(Grid(("", "threshold", "observed", "margin"), rows, left=4)))
    sections += [_markdown_part(part) for part in page.parts]
    return "\n\n".join(sections) + "\n"


def _markdown_part(part: Grid | Facts | Paste) -> str:
    if isinstance(part, Grid):
        return _markdown_table(part) + (f"\n\n{_escaped(part.note)}" if part.note else "")
    if isinstance(part, Facts):
        return "\n".join(f"- {_escaped(f'{label}: {text}' if label else text)}" for label, text in part.rows)
    return f"{_escaped(part.why)}\n\n" + "\n".join(f"    {printable(line)}" for line in part.lines)


def _markdown_table(grid: Grid) -> str:
    rule = tuple("---" if grid.is_text(number) else "--:" for number in range(len(grid.head)))
    rows = (tuple(map(_escaped, grid.head)), rule, *(tuple(map(_escaped, row)) for row in grid.rows))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _escaped(text: str) -> str:
    """Return text that is no Markdown, whatever a server has written into it."""
    return "".join(f"\\{one}" if one in "\\`*_[]<>|#" else one for one in printable(text))


def as_junit(page: Page) -> str:
    """Return a page as JUnit's XML: a case for each threshold, and one for the verdict itself.

    A broken threshold is a failure. A run that cannot be judged is an error, whatever its thresholds say.
    """
    suite = ET.Element("testsuite", name=_xml(page.name))
    cases = [*(_case(suite, one) for one in page.checks), _verdict_case(suite, page)]
    for kind in ("failure", "error"):
        suite.set(f"{kind}s", str(sum(case.find(kind) is not None for case in cases)))
    suite.set("tests", str(len(cases)))
    ET.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suite, encoding="unicode")}\n'


def _case(suite: ET.Element, check: Check) -> ET.Element:
    case = ET.SubElement(suite, "testcase", classname=suite.attrib["name"], name=_xml(check.name))
    said = ", ".join(_facts_of(check))
    if check.passed is False:
        ET.SubElement(case, "failure", message=_xml(said))
    elif check.passed is None:
        ET.SubElement(case, "skipped", message=_xml(said))
    return case


def _facts_of(check: Check) -> Iterator[str]:
    yield from (text for text in (check.observed, check.margin) if text not in ("", ABSENT))


def _verdict_case(suite: ET.Element, page: Page) -> ET.Element:
    case = ET.SubElement(suite, "testcase", classname=suite.attrib["name"], name="verdict")
    if page.passed is not True:
        kind = "failure" if page.passed is False else "error"
        ET.SubElement(case, kind, message=_xml(f"{page.verdict}: {page.sentence}"))
    return case


def _xml(text: str) -> str:
    """Return text without characters that XML cannot have."""
    return printable(text)
