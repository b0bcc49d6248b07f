"""The files for OpenSSH's programs: one directory for all logins of a user, one per connection of a population."""

from run_configs import NOWHERE, arrivals, run_config
from sshload_contract.client import Auth
from sshload_worker.clients.openssh.connection import OpenSSHConnection
from sshload_worker.clients.openssh.settings import directory_of
from sshload_worker.login.known_hosts import ANY_HOST_KEY
from sshload_worker.login.login import Login, credentials_with_key
from sshload_worker.login.private_key import ed25519_key

KEY = ed25519_key(bytes(32))


def login(place: int | None) -> Login:
    client = run_config(NOWHERE, arrivals(1, 1)).client
    credentials = credentials_with_key(Auth.PUBLICKEY, KEY, None)
    return Login(None, "nowhere", 22, "ann", credentials, ANY_HOST_KEY, client, (), None, None, place)


def test_logins_of_one_user_share_their_files() -> None:
    first, second = (OpenSSHConnection(login(None)) for _ in range(2))
    first.close()
    assert directory_of(login(None)).path == first._directory.path == second._directory.path
    assert (second._directory.path / "key").read_bytes() == KEY.openssh


def test_the_files_of_a_user_of_a_population_go_with_the_connection() -> None:
    first, second = (OpenSSHConnection(login(3)) for _ in range(2))
    assert first._directory.path != second._directory.path
    assert first._directory.path.stat().st_mode & 0o777 == 0o700
    first.close()
    assert not first._directory.path.exists()
    assert (second._directory.path / "key").read_bytes() == KEY.openssh
    second.close()
