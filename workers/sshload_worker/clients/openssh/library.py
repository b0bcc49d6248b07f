"""What libraries.py asks of OpenSSH."""

from sshload_contract.client import Client

from sshload_worker.clients.interface import Connection
from sshload_worker.clients.openssh import settings
from sshload_worker.clients.openssh.connection import OpenSSHConnection
from sshload_worker.clients.openssh.process import program
from sshload_worker.login.login import Login
from sshload_worker.outcomes import StepFailure, UnsupportedSettingError


def prepare() -> None:
    """Find the programs; raises UnsupportedSettingError where one is missing."""
    try:
        for name in ("ssh", "sftp", "scp"):
            program(name)
    except StepFailure as failure:
        raise UnsupportedSettingError(f"spec.client.library: {failure.message}") from None


def check_client(client: Client) -> None:
    """Raise UnsupportedSettingError where OpenSSH cannot do as `client` says."""
    settings.check_client(client)


def new_connection(login: Login, through: Connection | None, *, shared: bool) -> Connection:  # noqa: ARG001 - all are
    """Return a connection that has yet to connect; raises OSError where the worker has no file left."""
    return OpenSSHConnection(login, through)
