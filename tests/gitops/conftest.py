"""Flux's kustomize-controller and the operator as processes, at an API server with Flux's CRDs."""

from collections.abc import Callable, Iterator

import pytest
from api_server import ApiServer, own_api_server
from flux import kustomize_controller
from flux_programs import FluxPrograms, flux_programs
from live_cluster import LiveCluster
from operator_fixtures import operator, pods, proxy

__all__ = ["operator", "pods", "proxy"]


@pytest.fixture(scope="session")
def programs() -> FluxPrograms:
    """Flux's programs."""
    return flux_programs()


@pytest.fixture(scope="session")
def api_server(programs: FluxPrograms, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """Run an API server that knows Flux's kinds."""
    with own_api_server(tmp_path_factory.mktemp("api-server")) as server:
        kubectl = LiveCluster(server.kubectl_path, server.kubeconfig, "default").kubectl
        kubectl("apply", "--server-side", "-f", str(programs.crds))
        kubectl("wait", "--for=condition=Established", "-f", str(programs.crds), "--timeout=60s")
        yield server


@pytest.fixture(scope="session")
def flux(
    programs: FluxPrograms, api_server: ApiServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], None]]:
    """Run the kustomize-controller, and return the assertion that it has not ended."""
    folder = tmp_path_factory.mktemp("flux")
    with kustomize_controller(programs.kustomize_controller, api_server.kubeconfig, folder) as assert_not_ended:
        yield assert_not_ended


@pytest.fixture
def cluster(api_server: ApiServer, flux: Callable[[], None]) -> LiveCluster:
    """Return kubectl in the namespace of a test's own staging."""
    cluster = api_server.namespace()
    cluster.assertions.append(flux)
    return cluster
