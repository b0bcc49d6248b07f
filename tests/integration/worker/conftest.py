"""A real sshd, and one iteration or one whole run against it, with ssh2-python as the worker's image has it.

Importing this patches the process for gevent.
"""

from gevent import monkey

# Processes are started as ever: gevent's own fork is none for a process with threads.
monkey.patch_all(subprocess=False, os=False, signal=False)

from collections.abc import Callable, Iterator  # noqa: E402 - nothing may be imported before the patch
from contextlib import ExitStack  # noqa: E402
from pathlib import Path  # noqa: E402

import pytest  # noqa: E402
from own_ssh2 import import_own_ssh2  # noqa: E402
from ssh_server import Keys, SshServer, make_keys, ssh_server  # noqa: E402

import_own_ssh2()


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
