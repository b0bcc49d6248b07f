"""Write the figures of a run into the reference page of metrics: a row for each, as the operator publishes it."""

import re
from pathlib import Path

from sshload_operator.control.metrics.tests import of_runs

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reference/metrics.md"
_ROWS = re.compile(r"(?<=<!-- figures -->\n).*(?=<!-- /figures -->)", re.DOTALL)


def page() -> str:
    """Return the whole page, with the rows as they must be."""
    rows = "".join(f"| `{family.name}` | {family.documentation} |\n" for family in of_runs([]))
    text, count = _ROWS.subn(lambda _: f"| metric | what |\n|---|---|\n{rows}", PAGE.read_text(encoding="utf-8"))
    assert count == 1  # noqa: S101 - the project's own page
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
