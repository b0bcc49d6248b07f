"""The style sheets of the pages. Tests in a browser ask only about colours a second time, in the dark scheme."""

import re
from importlib.resources import files

import pytest

SHEETS = {
    name: files("sshload_operator").joinpath(path).read_text(encoding="utf-8")
    for name, path in (("report", "report/page/report.css"), ("pages", "control/pages/static/pages.css"))
}
COLOURS = r"(?: *--[a-z0-9]+: #[0-9a-f]{6};\s*)+"


@pytest.mark.parametrize("sheet", SHEETS.values(), ids=SHEETS)
def test_the_dark_scheme_changes_colours_and_nothing_else(sheet: str) -> None:
    assert sheet.count("color-scheme") == 1
    assert re.search(rf"@media \(prefers-color-scheme: dark\) \{{\s*:root \{{\s*{COLOURS}\}}\s*\}}", sheet)
