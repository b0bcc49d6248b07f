"""The client libraries by name."""

from collections.abc import Callable

from sshload_contract.run_config import Library

from sshload_worker.clients.interface import Connection
from sshload_worker.clients.ssh2.connection import SSH2Connection
from sshload_worker.login.login import Login

_CONNECTIONS: dict[Library, Callable[[Login, Connection | None], Connection]] = {
    Library.SSH2_PYTHON: SSH2Connection,
}


def new_connection(login: Login, through: Connection | None = None) -> Connection:
    """Return a connection that has yet to connect, by itself or through that of a jump host.

    Raises OSError where the worker has no socket left.
    """
    return _CONNECTIONS[login.client.library](login, through)
