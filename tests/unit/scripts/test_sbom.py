"""A bill of materials says what is in an image, also what package managers do not see, and which flaws are mended."""

import gzip
import hashlib
import io
import json
import re
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from contents.bill import UnlockedError, bill_of_materials
from contents.image_archive import read_image
from contents.packages import tells_of_packages

CREATED = "2026-09-18T00:00:00Z"


def write_image(archive: Path, layers: Iterable[Mapping[str, str | bytes]]) -> None:
    """Write an image for amd64. A layer is its files' contents by their paths, whiteouts among them."""
    blobs: dict[str, bytes] = {}

    def add(content: bytes) -> dict[str, str]:
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        return {"digest": f"sha256:{digest}"}

    manifest = {
        "config": add(json.dumps({"created": CREATED, "architecture": "amd64"}).encode()),
        "layers": [add(gzip.compress(_tar(layer), mtime=0)) for layer in layers],
    }
    index = {"manifests": [add(json.dumps(manifest).encode())]}
    archive.write_bytes(_tar({"index.json": json.dumps(index), **blobs}))


def _tar(files: Mapping[str, str | bytes]) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as tar:
        for path, text in files.items():
            content = text.encode() if isinstance(text, str) else text
            member = tarfile.TarInfo(path)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return written.getvalue()


ROOT = Path(__file__).parents[3]
SITE = "opt/sshload/lib/python3.13/site-packages"
DEBIAN = """\
Package: zlib1g
Status: install ok installed
Architecture: amd64
Source: zlib (1:1.3.1-1)
Version: 1:1.3.1-1+b1
Description: compression library
 Of many lines.

Package: removed
Status: deinstall ok config-files
Architecture: all
Version: 1
"""
COMPILED = {
    "bomFormat": "CycloneDX",
    "specVersion": "1.6",
    "components": [
        {"type": "library", "name": "libssh2", "version": "1.11.1", "licenses": [{"expression": "BSD-3-Clause"}]},
        {"type": "library", "name": "aws-lc", "version": "5.9.0"},
    ],
}


def distribution(name: str, version: str, *fields: str) -> dict[str, str]:
    metadata = "\n".join(["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", *fields, "", "A text."])
    return {f"{SITE}/{name}-{version}.dist-info/METADATA": metadata}


def locked(name: str) -> str:
    """Return the version of a package that the worker's lock has."""
    lines = (ROOT / "requirements/worker.txt").read_text(encoding="utf-8").splitlines()
    return next(line.split()[0].partition("==")[2] for line in lines if line.startswith(f"{name}=="))


def own_library() -> dict[str, str]:
    version = f"{locked('ssh2-python')}+sshload.1"
    return {
        **distribution("ssh2_python", version, "License: LGPL-2.1-only"),
        f"{SITE}/ssh2_python-{version}.dist-info/sboms/compiled.cdx.json": json.dumps(COMPILED),
    }


VENDOR = ROOT / "operator/sshload_operator/report/page/vendor"
PROJECT = {
    **distribution("sshload", "0.1.0", "License-Expression: Apache-2.0"),
    f"{SITE}/sshload-0.1.0.dist-info/sboms/scripts.cdx.json": (VENDOR / "scripts.cdx.json").read_text(encoding="utf-8"),
}
WORKER = (
    {"var/lib/dpkg/status": DEBIAN, "etc/passwd": "root"},
    {
        **distribution("pyzmq", locked("pyzmq"), "License-Expression: BSD-3-Clause"),
        **distribution("locust", locked("locust"), "License: MIT", "Requires-Dist: pyzmq>=25", "Requires-Dist: gone"),
        f"{SITE}/pyzmq.libs/libzmq-1a2b3c.so.5": "code",
    },
    {**own_library(), **PROJECT},
)


def bill(folder: Path, *layers: Mapping[str, str | bytes], of: str = "worker") -> dict[str, Any]:
    """Return an image's bill of materials."""
    archive = folder / "image.tar"
    write_image(archive, layers)
    made: dict[str, Any] = json.loads(bill_of_materials(of, read_image(archive, tells_of_packages), ROOT))
    return made


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return bill(tmp_path_factory.mktemp("worker"), *WORKER)


def component(of: Mapping[str, Any], name: str) -> dict[str, Any]:
    (found,) = (each for each in of["components"] if each["name"] == name)
    return dict(found)


@pytest.mark.slow
@pytest.mark.xdist_group("jsonschema")
def test_it_is_what_the_schema_allows(worker: dict[str, Any]) -> None:
    # Its import takes a second, which each process that collects this file would take.
    from cyclonedx.schema import SchemaVersion  # noqa: PLC0415
    from cyclonedx.validation.json import JsonStrictValidator  # noqa: PLC0415

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(worker)) is None


