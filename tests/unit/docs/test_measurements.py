"""A page of measurements says at its top when, of which commit, on what machine and with which versions it was made."""

from pathlib import Path

import pytest
from benchmarks import MEASURED, kept

FOLDER = Path(__file__).parents[3] / "docs/measurements"
PAGES = sorted(FOLDER.rglob("*.md"))
KEPT_OTHERWISE = {
    FOLDER / "speed.md",
    FOLDER / "league.md",
}  # by hand, with dates of its own columns; by its own writer


def test_each_page_has_the_figures_behind_it() -> None:
    assert len(PAGES) > 10
    of_pages = {page.with_suffix(".json") for page in PAGES if page not in KEPT_OTHERWISE}
    assert of_pages | {FOLDER / "league/results.json"} == {*FOLDER.rglob("*.json")}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_each_page_says_in_the_same_line_whence_it_is(page: Path) -> None:
    (line,) = (line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("Measured on "))
    assert MEASURED.fullmatch(line)
    assert "-dirty" not in line, "these figures are of sources that nobody can get: commit first, then measure"


@pytest.mark.parametrize("page", [page for page in PAGES if page not in KEPT_OTHERWISE], ids=lambda path: path.stem)
def test_the_line_says_what_stands_beside_the_figures(page: Path) -> None:
    assert kept(page)
