"""A result in the format that was asked for: JSON, YAML, CSV, Markdown, and the XML of JUnit."""

import csv
import io
import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final
from xml.etree import ElementTree as ET

import click
import yaml

from sshload_operator.api.inert_text import inert_markdown, inert_output, inert_paragraph, inert_table, printable
from sshload_operator.cli.view.page import Check, Facts, Grid, Page, Paste, show
from sshload_operator.cli.view.text import in_encoding, mark

Row = Mapping[str, object]
# Spreadsheets also take the full-width forms of these for the beginning of a formula.
_CAN_BEGIN_A_FORMULA: Final = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def print_result(output: str, whole: Mapping[str, Any], page: Page, rows: Iterable[Row]) -> None:
    """Print a result on standard output.

    `whole` is the object that json and yaml print, with its status as a cluster has it; `rows` are what csv prints.
    Raises UsageError if JUnit is requested for a page without a verdict.
    """
    if output == "junit" and not page.verdict:
        raise click.UsageError(
            "JUnit output needs a verdict, and a list has none: use json, or `sshload watch NAME -o junit`"
        )
    if output == "table":
        show(page, sys.stdout)
        return
    text = {
        "json": lambda: as_json(whole),
        "yaml": lambda: as_yaml(whole),
        "junit": lambda: inert_output(as_junit(page)),
        "markdown": lambda: inert_output(as_markdown(page)),
        "csv": lambda: inert_output(as_csv(rows)),
    }[output]()
    sys.stdout.write(in_encoding(text, sys.stdout.encoding or "ascii"))


def as_json(whole: Mapping[str, Any]) -> str:
    """Return an object as JSON, in which no text is what a CI system obeys, and each has its value."""
    return json.dumps(whole, indent=2).replace("##", r"#\u0023") + "\n"


def as_yaml(whole: Mapping[str, Any]) -> str:
    """Return an object as YAML: as JSON, which is YAML too, where a CI system would obey a line of another form."""
    text: str = yaml.safe_dump(json.loads(json.dumps(whole)), sort_keys=False, allow_unicode=True)
    return text if inert_output(text) == text else as_json(whole)


def as_csv(rows: Iterable[Row]) -> str:
    """Return rows under the names of their fields, which are those of the first row and then of the others.

    What is absent is an empty cell. A text that a spreadsheet would take for a formula begins with a quote. No cell has
    control characters.
    """
    all_rows = list(rows)
    names = list(dict.fromkeys(name for row in all_rows for name in row))
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(map(_cell, names))
    writer.writerows([_cell(row.get(name, "")) for name in names] for row in all_rows)
    return written.getvalue()


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.lstrip().startswith(_CAN_BEGIN_A_FORMULA) else text


def as_markdown(page: Page) -> str:
    """Return a page as Markdown, for a comment on a change or a summary of a job."""
    said = f": {inert_markdown(page.sentence)}" if page.sentence else ""
    sections = [f"**{inert_markdown(page.verdict)}**{said}"] if page.verdict else []
    if page.checks:
        rows = tuple((mark(one.passed), one.message) for one in page.checks)
        sections.append(_markdown_table(Grid(("", "threshold"), rows, left=2)))
    sections += [_markdown_part(part) for part in page.parts]
    return "\n\n".join(sections) + "\n"


def _markdown_part(part: Grid | Facts | Paste) -> str:
    if isinstance(part, Grid):
        return _markdown_table(part) + (f"\n\n{inert_paragraph(part.note)}" if part.note else "")
    if isinstance(part, Facts):
        return "\n".join(f"- {inert_paragraph(f'{label}: {text}' if label else text)}" for label, text in part.rows)
    return f"{inert_paragraph(part.why)}\n\n" + "\n".join(f"    {printable(line)}" for line in part.lines)


def _markdown_table(grid: Grid) -> str:
    rule = tuple("---" if grid.is_text(number) else "--:" for number in range(len(grid.head)))
    return inert_table(grid.head, rule, grid.rows)


def as_junit(page: Page) -> str:
    """Return a page as JUnit's XML: a case for each threshold, and one for the verdict itself or for each of several.

    A broken threshold is a failure. A run that cannot be judged is an error, whatever its thresholds say. The text is
    ASCII, with references to other characters, so that it is valid UTF-8 in whichever encoding it is printed.
    """
    suite = ET.Element("testsuite", name=printable(page.name))
    own = Check("verdict", f"{page.verdict}: {page.sentence}", page.passed)
    cases = [_case(suite, one, "skipped") for one in page.checks]
    cases += [_case(suite, one, "error") for one in page.verdicts or (own,)]
    for kind in ("failure", "error"):
        suite.set(f"{kind}s", str(sum(case.find(kind) is not None for case in cases)))
    suite.set("tests", str(len(cases)))
    ET.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suite, encoding="us-ascii").decode("ascii")}\n'


def _case(suite: ET.Element, check: Check, unknown: str) -> ET.Element:
    case = ET.SubElement(suite, "testcase", classname=suite.attrib["name"], name=printable(check.name))
    if check.passed is not True:
        ET.SubElement(case, "failure" if check.passed is False else unknown, message=printable(check.message))
    return case
