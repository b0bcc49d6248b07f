"""Each file that names versions of others is looked at for newer ones."""

import json
import subprocess
from pathlib import Path, PurePosixPath

import pytest
import yaml

ROOT = Path(__file__).parents[3]
UPDATES = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text(encoding="utf-8"))["updates"]
VENDOR = ROOT / "operator/sshload_operator/report/page/vendor"
OLDEST = "/tests/cluster/kubernetes-oldest"  # which is to stay


def watched(ecosystem: str) -> set[str]:
    (update,) = (one for one in UPDATES if one["package-ecosystem"] == ecosystem)
    return {update["directory"]} if "directory" in update else set(update["directories"])


def folders_with(name: str) -> set[str]:
    listed = subprocess.check_output(["git", "ls-files", f"*{name}"], cwd=ROOT, text=True).split()
    return {str(PurePosixPath("/", path).parent) for path in listed if PurePosixPath(path).name == name}


@pytest.mark.parametrize(
    ("ecosystem", "name"),
    [("docker", "Dockerfile"), ("gomod", "go.mod"), ("maven", "pom.xml"), ("npm", "package.json")],
)
def test_every_folder_with_such_a_file_is_watched(ecosystem: str, name: str) -> None:
    assert watched(ecosystem) == folders_with(name) - {OLDEST}


def test_python_s_bounds_and_locks_are_watched_and_so_are_the_actions() -> None:
    assert watched("pip") == {"/", "/requirements"}
    assert watched("github-actions") == {"/"}


def test_the_scripts_of_reports_have_the_versions_that_are_watched() -> None:
    watched_versions = json.loads((VENDOR / "package.json").read_text(encoding="utf-8"))["dependencies"]
    bill = json.loads((VENDOR / "scripts.cdx.json").read_text(encoding="utf-8"))["components"]
    assert watched_versions == {component["name"]: component["version"] for component in bill}
