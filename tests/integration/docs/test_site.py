"""The documentation as a web site: it builds, and a link or an anchor that leads nowhere fails the build."""

import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from guide import ROOT

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
SOURCES = (
    "*.md",
    "LICENSE",
    "charts/**/*.md",
    "docs/**/*",
    "examples/**/*",
    "ssh-library/**/*.md",
    "tests/**/README.md",
)


def built(project: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of a project, and return how that ended."""
    return subprocess.run([project / "scripts/docs", site], capture_output=True, text=True, check=False, timeout=300)


def copied(folder: Path) -> Path:
    """Return a copy of all that the site is made of, with what makes it."""
    for pattern in (*SOURCES, "scripts/docs"):
        for source in ROOT.glob(pattern):
            if source.is_file():
                copy = folder / source.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, copy)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    return folder


def test_the_site_builds_with_each_page_and_file_where_the_repository_has_it(tmp_path: Path) -> None:
    done = built(ROOT, tmp_path)
    assert done.returncode == 0, done.stderr
    for file in (
        "index.html",
        "docs/how-to/install.html",
        "CONTRIBUTING.html",
        "examples/01-quickstart.yaml",
        "docs/images/report.png",
    ):
        assert (tmp_path / file).is_file(), file


@pytest.mark.full
def test_a_link_or_an_anchor_that_leads_nowhere_fails_the_build(tmp_path: Path) -> None:
    """One build, which takes seconds, tells of all three."""
    project = copied(tmp_path / "project")
    complaints = {
        ("README.md", "docs/how-to/none.md"): "page does not exist",
        ("CONTRIBUTING.md", "docs/how-to/install.md#none"): "anchor does not exist",
        ("docs/how-to/install.md", "kueue.md#none"): "anchor does not exist",
    }
    for page, link in complaints:
        with (project / page).open("a", encoding="utf-8") as file:
            file.write(f"\n[a link]({link})\n")
    done = built(project, tmp_path / "site")
    assert done.returncode == 1
    found = re.findall(r"Warning: (.+)\n.*?([\w/-]+\.md):", COLOURS.sub("", done.stderr))
    assert sorted(found) == sorted((said, page) for (page, _), said in complaints.items()), done.stderr


def pages_in(navigation: Any) -> Iterator[str]:
    if isinstance(navigation, str):
        yield navigation
    else:
        for part in navigation.values() if isinstance(navigation, dict) else navigation:
            yield from pages_in(part)


def test_the_navigation_and_the_list_of_pages_have_each_page() -> None:
    there = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md"))
    navigation = tomllib.loads((ROOT / "docs/zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    assert sorted(page for page in pages_in(navigation) if page.startswith("docs/")) == there
    listed = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    for page in there:
        assert page == "docs/README.md" or f"({page.removeprefix('docs/')})" in listed, page


def test_the_sections_are_in_the_order_of_their_purpose() -> None:
    navigation = tomllib.loads((ROOT / "docs/zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    titles = [title for entry in navigation for title in entry]
    assert titles[1:6] == ["Tutorial", "How-to", "Reference", "Explanation", "Design notes"]
