"""What `pipx install .` and the package index give a stranger: archives that are whole, and a command that runs."""

import email
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from email.message import Message
from pathlib import Path, PurePosixPath

import pytest
from testing.machine import CACHE

ROOT = Path(__file__).parents[3]
VENV = ROOT / ".venv/bin"
URL = "https://github.com/acme/sshload"
PACKAGES = {"sshload_contract", "sshload_gateway", "sshload_operator", "sshload_target", "sshload_worker"}
TINY = """
apiVersion: sshload.dev/v1alpha1
kind: SSHLoadTest
metadata: {name: tiny}
spec:
  target: {managed: {}}
  scenario: {steps: [{exec: {command: "true"}}]}
  load: {arrivals: {stages: [{rate: 5, duration: 2s}]}}
"""


@dataclass(frozen=True, slots=True)
class Built:
    """The source archive, and the wheel that was built from what is in it."""

    sources: Path
    wheel: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("built")
    subprocess.run([ROOT / "scripts/python-package", folder, URL, "v1.2.3"], check=True, stdout=subprocess.PIPE)
    (sources,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return Built(sources, wheel)


@pytest.fixture(scope="module")
def metadata(built: Built) -> Message:
    with zipfile.ZipFile(built.wheel) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(wheel.read(name))


@pytest.fixture(scope="module")
def programs(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an empty virtual environment into which the wheel was installed, with what it asks for."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    uv = [VENV / "uv", "--cache-dir", CACHE / "uv", "--quiet"]
    index = os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("PIP_INDEX_URL")  # uv does not read pip's
    environment = {**os.environ, **({"UV_DEFAULT_INDEX": index} if index else {})}
    subprocess.run([*uv, "venv", "--python", sys.executable, folder], check=True, env=environment)
    locked = ["--constraints", ROOT / "requirements/dev.txt"]
    command = [*uv, "pip", "install", "--python", folder / "bin/python", *locked, built.wheel]
    subprocess.run(command, check=True, env=environment)
    return folder / "bin"


def test_the_wheel_has_the_five_packages_and_no_test_and_no_corpus(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        files = [PurePosixPath(name) for name in wheel.namelist()]
    assert {file.parts[0] for file in files if not file.parts[0].endswith(".dist-info")} == PACKAGES
    assert [str(file) for file in files if {"tests", "test", "corpus", "__pycache__"} & set(file.parts)] == []


def test_the_source_archive_has_what_the_wheel_and_the_ssh_library_are_built_from_and_no_test(built: Built) -> None:
    with tarfile.open(built.sources) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "ssh-library/build-wheel", "requirements/ssh2-source.txt"} <= files
    assert {f"ssh-library/patches/{patch.name}" for patch in (ROOT / "ssh-library/patches").glob("*.patch")} <= files
    assert [file for file in files if file.startswith(("tests/", "docs/", "."))] == [".gitignore"]


def test_the_index_learns_who_made_it_and_where_to_read_more(metadata: Message) -> None:
    assert metadata["Author"] == "The sshload authors"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert "openssh" in metadata["Keywords"]
    assert "Programming Language :: Python :: 3.13" in metadata.get_all("Classifier", [])
    links = dict(link.split(", ") for link in metadata.get_all("Project-URL", []))
    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog"} == set(links)
    assert links["Changelog"] == f"{URL}/blob/v1.2.3/CHANGELOG.md"


def test_each_link_of_the_page_at_the_index_leads_to_the_release_s_repository(metadata: Message) -> None:
    text = metadata.get_payload()
    assert isinstance(text, str)
    assert f"({URL}/raw/v1.2.3/docs/images/report.png)" in text
    targets = re.findall(r"\]\(([^)]*)\)", text)
    assert len(targets) > 20
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []


def test_the_gateway_s_libraries_come_only_with_its_extra(metadata: Message) -> None:
    wanted = metadata.get_all("Requires-Dist", [])
    assert metadata.get_all("Provides-Extra") == ["gateway"]
    assert [one for one in wanted if "fastapi" in one] == [
        one for one in wanted if one.startswith("fastapi") and "extra" in one
    ]


@pytest.mark.slow
def test_the_installed_command_says_what_it_can_do(programs: Path) -> None:
    done = subprocess.run([programs / "sshload", "--help"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Run a test here, without a cluster" in done.stdout


@pytest.mark.slow
def test_the_installed_gateway_says_in_one_sentence_what_it_lacks(programs: Path) -> None:
    done = subprocess.run([programs / "sshload-gateway"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "sshload-gateway: No module named 'uvloop': "
        "install sshload with its extra gateway, for instance by pipx install '.[gateway]'\n"
    )


@pytest.mark.slow
def test_the_installed_command_loads_this_machine_s_sshd_and_says_that_it_lacks_our_ssh_library(
    programs: Path, tmp_path: Path
) -> None:
    loaded, refused = (run_tiny(programs, tmp_path, library) for library in ("openssh", "ssh2-python"))
    assert json.loads(loaded.stdout)["status"]["results"]["steps"], loaded.stderr
    assert (refused.returncode, refused.stdout) == (4, "")
    assert "has to be 1.2.0.post1+sshload.4" in refused.stderr


def run_tiny(programs: Path, folder: Path, library: str) -> subprocess.CompletedProcess[str]:
    (folder / "tiny.yaml").write_text(f"{TINY}  client: {{library: {library}}}\n", encoding="utf-8")
    command = [programs / "sshload", "run", "tiny.yaml", "-o", "json"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
