"""A real API server, once for all integration tests that ask for it, and a namespace for each of them."""

import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from below import none_left_behind

# The worker's tests, which are below this file too, let gevent patch their process before HTTP clients are imported.
if TYPE_CHECKING:
    from api_server import ApiServer
    from live_cluster import LiveCluster


_AGENTS = "sshload_worker.login.private_key"
_MACHINE = "sshload_worker.clients.mina.virtual_machine"
SHORTEST = Path(__file__).parent / "api_server"
"""The folder of thousands of tests that each ask the API server once."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the shortest tests last: those that wait come to their ends meanwhile, and all lanes end together."""
    items.sort(key=lambda item: item.path.is_relative_to(SHORTEST))


def pytest_runtest_teardown() -> None:
    """End the commands `sshload` that a test has started and not waited for."""
    if "local_cli" in sys.modules:
        sys.modules["local_cli"].end_what_is_under_way()


@pytest.fixture(scope="session", autouse=True)
def _none_left_behind() -> Iterator[None]:
    """Fail at the end of the last test where programs that tests have started run on."""
    with none_left_behind():
        yield
        if "warm_processes" in sys.modules:
            sys.modules["warm_processes"].end_what_is_forked()
        if _AGENTS in sys.modules:
            for agent in (one for one in gc.get_objects() if isinstance(one, sys.modules[_AGENTS].Agent)):
                agent.end()  # it ends with its process otherwise
        if _MACHINE in sys.modules and sys.modules[_MACHINE].virtual_machine.cache_info().currsize:
            sys.modules[_MACHINE].virtual_machine().end()  # a worker ends it when it ends


@pytest.fixture(scope="session")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator["ApiServer"]:
    """The API server of the whole layer, where there is one, else one of this process. Tests change no CRD of it."""
    from api_server import api_server as running_api_server  # noqa: PLC0415 - see above

    with running_api_server(tmp_path_factory.mktemp("api-server")) as server:
        yield server


@pytest.fixture(scope="session")
def own_api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator["ApiServer"]:
    """An API server for tests that change CRDs or cluster roles. They are of the xdist group "own_api_server"."""
    from api_server import own_api_server as running_own_api_server  # noqa: PLC0415 - see above

    with running_own_api_server(tmp_path_factory.mktemp("own-api-server")) as server:
        yield server


@pytest.fixture
def cluster(api_server: "ApiServer") -> "LiveCluster":
    """Return kubectl for the API server, in a namespace of the test's own."""
    return api_server.namespace()
