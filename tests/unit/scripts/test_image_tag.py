"""The tag of the images, by `scripts/images tag` in a small checkout."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGES = ("contract", "operator", "workers", "targets", "gateway")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout with all that the tag is made from, but one file only of each package."""
    for name in ("Dockerfile", ".dockerignore", "LICENSE", "README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("requirements", "scripts", "ssh-library"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in PACKAGES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "source.py").write_text("1\n")
    return tmp_path


def tag(checkout: Path) -> str:
    return subprocess.check_output([checkout / "scripts/images", "tag"], text=True).strip()


def test_the_tag_is_that_of_the_sources_and_not_of_what_is_compiled_beside_them(checkout: Path) -> None:
    """`.venv` has the project editable, so what Python compiles for it lies among the sources."""
    before = tag(checkout)
    compiled = checkout / "contract/__pycache__"
    compiled.mkdir()
    (compiled / "source.cpython-311.pyc").write_bytes(b"compiled")
    assert tag(checkout) == before
    (checkout / "contract/source.py").write_text("2\n")
    assert tag(checkout) != before
