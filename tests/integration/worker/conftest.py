"""A real sshd, and one iteration or one whole run against it, with ssh2-python as the worker's image has it.

The process of these tests is patched for gevent, as a worker is.
"""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from gevent_process import patch_for_gevent, require_own_ssh2
from ssh_server import Keys, SshServer, make_keys, ssh_server
from sshload_contract.client import Library

_WHOLE_RUNS = {"whole_run", "master_here"}


def pytest_configure() -> None:
    """Prepare the process before test modules are imported."""
    patch_for_gevent()
    require_own_ssh2()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of whole runs first: they take longest, and what comes last should be short in every lane.

    The tests of MINA SSHD share a lane, and so its Java program.
    """
    items.sort(key=_is_of_this_process)
    for item in items:
        if _is_of_this_process(item) and _is_of_java(item):
            item.add_marker(pytest.mark.xdist_group("the Java program"))


def _is_of_this_process(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and _WHOLE_RUNS.isdisjoint(vars(item.module))


def _is_of_java(item: pytest.Item) -> bool:
    """Return whether one of its parameters is MINA SSHD, by itself or as a kind of client."""
    values = item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
    return any(getattr(value, "library", value) is Library.MINA_SSHD for value in values)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Import the libraries before there are lanes: each would take half a second for them."""
    if session.config.getoption("lanes"):
        for name in ("asyncssh", "paramiko"):
            import_module(f"sshload_worker.clients.{name}")


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


@pytest.fixture(scope="session")
def sftp_sshd(tmp_path_factory: pytest.TempPathFactory, keys: Keys) -> Iterator[SshServer]:
    """Run such a server with SFTP."""
    with ssh_server(tmp_path_factory.mktemp("sshd"), keys, "Subsystem sftp internal-sftp") as server:
        yield server


@pytest.fixture(scope="session")
def made_key(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """Return a function that makes a key pair of a kind and size, once, and returns the path of its private half."""
    folder = tmp_path_factory.mktemp("made-keys")

    @cache
    def make(kind: str, bits: str) -> Path:
        path = folder / f"{kind}-{bits}"
        subprocess.run(["ssh-keygen", "-q", "-t", kind, "-b", bits, "-N", "", "-f", path], check=True)
        return path

    return make


@pytest.fixture
def copied_key(tmp_path: Path, made_key: Callable[[str, str], Path]) -> Callable[..., Path]:
    """Return a function that returns a copy of such a key in the test's own folder, encrypted or in another form."""

    def copy(kind: str, bits: str, name: str = "key", *, passphrase: str = "", form: str = "RFC4716") -> Path:
        original, path = made_key(kind, bits), tmp_path / name
        shutil.copy(original, path)
        shutil.copy(f"{original}.pub", f"{path}.pub")
        change = ["ssh-keygen", "-q", "-p", "-a", "1", "-P", "", "-N", passphrase, "-m", form, "-f", path]
        if passphrase or form != "RFC4716":
            subprocess.run(change, check=True, stdout=subprocess.DEVNULL)
        return path

    return copy
