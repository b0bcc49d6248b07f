import subprocess
from pathlib import Path

import helm
import yaml

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
