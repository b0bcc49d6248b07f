"""A result as a page, its verdict first; and the page as text. No figure is cut, however narrow the terminal is."""

import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TextIO

from rich.cells import cell_len
from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from sshload_operator.api.inert_text import inert_output, printable
from sshload_operator.cli.view.text import in_encoding, mark

COLUMNS: Final = 80
_MOST_COLUMNS: Final = 1000
_LEAST_COLUMNS: Final = 24
"""The width below which lines are left to the terminal to wrap."""
_LEAST_TEXT: Final = 16
"""The width below which a column of text is not made narrower."""
_LEAST_HEAD: Final = 8
"""The same for the head of a column of figures."""
_GAP: Final = 2
_STYLES = {True: "bold green", False: "bold red", None: "bold yellow"}


@dataclass(frozen=True, slots=True)
class Check:
    """A threshold as judged: its name, a sentence that has the name too, and whether it was met (None: not known)."""

    name: str
    message: str
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
    """What is printed of one object. `passed` is None if the verdict is neither that it passed nor that it failed.

    `verdicts` are those of the runs that a page of several is about. A page without any verdict lists objects.
    """

    name: str
    verdict: str
    sentence: str
    passed: bool | None
    checks: tuple[Check, ...] = ()
    parts: tuple[Grid | Facts | Paste, ...] = ()
    verdicts: tuple[Check, ...] = ()


def show(page: Page, stream: TextIO) -> None:
    """Print a page, in colour on a terminal unless NO_COLOR is set.

    It is as wide as the terminal. Without a terminal it is as wide as COLUMNS in the environment says, else 80.
    """
    tty = stream.isatty()
    width = os.get_terminal_size(stream.fileno()).columns if tty else _wanted_columns()
    stream.write(in_encoding(_rendered(page, width or COLUMNS, tty=tty), stream.encoding or "ascii"))


def _wanted_columns() -> int:
    wanted = os.environ.get("COLUMNS", "")
    return min(int(wanted), _MOST_COLUMNS) if wanted.isascii() and wanted.isdigit() else COLUMNS


def as_text(page: Page, width: int = COLUMNS) -> str:
    """Return a page as plain text of this width. Nothing is cut: words are wrapped, a table too wide becomes a list."""
    return _rendered(page, width, tty=False)


def _rendered(page: Page, wanted: int, *, tty: bool) -> str:
    width = max(wanted, _LEAST_COLUMNS)
    console = Console(file=io.StringIO(), width=width, force_terminal=tty, highlight=False, legacy_windows=False)
    with console.capture() as captured:
        for section in _sections(page, width):
            console.print(Group(section, Text("")), crop=False)
    lines = captured.get().splitlines()
    return inert_output("\n".join(line.rstrip() for line in lines).strip("\n") + "\n")


def _sections(page: Page, width: int) -> Iterator[RenderableType]:
    if page.verdict:
        yield _headline(page)
    if page.checks:
        yield _checks(page.checks)
    for part in page.parts:
        if isinstance(part, Grid):
            yield _grid(part, width)
        else:
            yield _facts(part, width) if isinstance(part, Facts) else _paste(part)


def _headline(page: Page) -> Text:
    verdict, said = printable(page.verdict), printable(page.sentence)
    return Text.assemble((verdict, _STYLES[page.passed]), f": {said}" if said else "")


def _checks(checks: Sequence[Check]) -> RenderableType:
    table = Table.grid(padding=(0, _GAP, 0, 0))
    for one in checks:
        table.add_row(Text(mark(one.passed), _STYLES[one.passed]), Text(printable(one.message)))
    return table


def _grid(grid: Grid, width: int) -> RenderableType:
    head = tuple(map(printable, grid.head))
    rows = [tuple(map(printable, row)) for row in grid.rows]
    numbers = range(len(head))
    # A head may be wrapped, as a text may; a figure may not.
    least = [
        _LEAST_TEXT if grid.is_text(one) else max((_LEAST_HEAD, *(cell_len(row[one]) for row in rows)))
        for one in numbers
    ]
    widths = _widths([head, *rows], least, width)
    content = _records(head, rows) if widths is None else _table(grid, head, rows, widths)
    return Group(content, Text(printable(grid.note))) if grid.note else content


def _table(grid: Grid, head: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> RenderableType:
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="bold", show_edge=False)
    for number, (name, column) in enumerate(zip(head, widths, strict=True)):
        justify: JustifyMethod = "left" if grid.is_text(number) else "right"
        table.add_column(Text(name), justify=justify, width=column, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _widths(rows: Sequence[Sequence[str]], least: Sequence[int], width: int) -> Sequence[int] | None:
    """Return the width of each column, None if they do not fit even with the least width of each.

    A column is as wide as its content, or else at least as wide as `least` says; the first ones are given room first.
    """
    natural = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    widths = list(map(min, natural, least))
    spare = width - sum(widths) - _GAP * (len(widths) - 1)
    if spare < 0:
        return None
    for number, wanted in enumerate(natural):
        given = min(wanted - widths[number], spare)
        widths[number] += given
        spare -= given
    return widths


def _records(head: Sequence[str], rows: Sequence[Sequence[str]]) -> RenderableType:
    """Return each row as lines, one for each cell, under its head."""
    records = (
        "\n".join(f"{name}: {cell}" if name else cell for name, cell in zip(head, row, strict=True) if cell)
        for row in rows
    )
    return Text("\n\n".join(records))


def _facts(facts: Facts, width: int) -> RenderableType:
    rows = [(printable(label), printable(text)) for label, text in facts.rows]
    labels = max(cell_len(label) for label, _ in rows)
    if _widths(rows, [labels, _LEAST_TEXT], width) is None:
        return Group(*(Text.assemble((f"{label}: " if label else "", "bold"), text) for label, text in rows))
    table = Table.grid(padding=(0, _GAP, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in rows:
        table.add_row(Text(label), Text(text))
    return table


def _paste(paste: Paste) -> RenderableType:
    """Return the lines as they are to be pasted: none is wrapped."""
    lines = (Text(f"    {printable(line)}", "bold", no_wrap=True, overflow="ignore") for line in paste.lines)
    return Group(Text(printable(paste.why)), Text(""), *lines)
