"""examples/gitops: what kustomize makes of it is valid, and production waits for the capacity of the same version."""

import json
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import argo_lua
import pytest
import yaml
from api_server import ApiServer
from live_cluster import LiveCluster
from sshload_operator.api.load_test import parse
from sshload_operator.cli.commands import main
from sshload_operator.planning.plan import spec_hash

pytestmark = pytest.mark.xdist_group("gitops_examples")  # the examples name their namespaces

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "examples/gitops"
IMAGE = "registry.example.com/bastion"
Object = Mapping[str, Any]
FLUX = list(yaml.safe_load_all((FOLDER / "flux-kustomization.yaml").read_text()))
STAGES = {found["metadata"]["name"]: found["spec"] for found in FLUX if found["kind"] == "Kustomization"}
(APPLICATION,) = yaml.safe_load_all((FOLDER / "argocd-application.yaml").read_text())


@pytest.fixture(scope="module")
def kubectl(api_server: ApiServer) -> LiveCluster:
    """Return kubectl, with the namespaces that the examples are for.

    Other tests that play the guide make some of them too, before or after these.
    """
    cluster = LiveCluster(api_server.kubectl_path, api_server.kubeconfig, "default")
    for name in ("argocd", "ssh-staging", "ssh-production"):
        cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return cluster


def built(kubectl: LiveCluster, folder: Path) -> list[dict[str, Any]]:
    """Return what kustomize makes of a folder."""
    return list(yaml.safe_load_all(kubectl.kubectl("kustomize", str(folder))))


def one_test(objects: list[dict[str, Any]]) -> dict[str, Any]:
    (found,) = (found for found in objects if found["kind"] == "SSHLoadTest")
    return found


def images(objects: list[dict[str, Any]]) -> dict[str, str]:
    """Return the images of the bastions by namespace."""
    return {
        found["metadata"]["namespace"]: found["spec"]["template"]["spec"]["containers"][0]["image"]
        for found in objects
        if found["kind"] == "Deployment"
    }


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("kustomization.yaml")), ids=lambda path: path.parent.name)
def test_every_kustomization_can_be_built_but_for_the_version_alone(path: Path, kubectl: LiveCluster) -> None:
    if yaml.safe_load(path.read_text())["kind"] == "Component":
        assert path.parent == FOLDER / "release"
    else:
        assert built(kubectl, path.parent)


@pytest.mark.parametrize(
    ("overlay", "namespace"),
    [
        ("bastion/overlays/staging", "ssh-staging"),
        ("capacity/overlays/staging", "ssh-staging"),
        ("bastion/overlays/production", "ssh-production"),
    ],
)
def test_a_real_api_server_takes_every_overlay(overlay: str, namespace: str, kubectl: LiveCluster) -> None:
    replace(kubectl, namespace=namespace).kubectl("apply", "-k", str(FOLDER / overlay), "--dry-run=server")


