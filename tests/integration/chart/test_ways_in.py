"""Other ways to install than `helm install` of the chart itself: as a dependency, and by kubectl."""

import json
import shutil
from pathlib import Path
from typing import Any

import helm
import pytest
import yaml
from api_server import ApiServer

pytestmark = pytest.mark.xdist_group("own_api_server")

REGISTRY = {"image": {"registry": "registry.example.com/sshload"}}
WITHOUT_CRDS = ("--set", "crds.install=false")
"""For an API server that has them: to apply them once more takes it and helm more CPU than all other objects."""
SHARED: dict[str, Any] = {"storageClass": "fast", "imagePullSecrets": None, "postgresql": {"auth": {"database": "a"}}}


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    """Return a chart that has this one as a dependency, under the alias `loads` and the condition `loads.enabled`."""
    dependency = {"name": "sshload", "version": "*", "alias": "loads", "condition": "loads.enabled"}
    chart = {"apiVersion": "v2", "name": "platform", "version": "1.0.0", "dependencies": [dependency]}
    folder = tmp_path / "platform"
    folder.mkdir()
    (folder / "Chart.yaml").write_text(yaml.safe_dump(chart))
    shutil.copytree(helm.CHART, folder / "charts/sshload")
    return folder


def made(parent: Path, tmp_path: Path, **values: Any) -> list[dict[str, Any]]:
    """Return what helm makes of the chart that has the dependency."""
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    done = helm.helm("template", helm.RELEASE, parent, "--values", file)
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.load_all(done.stdout, Loader=yaml.CSafeLoader) if one]


@pytest.mark.parametrize("shared", [pytest.param({}, id="none"), pytest.param(SHARED, id="some")])
def test_a_dependency_may_have_a_condition_and_values_of_all_charts(
    parent: Path, tmp_path: Path, shared: dict[str, Any]
) -> None:
    on = made(parent, tmp_path, **{"global": shared}, loads={"enabled": True, **REGISTRY, "crds": {"install": False}})
    assert "Deployment" in {one["kind"] for one in on}
    assert made(parent, tmp_path, **{"global": shared}, loads={"enabled": False, **REGISTRY}) == []


def test_the_registry_and_pull_secrets_of_all_charts_are_those_of_every_image(parent: Path, tmp_path: Path) -> None:
    shared = {"imageRegistry": "mirror.example.com:5000", "imagePullSecrets": [{"name": "mirror"}]}
    found = made(parent, tmp_path, **{"global": shared}, loads={**REGISTRY, "crds": {"install": False}})
    (operator,) = (one["spec"]["template"]["spec"] for one in found if one["kind"] == "Deployment")
    assert operator["imagePullSecrets"] == [{"name": "mirror"}]
    (settings,) = (
        one["data"]["installation.yaml"] for one in found if one["metadata"]["name"].endswith("-installation")
    )
    told = yaml.safe_load(settings)
    images = [
        operator["containers"][0]["image"],
        *(told[f"{part}Image"] for part in ("worker", "target", "proxy", "gateway")),
    ]
    assert {image.rpartition("/")[0] for image in images} == {"mirror.example.com:5000/sshload"}
    assert told["imagePullSecrets"] == ["mirror"]


def test_a_rendered_chart_that_kubectl_applies_starts_no_load(own_api_server: ApiServer) -> None:
    cluster = own_api_server.namespace()
    where = ("--namespace", cluster.namespace, "--values", helm.NEEDED_VALUES)
    own = ("--set", f"crds.install=false,lease.namespace={cluster.namespace}")  # the server has the CRDs by kubectl
    rendered = helm.helm("template", helm.RELEASE, helm.CHART, *where, *own)
    assert rendered.returncode == 0, rendered.stderr
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=rendered.stdout)
    assert cluster.kubectl("get", "deployments", "-o", "name") == "deployment.apps/sshload-operator\n"
    assert cluster.kubectl("get", "sshloadtests,pods", "-o", "name") == ""


def test_an_installed_chart_has_the_load_of_helm_test(own_api_server: ApiServer) -> None:
    cluster = own_api_server.namespace()
    where = (f"--kubeconfig={cluster.kubeconfig}", "--namespace", cluster.namespace)
    options = (*WITHOUT_CRDS, "--values", helm.NEEDED_VALUES)
    done = helm.helm("upgrade", "--install", helm.RELEASE, helm.CHART, *options, *where)
    assert done.returncode == 0, done.stderr
    hooks = helm.helm("get", "hooks", helm.RELEASE, *where).stdout
    assert {one["kind"] for one in yaml.safe_load_all(hooks) if one} == {"SSHLoadTest", "Pod"}
    assert json.loads(cluster.kubectl("get", "sshloadtests", "-o", "json"))["items"] == []
    helm.helm("uninstall", helm.RELEASE, *where)


OF_MOST_KINDS = ("everything", "grants", "namespaced")
GOLDEN = [
    pytest.param(values, id=values.parent.name, marks=() if values.parent.name in OF_MOST_KINDS else pytest.mark.full)
    for values in sorted((helm.ROOT / "tests/golden/chart").glob("*/values.yaml"))
]


def names(namespace: str, *arguments: str | Path) -> set[tuple[str, str, str]]:
    """Return kind, namespace and name of all that a release in a namespace makes, but what all of them share."""
    where = ("--namespace", namespace, helm.IN_CLUSTER, "--set", "crds.install=false", "--set", "extraObjects=null")
    done = helm.helm("template", helm.RELEASE, helm.CHART, *where, "--values", helm.NEEDED_VALUES, *arguments)
    assert done.returncode == 0, done.stderr
    found = [one for one in yaml.load_all(done.stdout, Loader=yaml.CSafeLoader) if one]
    return {(one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]) for one in found}


@pytest.mark.parametrize("values", GOLDEN)
def test_releases_of_one_name_in_two_namespaces_share_no_object(values: Path) -> None:
    """Not even where they watch the same namespaces: each would take away what the other one made."""
    first, second = (names(namespace, "--values", values) for namespace in ("loads", "other-loads"))
    assert len(first) == len(second) > 3
    assert first & second == set()


def test_a_second_release_of_one_name_for_all_namespaces_can_be_installed_and_leaves_the_first_its_rights(
    own_api_server: ApiServer,
) -> None:
    clusters = own_api_server.namespace(), own_api_server.namespace()
    for cluster in clusters:
        where = (f"--kubeconfig={cluster.kubeconfig}", "--namespace", cluster.namespace)
        done = helm.helm("install", helm.RELEASE, helm.CHART, *WITHOUT_CRDS, "--values", helm.NEEDED_VALUES, *where)
        assert done.returncode == 0, done.stderr
    bindings = json.loads(clusters[0].kubectl("get", "clusterrolebindings", "-o", "json"))["items"]
    bound = [subject.get("namespace") for binding in bindings for subject in binding.get("subjects", ())]
    assert [bound.count(cluster.namespace) for cluster in clusters] == [1, 1]
    for cluster in clusters:
        helm.helm("uninstall", helm.RELEASE, f"--kubeconfig={cluster.kubeconfig}", "--namespace", cluster.namespace)
