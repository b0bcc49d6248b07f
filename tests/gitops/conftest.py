"""Flux's kustomize-controller, Argo CD's application controller and the operator as processes, at one API server."""

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from api_proxy import ApiProxy
from api_server import ApiServer, own_api_server
from argo_cd import Argo, argo_cd
from argo_cd_programs import ArgoPrograms, argo_programs
from flux import kustomize_controller
from flux_programs import FluxPrograms, flux_programs
from git_repository import GitRepository, git_repository
from live_cluster import LiveCluster
from operator_process import OperatorProcess, operator, pods, proxy
from played_pods import PlayedPods
from stages import EXAMPLE, TEST, Stages

ROOT = Path(__file__).parents[2]

__all__ = ["operator", "pods", "proxy"]


@pytest.fixture(scope="session")
def flux_made() -> FluxPrograms:
    """Flux's programs."""
    return flux_programs()


@pytest.fixture(scope="session")
def argo_made() -> ArgoPrograms:
    """Argo CD's programs."""
    return argo_programs()


@pytest.fixture(scope="session")
def api_server(
    flux_made: FluxPrograms, argo_made: ArgoPrograms, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApiServer]:
    """Run an API server that knows the kinds of Flux and of Argo CD."""
    with own_api_server(tmp_path_factory.mktemp("api-server")) as server:
        LiveCluster(server.kubectl_path, server.kubeconfig, "default").establish(flux_made.crds, argo_made.crds)
        yield server


@pytest.fixture(scope="session")
def flux_runs(
    flux_made: FluxPrograms, api_server: ApiServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], None]]:
    """Run the kustomize-controller, and return the assertion that it has not ended."""
    folder = tmp_path_factory.mktemp("flux")
    with kustomize_controller(flux_made.kustomize_controller, api_server.kubeconfig, folder) as assert_not_ended:
        yield assert_not_ended


@pytest.fixture
def flux(flux_runs: Callable[[], None], cluster: LiveCluster) -> None:
    """Let each wait of the test assert that the kustomize-controller has not ended."""
    cluster.assertions.append(flux_runs)


@pytest.fixture
def argo(argo_made: ArgoPrograms, api_server: ApiServer, cluster: LiveCluster, tmp_path: Path) -> Iterator[Argo]:
    """Run Argo CD for a namespace of the test's own."""
    own = replace(cluster, namespace=api_server.namespace().namespace)
    with argo_cd(argo_made, own, tmp_path) as argo:
        cluster.assertions.append(argo.assert_not_ended)
        yield argo


@pytest.fixture
def cluster(api_server: ApiServer) -> LiveCluster:
    """Return kubectl in the namespace of a test's own staging."""
    return api_server.namespace()


@pytest.fixture
def namespaces(cluster: LiveCluster, api_server: ApiServer) -> dict[str, LiveCluster]:
    """Return a namespace of the test's own for each that the example names."""
    production, system = (replace(cluster, namespace=api_server.namespace().namespace) for _ in range(2))
    return {"ssh-staging": cluster, "ssh-production": production, "flux-system": system}


@pytest.fixture
def repository(namespaces: dict[str, LiveCluster], tmp_path: Path) -> GitRepository:
    """Return a repository with the example, whose namespaces are the test's own; nothing is committed yet."""
    folder = tmp_path / "repository"
    shutil.copytree(ROOT / EXAMPLE, folder / EXAMPLE)
    for file in folder.rglob("*.yaml"):
        own = re.sub("|".join(namespaces), lambda found: namespaces[found[0]].namespace, file.read_text())
        file.write_text(own)
    return git_repository(folder)


@pytest.fixture
def stages(
    namespaces: dict[str, LiveCluster],
    operator: OperatorProcess,
    proxy: ApiProxy,
    pods: Callable[[str], PlayedPods],
) -> Stages:
    """Prepare the stages as the example asks for it: its host is allowed, and the test's Secrets are there."""
    staging = namespaces["ssh-staging"]
    for secret, key in (("bastion-credentials", "id"), ("bastion-known-hosts", "known_hosts")):
        staging.kubectl("create", "secret", "generic", secret, f"--from-literal={key}=any")
    host = f"bastion.{staging.namespace}.svc.cluster.local"
    operator.more_of_installation = f"externalTargets:\n- {{host: {host}, ports: [22]}}\n"
    return Stages(staging, namespaces["ssh-production"], proxy, pods(TEST))