def test_it_is_of_the_image_by_its_digest_and_the_same_each_time(tmp_path: Path, worker: dict[str, Any]) -> None:
    image = worker["metadata"]["component"]
    assert (image["type"], image["name"], image["version"]) == ("container", "sshload-worker", "0.1.0")
    assert image["purl"] == f"pkg:oci/sshload-worker@sha256:{image['hashes'][0]['content']}?arch=amd64"
    assert bill(tmp_path, *WORKER) == worker


def test_a_python_package_has_its_licence_its_needs_and_the_hashes_of_the_lock(worker: dict[str, Any]) -> None:
    locust, pyzmq = component(worker, "locust"), component(worker, "pyzmq")
    assert locust["purl"] == f"pkg:pypi/locust@{locked('locust')}"
    assert locust["licenses"] == [{"license": {"id": "MIT"}}]
    hashes = {entry["content"] for entry in locust["externalReferences"][0]["hashes"]}
    assert hashes
    assert all(f"sha256:{value}" in (ROOT / "requirements/worker.txt").read_text(encoding="utf-8") for value in hashes)
    edges = {edge["ref"]: edge.get("dependsOn", []) for edge in worker["dependencies"]}
    assert edges[locust["bom-ref"]] == [pyzmq["bom-ref"]]


def test_a_debian_package_is_there_if_it_is_installed(worker: dict[str, Any]) -> None:
    assert component(worker, "zlib1g")["version"] == "1:1.3.1-1+b1"
    assert "upstream=zlib" in component(worker, "zlib1g")["purl"]
    assert "removed" not in {each["name"] for each in worker["components"]}


def test_shared_libraries_within_a_wheel_are_files_of_its_package(worker: dict[str, Any]) -> None:
    (library,) = component(worker, "pyzmq")["components"]
    assert (library["type"], library["name"]) == ("file", "pyzmq.libs/libzmq-1a2b3c.so.5")
    assert len(library["hashes"][0]["content"]) == 64


def test_libssh2_has_every_patch_and_every_flaw_that_patches_name(worker: dict[str, Any]) -> None:
    ssh2 = component(worker, "ssh2-python")
    libssh2 = component(ssh2, "libssh2")
    files = [patch["diff"]["url"] for each in (ssh2, libssh2) for patch in each["pedigree"]["patches"]]
    assert sorted(files) == sorted(
        f"ssh-library/patches/{path.name}" for path in (ROOT / "ssh-library/patches").glob("*.patch")
    )
    issues = [issue for patch in libssh2["pedigree"]["patches"] for issue in patch.get("resolves", ())]
    resolved = {issue["id"] for issue in issues if "id" in issue}
    assert {"CVE-2026-55200", "CVE-2025-15661", "GHSA-m9rg-h9jv-9gvh"} <= resolved
    assert len([flaw for flaw in resolved if flaw.startswith("CVE-")]) == 10
    assert {patch["type"] for patch in libssh2["pedigree"]["patches"]} == {"backport", "unofficial"}


def test_libssh2_stands_on_the_library_compiled_in_and_on_debians_zlib(worker: dict[str, Any]) -> None:
    edges = {edge["ref"]: edge.get("dependsOn", []) for edge in worker["dependencies"]}
    ssh2 = component(worker, "ssh2-python")
    below = {component(ssh2, "aws-lc")["bom-ref"], component(worker, "zlib1g")["bom-ref"]}
    assert set(edges[component(ssh2, "libssh2")["bom-ref"]]) == below


@pytest.mark.parametrize(("file", "name"), [("d3.min.js", "d3"), ("plot.umd.min.js", "@observablehq/plot")])
def test_the_scripts_of_a_report_are_parts_of_the_project(worker: dict[str, Any], file: str, name: str) -> None:
    found = component(component(worker, "sshload"), name)
    first_line = (VENDOR / file).read_text(encoding="utf-8").partition("\n")[0]
    assert f"v{found['version']} Copyright" in first_line


def test_the_operators_image_has_what_the_command_needs_too(tmp_path: Path) -> None:
    rich = re.search(r"^rich==(\S+)", (ROOT / "requirements/cli.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert rich is not None
    made = bill(tmp_path, WORKER[0], {**distribution("rich", rich[1]), **PROJECT}, of="operator")
    assert component(made, "rich")["externalReferences"]


def test_what_a_later_layer_removes_or_replaces_is_not_there(tmp_path: Path) -> None:
    old, new = distribution("brotli", "0.1"), distribution("brotli", locked("brotli"))
    made = bill(tmp_path, *WORKER, old, {f"{SITE}/.wh.brotli-0.1.dist-info": "", **new}, {f"{SITE}/.wh.pyzmq.libs": ""})
    assert component(made, "brotli")["version"] == locked("brotli")
    assert "components" not in component(made, "pyzmq")


def test_a_package_that_no_lock_has_ends_it(tmp_path: Path) -> None:
    with pytest.raises(UnlockedError, match=r"locust 0\.0\.1, which requirements/ do not lock"):
        bill(tmp_path, *WORKER[::2], distribution("locust", "0.0.1"))
