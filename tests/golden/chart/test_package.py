import subprocess
from pathlib import Path

import helm
import yaml
from sshload_operator.api.load_test import parse

REGISTRY = "ghcr.io/someone"


def test_a_released_chart_takes_the_images_of_its_version_from_the_registry_of_its_release(tmp_path: Path) -> None:
    command = [helm.ROOT / "scripts/chart-package", REGISTRY, tmp_path]
    archive = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    made = helm.helm("template", "sshload", archive, "--set", "crds.install=false")
    version = yaml.safe_load((helm.CHART / "Chart.yaml").read_text(encoding="utf-8"))["appVersion"]
    for component in ("operator", "worker", "target"):
        assert f"{REGISTRY}/sshload-{component}:{version}" in made.stdout


def test_a_released_chart_links_its_alerts_to_the_docs_of_its_release(tmp_path: Path) -> None:
    docs = "https://git.example.com/someone/sshload/blob/v1/docs"
    command = [helm.ROOT / "scripts/chart-package", REGISTRY, tmp_path, docs]
    archive = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    rules = "crds.install=false,monitoring.prometheusRule.enabled=true"
    made = helm.helm("template", "sshload", archive, "--set", rules)
    assert f"runbook_url: {docs}/how-to/prometheus.md#sshloadoperatordown" in made.stdout


def test_a_released_chart_says_where_it_comes_from(tmp_path: Path) -> None:
    repository = "https://git.example.com/someone/loads"
    command = [helm.ROOT / "scripts/chart-package", REGISTRY, tmp_path, f"{repository}/blob/v1/docs"]
    archive = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    shown = helm.helm("show", "chart", archive).stdout
    chart = yaml.safe_load(shown)
    assert (chart["home"], chart["sources"], chart["maintainers"][0]["url"]) == (repository, [repository], repository)
    assert chart["icon"] == f"{repository}/raw/v1/docs/images/icon.svg"
    assert "OWNER" not in shown
    assert (helm.ROOT / "docs/images/icon.svg").exists()


def test_what_artifact_hub_shows_agrees_with_the_crds() -> None:
    annotations = yaml.safe_load((helm.CHART / "Chart.yaml").read_text(encoding="utf-8"))["annotations"]
    crds = [yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader) for path in helm.ROOT.glob("crds/*")]
    assert {
        (one["kind"], one["version"], one["name"]) for one in yaml.safe_load(annotations["artifacthub.io/crds"])
    } == {(crd["spec"]["names"]["kind"], crd["spec"]["versions"][0]["name"], crd["metadata"]["name"]) for crd in crds}
    for example in yaml.safe_load(annotations["artifacthub.io/crdsExamples"]):
        assert parse(example["spec"])
