"""scripts/find-python: the system's Python comes first, which distributions compile with optimisation."""

import os
import subprocess
from pathlib import Path

import pytest

FIND_PYTHON = Path(__file__).parents[3] / "scripts/find-python"
NEW_ENOUGH, TOO_OLD = "exit 0", "exit 1"


def python(path: Path, ability: str) -> Path:
    """Write a program that can do all or nothing that is asked of a Python."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{ability}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        pytest.param(NEW_ENOUGH, "system/python3", id="the system's where it is new enough"),
        pytest.param(TOO_OLD, "path/python3", id="else that of PATH"),
    ],
)
def test_the_systems_python_comes_before_one_of_the_path(tmp_path: Path, system: str, expected: str) -> None:
    python(tmp_path / "path/python3", NEW_ENOUGH)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path / 'path'}:{os.environ['PATH']}",
        "SSHLOAD_SYSTEM_PYTHON": str(python(tmp_path / "system/python3", system)),
    }
    found = subprocess.run([FIND_PYTHON], env=environment, capture_output=True, text=True, check=True).stdout
    assert found == f"{tmp_path / expected}\n"
