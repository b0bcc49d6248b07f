"""`scripts/images` where Docker runs. A program named docker stands in for it, which says what it was asked for."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WITH_BUILDX = """#!/bin/sh
case "$1 $2" in
  "image inspect") exit 1 ;;
  "build --target") echo "DOCKER_BUILDKIT=$DOCKER_BUILDKIT $*" >> "$ASKED" ;;
esac
"""
WITHOUT_BUILDX = '#!/bin/sh\n[ "$1" != buildx ]\n'


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """Return the file that names each build."""
    return tmp_path / "asked"


def build(docker: str, asked: Path) -> subprocess.CompletedProcess[str]:
    """Build the images where `docker` is such a program."""
    program = asked.parent / "docker"
    program.write_text(docker)
    program.chmod(0o755)
    own = {"PATH": f"{asked.parent}:{os.environ['PATH']}", "ASKED": str(asked)}
    command = [ROOT / "scripts/images", "build"]
    return subprocess.run(command, check=False, env={**os.environ, **own}, capture_output=True, text=True)


def test_docker_builds_with_buildkit_which_debian_12s_does_not_by_default(asked: Path) -> None:
    assert build(WITH_BUILDX, asked).returncode == 0
    builds = asked.read_text().splitlines()
    assert [line.split(" ")[:4] for line in builds] == [
        ["DOCKER_BUILDKIT=1", "build", "--target", component]
        for component in ("operator", "worker", "target", "system", "gateway", "proxy")
    ]


def test_a_docker_without_buildx_is_told_what_it_lacks(asked: Path) -> None:
    refused = build(WITHOUT_BUILDX, asked)
    assert refused.returncode == 1
    assert "Docker needs its buildx plug-in" in refused.stderr
    assert not asked.exists()