def test_the_test_is_valid_and_promises_a_capacity(
    kubectl: LiveCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "test.yaml"
    file.write_text(yaml.safe_dump(staging_test(kubectl)))
    monkeypatch.setattr(sys, "argv", ["sshload", "validate", str(file)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert capsys.readouterr().out == f"{file}: bastion-capacity: valid\n"
    assert parse(staging_test(kubectl)["spec"]).capacity_thresholds


def staging_test(kubectl: LiveCluster) -> dict[str, Any]:
    return one_test(built(kubectl, FOLDER / "capacity/overlays/staging"))


def test_the_base_is_a_valid_test_too(kubectl: LiveCluster) -> None:
    assert parse(one_test(built(kubectl, FOLDER / "capacity/base"))["spec"])


def test_one_line_rolls_a_version_out_everywhere_and_has_it_measured(kubectl: LiveCluster, tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "gitops")
    release = tmp_path / "gitops/release/kustomization.yaml"
    before = built(kubectl, tmp_path / "gitops/argocd")
    release.write_text(re.sub("newTag: .*", "newTag: 2.0.0", release.read_text()))
    after = built(kubectl, tmp_path / "gitops/argocd")
    assert images(after) == dict.fromkeys(("ssh-staging", "ssh-production"), f"{IMAGE}:2.0.0")
    old, new = one_test(before), one_test(after)
    assert new["spec"]["triggers"] == {"bastion": f"{IMAGE}:2.0.0"}
    assert spec_hash(parse(new["spec"])) != spec_hash(parse(old["spec"]))
    new["spec"]["triggers"] = old["spec"]["triggers"] = {}
    assert new == old


def test_the_measured_host_is_the_service_of_staging(kubectl: LiveCluster) -> None:
    objects = built(kubectl, FOLDER / "argocd")
    services = [found["metadata"] for found in objects if found["kind"] == "Service"]
    hosts = {f"{found['name']}.{found['namespace']}.svc.cluster.local" for found in services}
    host = one_test(objects)["spec"]["target"]["external"]["host"]
    assert host in hosts
    assert "staging" in host


def test_argo_cd_goes_from_staging_over_the_capacity_to_production(kubectl: LiveCluster) -> None:
    source = APPLICATION["spec"]["source"]
    waves: dict[tuple[str, str], int] = {}
    for found in built(kubectl, ROOT / source["path"]):
        metadata = found["metadata"]
        wave = int(metadata["annotations"]["argocd.argoproj.io/sync-wave"])
        assert waves.setdefault((found["kind"], metadata["namespace"]), wave) == wave
    assert waves == {
        ("Deployment", "ssh-staging"): 0,
        ("Service", "ssh-staging"): 0,
        ("SSHLoadTest", "ssh-staging"): 1,
        ("Deployment", "ssh-production"): 2,
        ("Service", "ssh-production"): 2,
    }


def test_flux_goes_from_staging_over_the_capacity_to_production(kubectl: LiveCluster) -> None:
    needs = {name: [other["name"] for other in spec.get("dependsOn", ())] for name, spec in STAGES.items()}
    assert needs == {
        "bastion-staging": [],
        "bastion-capacity": ["bastion-staging"],
        "bastion-production": ["bastion-capacity"],
    }
    places = {name: images(built(kubectl, ROOT / spec["path"])) for name, spec in STAGES.items()}
    assert [list(place) for place in places.values()] == [["ssh-staging"], [], ["ssh-production"]]


def test_flux_takes_all_three_from_one_source_so_that_they_wait_for_the_same_revision() -> None:
    (source,) = (found for found in FLUX if found["kind"] == "GitRepository")
    reference = {"kind": source["kind"], "name": source["metadata"]["name"]}
    assert all(spec["sourceRef"] == reference for spec in STAGES.values())


def test_fluxs_health_check_is_of_the_test_and_outlasts_its_deadline(kubectl: LiveCluster) -> None:
    stage = STAGES["bastion-capacity"]
    test = one_test(built(kubectl, ROOT / stage["path"]))
    (check,) = stage["healthChecks"]
    assert check == {
        "apiVersion": test["apiVersion"],
        "kind": test["kind"],
        "name": test["metadata"]["name"],
        "namespace": test["metadata"]["namespace"],
    }
    assert int(stage["timeout"].removesuffix("m")) * 60 > parse(test["spec"]).deadline_s
    assert all(stage.get("wait") or stage.get("healthChecks") for stage in STAGES.values())


def test_nothing_deletes_itself_only_to_be_applied_anew(kubectl: LiveCluster) -> None:
    assert all("ttlAfterFinished" not in found["spec"] for found in each_test(kubectl))


def each_test(kubectl: LiveCluster) -> Iterator[dict[str, Any]]:
    for folder in ("capacity/base", "capacity/overlays/staging", "argocd"):
        yield one_test(built(kubectl, FOLDER / folder))


def test_the_guides_command_gives_argo_cd_the_scripts_and_takes_nothing_away(kubectl: LiveCluster) -> None:
    argo_cd = replace(kubectl, namespace="argocd")
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "argocd-cm"}}
    own = json.dumps({**config_map, "data": {"url": "https://argocd.example.com"}})
    # As a manager of its own: the test of the guide's commands applies a ConfigMap of this name without data.
    argo_cd.kubectl("apply", "--server-side", "--field-manager=argo-cd", "-f", "-", stdin=own)
    page = (ROOT / "docs/how-to/gitops.md").read_text()
    (command,) = (line for line in page.splitlines() if line.startswith("kubectl patch configmap"))
    _, *words = command.replace("charts/", f"{ROOT}/charts/").split()
    kubectl.kubectl(*words)
    data = argo_cd.get("configmap", "argocd-cm")["data"]
    assert data.pop("url") == "https://argocd.example.com"
    assert data == yaml.safe_load(argo_lua.FILE.read_text())["data"]
    assert len(data) == 2 * len(argo_lua.KINDS)
