"""Fixtures: an operator started when a test says so, a proxy before the API server, and the pods it would have."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from api_proxy import ApiProxy, api_proxy
from api_server import ApiServer
from live_cluster import LiveCluster
from operator_process import OperatorProcess
from played_pods import PlayedPods


@pytest.fixture
def proxy(api_server: ApiServer, tmp_path: Path) -> Iterator[ApiProxy]:
    """Run a proxy to the API server, which plays what the test wants."""
    with api_proxy(api_server.kubeconfig, tmp_path) as proxy:
        yield proxy


@pytest.fixture
def operator(proxy: ApiProxy, cluster: LiveCluster, tmp_path: Path) -> Iterator[OperatorProcess]:
    """Return an operator for the test's namespace, not yet started; it is ended after the test."""
    operator = OperatorProcess(proxy.kubeconfig, tmp_path, (cluster.namespace,), proxy.wait_until_unused)
    cluster.assertions.append(operator.assert_not_ended)
    yield operator
    operator.kill()
    assert "Traceback" not in operator.logs(), operator.logs()[-5000:]


@pytest.fixture
def pods(cluster: LiveCluster) -> Callable[[str], PlayedPods]:
    """Return the pods of a test by its name."""
    return lambda test: PlayedPods(cluster, test)
