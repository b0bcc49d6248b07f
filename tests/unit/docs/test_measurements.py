"""A measurement says when, and of which commit, it was made."""

import json
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "docs/measurements"
KEPT = sorted(FOLDER.rglob("*.json"))
BY_HAND = {"speed.md"}  # whose columns have dates and commits of their own


def test_each_page_has_the_figures_behind_it() -> None:
    assert len(KEPT) > 10
    pages = {path for path in FOLDER.rglob("*.md") if path.name not in BY_HAND}
    assert pages == {path.with_suffix(".md") for path in KEPT}


@pytest.mark.parametrize("figures", KEPT, ids=lambda path: path.stem)
def test_a_page_says_when_and_of_which_commit_it_was_measured(figures: Path) -> None:
    measured = json.loads(figures.read_text(encoding="utf-8"))["measured"]
    assert re.fullmatch(r"2\d{3}-\d\d-\d\d", measured["date"])
    assert re.fullmatch(r"[0-9a-f]{8,}(-dirty)?", measured["commit"])
    line = figures.with_suffix(".md").read_text(encoding="utf-8").splitlines()[2]
    assert line.startswith(f"Measured: date {measured['date']}, commit {measured['commit']}, cpu ")
