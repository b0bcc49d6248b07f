"""Which helm the project uses: an own one, that of the cluster's programs, or one in the PATH that is new enough."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def make_helm(path: Path, version: str) -> str:
    """Make a program that says it is this version of helm, and return its path."""
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)
    return str(path)


def found_helm(folder: Path) -> str:
    """Return the path that scripts/tool prints, with these caches and this PATH. It must not begin to compile."""
    environment = {
        **os.environ,
        "SSHLOAD_CACHE": f"{folder}/own",
        "SSHLOAD_CLUSTER_CACHE": f"{folder}/cluster",
        "PATH": f"{folder}/path:/usr/bin:/bin",
    }
    command = ["timeout", "20", ROOT / "scripts/tool", "helm"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def test_helm_of_the_clusters_programs_is_not_compiled_again(tmp_path: Path) -> None:
    make_helm(tmp_path / "path/helm", "v4.0.0+g99cd196")
    compiled = make_helm(tmp_path / "cluster/bin/helm", "v4.2")
    assert found_helm(tmp_path) == compiled


@pytest.mark.parametrize("unusable", ["v3.19.0+g3d8990f", ""])
def test_a_helm_3_or_a_broken_one_is_passed_over(tmp_path: Path, unusable: str) -> None:
    make_helm(tmp_path / "cluster/bin/helm", unusable)
    in_path = make_helm(tmp_path / "path/helm", "v4.0.0+g99cd196")
    assert found_helm(tmp_path) == in_path
