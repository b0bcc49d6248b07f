"""The layer of an image that holds the project; `scripts/images compare` does the same with whole images."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "contract", "operator", "workers", "targets", "gateway")


def copy_sources(folder: Path, date: int) -> Path:
    """Copy what the layer is made of; all files are of this date."""
    folder.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    for path in folder.rglob("*"):
        os.utime(path, (date, date))
    return folder


def layer(venv: Path, sources: Path, circumstances: Mapping[str, str]) -> dict[str, str]:
    """Make the layer again; return the mode and the hash of its files by their paths."""
    shutil.rmtree(venv, ignore_errors=True)
    places = {"IMAGE_VENV": str(venv), "IMAGE_TOOLS": str(ROOT / ".venv"), "SOURCE_DATE_EPOCH": "1789689600"}
    command = ["sh", ROOT / "scripts/image-venv", "project", sources]
    subprocess.run(command, check=True, env={**os.environ, **places, **circumstances})
    return {
        str(path.relative_to(venv)): f"{path.stat().st_mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in venv.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


@pytest.mark.full
def test_it_is_the_same_from_another_folder_date_time_zone_and_locale(tmp_path: Path) -> None:
    here = {"TZ": "UTC", "LC_ALL": "C", "PYTHONHASHSEED": "1"}
    elsewhere = {"TZ": "Pacific/Auckland", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "2"}
    first = layer(tmp_path / "venv", copy_sources(tmp_path / "sources", 1_500_000_000), here)
    second = layer(tmp_path / "venv", copy_sources(tmp_path / "another folder", 1_600_000_000), elsewhere)
    assert any(path.endswith(".pyc") for path in first)
    assert any(path.endswith(".marshal") for path in first)
    assert any(path.endswith(".dist-info/sboms/scripts.cdx.json") for path in first)
    assert second == first
