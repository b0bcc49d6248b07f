"""A result in the format that was asked for."""

import csv
import io
import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final

import yaml

from sshload_operator.cli.view.page import Page, as_junit, as_markdown, show
from sshload_operator.cli.view.text import in_encoding

Row = Mapping[str, object]
_CAN_BEGIN_A_FORMULA: Final = ("=", "+", "-", "@")


def print_result(output: str, whole: Mapping[str, Any], page: Page, rows: Iterable[Row]) -> None:
    """Print a result on standard output.

    `whole` is the object that json and yaml print, with its status as a cluster has it; `rows` are what csv prints.
    """
    if output == "table":
        show(page, sys.stdout)
        return
    text = {
        "json": lambda: f"{json.dumps(whole, indent=2)}\n",
        "yaml": lambda: yaml.safe_dump(json.loads(json.dumps(whole)), sort_keys=False, allow_unicode=True),
        "junit": lambda: as_junit(page),
        "markdown": lambda: as_markdown(page),
        "csv": lambda: as_csv(rows),
    }[output]()
    sys.stdout.write(in_encoding(text, sys.stdout.encoding or "ascii"))


def as_csv(rows: Iterable[Row]) -> str:
    """Return rows under the names of their fields, which are those of the first row and then of the others.

    What is absent is an empty cell. A text that a spreadsheet would take for a formula has a quote before it.
    """
    all_rows = list(rows)
    names = list(dict.fromkeys(name for row in all_rows for name in row))
    written = io.StringIO()
    writer = csv.DictWriter(written, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in all_rows)
    return written.getvalue()


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_CAN_BEGIN_A_FORMULA) else value
