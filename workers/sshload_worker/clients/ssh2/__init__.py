"""ssh2-python: libssh2, non-blocking under gevent."""

from sshload_worker.clients.interface import Connection
from sshload_worker.clients.ssh2.connection import SharedConnection, SSH2Connection
from sshload_worker.clients.ssh2.settings import check_client, known_algorithms
from sshload_worker.login.login import Login

__all__ = ["check_client", "known_algorithms", "new_connection", "prepare"]


def prepare() -> None:
    """Do nothing: everything is set up at import."""


def new_connection(login: Login, through: Connection | None, *, shared: bool) -> Connection:
    """Return a connection that is not connected yet; raises OSError if the process has no file descriptor left."""
    return SharedConnection(login, through) if shared else SSH2Connection(login, through)
