"""ssh2-python: libssh2, non-blocking under gevent."""

from sshload_worker.clients.interface import Connection
from sshload_worker.clients.ssh2.connection import SharedConnection, SSH2Connection
from sshload_worker.clients.ssh2.settings import check_client
from sshload_worker.login.login import Login

__all__ = ["check_client", "new_connection", "prepare"]


def prepare() -> None:
    """Do nothing: what is to be done once is done at import."""


def new_connection(login: Login, through: Connection | None, *, shared: bool) -> Connection:
    """Return a connection that has yet to connect; raises OSError where the worker has no socket left."""
    return SharedConnection(login, through) if shared else SSH2Connection(login, through)
