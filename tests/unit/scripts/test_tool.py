"""Which helm the project uses: an own one, that of the cluster's programs, or one in the PATH that is new enough."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GO_MOD = ROOT / "tests/cluster/programs/go.mod"


def make_helm(path: Path, version: str) -> str:
    """Make a program that says it is this version of helm, and return its path."""
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)
    return str(path)


def compile_with_cluster(folder: Path, version: str, sources: str | None = None) -> str:
    """Make a helm in the cluster's cache as if it had been compiled from these sources, by default from today's."""
    script = '. "$0/lib/build.sh"; here=$0; module_key programs'
    today = subprocess.check_output(["bash", "-c", script, ROOT / "tests/cluster"], text=True)
    path = make_helm(folder / "cluster/bin/helm", version)
    (folder / "cluster/bin/.programs").write_text(sources or today)
    return path


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


def test_a_helm_that_was_compiled_by_itself_comes_first(tmp_path: Path) -> None:
    """Its version is the one that the cluster's programs have."""
    (version,) = re.findall(r"helm\.sh/helm/v4 (v\S+)", GO_MOD.read_text(encoding="utf-8"))
    compile_with_cluster(tmp_path, "v4.2")
    own = make_helm(tmp_path / "own/bin" / version / "helm", "v4.2")
    assert found_helm(tmp_path) == own


def test_helm_of_the_clusters_programs_is_not_compiled_again(tmp_path: Path) -> None:
    make_helm(tmp_path / "path/helm", "v4.0.0+g99cd196")
    compiled = compile_with_cluster(tmp_path, "v4.2")
    assert found_helm(tmp_path) == compiled


def test_a_helm_of_other_sources_than_todays_is_passed_over(tmp_path: Path) -> None:
    """A version that go.mod had before, or has in another checkout, is not what is tested here."""
    compile_with_cluster(tmp_path, "v4.2", sources="0123456789abcdef\n")
    in_path = make_helm(tmp_path / "path/helm", "v4.0.0+g99cd196")
    assert found_helm(tmp_path) == in_path


@pytest.mark.parametrize("unusable", ["v3.19.0+g3d8990f", ""])
def test_a_helm_3_or_a_broken_one_is_passed_over(tmp_path: Path, unusable: str) -> None:
    compile_with_cluster(tmp_path, unusable)
    in_path = make_helm(tmp_path / "path/helm", "v4.0.0+g99cd196")
    assert found_helm(tmp_path) == in_path
