"""Install, upgrade and uninstall against a real API server, which has no controllers: objects, not pods."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import helm
import pytest
import yaml
from api_server import CRDS, ApiServer
from guide import PAGES, yaml_file
from live_cluster import LiveCluster, Manifest, load_test

pytestmark = pytest.mark.xdist_group("own_api_server")

CRD = "sshloadtests.sshload.dev"


@dataclass(frozen=True, slots=True)
class Release:
    """A release of the chart in the namespace of one test."""

    cluster: LiveCluster

    def install(self, chart: Path = helm.CHART) -> None:
        """Install it, or upgrade it; the CRDs, which the test's server has from kubectl already, are taken over."""
        needed = ("--values", helm.NEEDED_VALUES)
        self._helm("upgrade", "--install", helm.RELEASE, chart, "--take-ownership", "--force-conflicts", *needed)

    def uninstall(self) -> None:
        """Uninstall it."""
        self._helm("uninstall", helm.RELEASE)

    def crd(self) -> dict[str, Any]:
        """Return the CRD as the server has it."""
        found: dict[str, Any] = json.loads(self.cluster.kubectl("get", "crd", CRD, "-o", "json"))
        return found

    def _helm(self, verb: str, *arguments: str | Path) -> None:
        where = (f"--kubeconfig={self.cluster.kubeconfig}", f"--namespace={self.cluster.namespace}")
        done = helm.helm(verb, *arguments, *where)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def release(own_api_server: ApiServer) -> Iterator[Release]:
    """Return the installed release, for all tests of this file that leave it installed."""
    release = Release(own_api_server.namespace())
    release.install()
    yield release
    release.uninstall()
    release.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(CRDS / "sshloadtests.yaml"))


def test_uninstalling_keeps_the_crd_and_the_tests_and_installing_takes_them_over_again(
    release: Release,
) -> None:
    cluster = release.cluster
    cluster.apply(load_test("kept"))
    uid = cluster.get("slt", "kept")["metadata"]["uid"]
    release.uninstall()
    assert cluster.get("slt", "kept")["metadata"]["uid"] == uid
    assert cluster.kubectl("get", "deployments", "-o", "name") == ""
    release.install()
    assert cluster.get("slt", "kept")["metadata"]["uid"] == uid


def test_upgrading_the_chart_upgrades_the_crd(release: Release, tmp_path: Path) -> None:
    newer = shutil.copytree(helm.CHART, tmp_path / "sshload")
    file = newer / "files/crds/sshloadtests.yaml"
    crd = yaml.load(file.read_text(), Loader=yaml.CSafeLoader)
    column = {"name": "Newer", "type": "string", "jsonPath": ".metadata.uid"}
    crd["spec"]["versions"][0]["additionalPrinterColumns"].append(column)
    file.write_text(yaml.dump(crd, Dumper=yaml.CSafeDumper))
    release.install(newer)
    columns = release.crd()["spec"]["versions"][0]["additionalPrinterColumns"]
    assert "Newer" in {found["name"] for found in columns}


FIRST_PAGE = "charts/sshload/README.md"
"""The only page that begins with nothing installed."""


def helm_commands(page: Path) -> list[str]:
    """Return the commands of a page that install, upgrade or uninstall, each on one line and once."""
    text = re.sub(r"\\\n\s*", "", page.read_text(encoding="utf-8"))
    return list(dict.fromkeys(re.findall(r"^ *(helm (?:upgrade|uninstall|rollback) .*)$", text, re.MULTILINE)))


LIKE_OTHERS = {"docs/how-to/arm64.md", "docs/how-to/gitops.md", "docs/tutorial/your-own-bastion.md"}
"""Pages whose commands differ from those of README.md in nothing but what a value is."""

HELM_PAGES = [
    pytest.param(page, marks=pytest.mark.full if page in LIKE_OTHERS else ())
    for path in (helm.ROOT / FIRST_PAGE, *PAGES)
    if helm_commands(path)
    for page in [str(path.relative_to(helm.ROOT))]
]


TAKEN = ("--take-ownership", "--force-conflicts", "--set", "crds.install=false")


@pytest.fixture(scope="module")
def installed(own_api_server: ApiServer) -> Manifest:
    """Return the Secret in which helm keeps a release with NEEDED_VALUES. An upgrade makes its objects again."""
    system = LiveCluster(own_api_server.kubectl_path, own_api_server.kubeconfig, helm.NAMESPACE)
    where = (f"--kubeconfig={system.kubeconfig}", f"--namespace={system.namespace}")
    needed = ("--values", helm.NEEDED_VALUES, "--create-namespace")
    done = helm.helm("upgrade", "--install", helm.RELEASE, helm.CHART, *needed, *TAKEN, *where)
    assert done.returncode == 0, done.stderr
    (found,) = system.labelled("secrets", f"owner=helm,name={helm.RELEASE}")
    helm.helm("uninstall", helm.RELEASE, *where)
    return {**found, "metadata": {name: found["metadata"][name] for name in ("name", "namespace", "labels")}}


@pytest.mark.parametrize("page", HELM_PAGES)
def test_the_helm_commands_of_a_page_work_as_written_in_their_order(
    cluster: LiveCluster, installed: Manifest, page: str, tmp_path: Path
) -> None:
    """Nothing waits, for no kubelet makes anything ready here. Objects of other tests' releases are taken over.

    There is no Prometheus operator here, so what a command makes that wants its objects is only rendered.
    """
    where = (f"--kubeconfig={cluster.kubeconfig}",)
    namespace = f"--namespace={helm.NAMESPACE}"
    if page != FIRST_PAGE:
        cluster.create(installed)
    for command in helm_commands(helm.ROOT / page):
        words = [here(helm.ROOT / page, word, tmp_path) for word in shlex.split(command)[1:] if word != "--wait"]
        if "monitoring." in command:
            rendered = [word for word in words[1:] if word != "--reset-then-reuse-values"]
            done = helm.helm("template", *rendered, "--values", helm.NEEDED_VALUES)
        else:
            done = helm.helm(*words, *(TAKEN if words[0] == "upgrade" else ()), *where)
        assert done.returncode == 0, f"{command}: {done.stderr}"
    helm.helm("uninstall", helm.RELEASE, "--ignore-not-found", namespace, *where)


def here(page: Path, word: str, folder: Path) -> str:
    """Return a word of a command, with the path of the file that it names: values of the page, or a packaged chart."""
    if word.endswith(".tgz"):
        registry = "registry.example.com/sshload"
        package = [helm.ROOT / "scripts/chart-package", registry, folder]
        return subprocess.run(package, capture_output=True, text=True, check=True, timeout=300).stdout.strip()
    shown = yaml_file(page, word) if word.endswith(".yaml") and "/" not in word else None
    if shown is None:
        return word
    (folder / word).write_text(shown.text, encoding="utf-8")
    return str(folder / word)


def test_what_the_notes_tell_to_apply_is_a_valid_test(cluster: LiveCluster) -> None:
    needed = ("--values", helm.NEEDED_VALUES)
    done = helm.helm("install", helm.RELEASE, helm.CHART, "--dry-run=client", "--set", "crds.install=false", *needed)
    assert done.returncode == 0, done.stderr
    notes = done.stdout.split("NOTES:")[1]
    document = yaml.safe_load(notes.split("<<'EOF'\n")[1].split("\n  EOF")[0])
    document["metadata"]["namespace"] = cluster.namespace
    cluster.apply(document)
    assert cluster.exists("slt", "first")
