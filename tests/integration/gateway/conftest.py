"""One gateway for the tests of this folder that change nothing of it, and servers of every kind."""

import secrets
from collections.abc import Iterator

import pytest
from account_server import Place, account_server, readable_place
from gateway_process import Caller, GatewayProcess, gateway_process
from postgres_server import PostgresServer, postgres_server
from ssh_server import SshServer

_ONLY_SFTP = 'case "$SSH_ORIGINAL_COMMAND" in internal-sftp) exec /usr/lib/openssh/sftp-server -R;; esac'


@pytest.fixture(scope="session")
def place() -> Iterator[Place]:
    """A folder with keys that sshd's user can read."""
    with readable_place() as made:
        yield made


@pytest.fixture(scope="session")
def sshd(place: Place) -> Iterator[SshServer]:
    """A server that serves."""
    with account_server(place, "serving") as server:
        yield server


@pytest.fixture(scope="session")
def harmless(place: Place) -> Iterator[SshServer]:
    """A server that lists directories, and runs none of the commands that it is told to."""
    with account_server(place, "harmless", f"ForceCommand {_ONLY_SFTP}") as server:
        yield server


@pytest.fixture(scope="session")
def gateway(place: Place, sshd: SshServer, harmless: SshServer) -> Iterator[GatewayProcess]:
    """A gateway with a database in a file."""
    folder = place.folder / "gateway"
    folder.mkdir()
    with gateway_process(folder, [sshd.port, harmless.port], as_installed=True) as running:
        yield running


@pytest.fixture
def caller(gateway: GatewayProcess, sshd: SshServer) -> Caller:
    """Somebody new, with the credential "server"."""
    caller = gateway.caller(secrets.token_hex(8))
    caller.store("server", sshd).raise_for_status()
    return caller


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server. Tests leave it running."""
    with postgres_server() as server:
        yield server
