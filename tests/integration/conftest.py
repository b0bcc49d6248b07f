"""A real API server, once for all integration tests that ask for it, and a namespace for each of them."""

from collections.abc import Iterator

import pytest
from api_server import ApiServer
from api_server import api_server as running_api_server
from live_cluster import LiveCluster


@pytest.fixture(scope="session")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """Run a real etcd and kube-apiserver with the project's CRDs."""
    with running_api_server(tmp_path_factory.mktemp("api-server")) as server:
        yield server


@pytest.fixture
def cluster(api_server: ApiServer) -> LiveCluster:
    """Return kubectl for the API server, in a namespace of the test's own."""
    return api_server.namespace()
