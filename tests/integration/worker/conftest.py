"""A real sshd, and one iteration or one whole run against it, with ssh2-python as the worker's image has it.

The process of these tests is patched for gevent, as a worker is.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from gevent_process import patch_for_gevent
from own_ssh2 import import_own_ssh2
from ssh_server import Keys, SshServer, make_keys, ssh_server

_WHOLE_RUNS = {"whole_run", "master_here"}


def pytest_configure(config: pytest.Config) -> None:
    """Prepare the process before test modules are imported."""
    patch_for_gevent(config)
    import_own_ssh2()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of whole runs first: they take longest, and what comes last should be short in every lane."""
    items.sort(key=lambda item: isinstance(item, pytest.Function) and _WHOLE_RUNS.isdisjoint(vars(item.module)))


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    """Make the keys of all servers of these tests."""
    return make_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def start_sshd(tmp_path: Path, keys: Keys) -> Iterator[Callable[[str], SshServer]]:
    """Return a function that starts a server with more directives; it ends with the test."""
    with ExitStack() as servers:
        yield lambda directives: servers.enter_context(ssh_server(tmp_path, keys, directives))


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory, keys: Keys) -> Iterator[SshServer]:
    """Run a server that takes everything, for all tests that change nothing about it."""
    with ssh_server(tmp_path_factory.mktemp("sshd"), keys) as server:
        yield server
