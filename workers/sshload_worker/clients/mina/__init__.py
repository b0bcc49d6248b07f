"""Apache MINA SSHD in a Java program beside the worker, as a client that is written in another language.

The Java program (workers/mina-sshd) has a thread for each connection and each command, like a Java client. The worker
sends it requests over Unix sockets. The time that this takes, for each part of a login, each command and each piece of
a file, is part of the measured time.
"""

from sshload_worker.clients.interface import Connection
from sshload_worker.clients.mina.connection import MinaConnection
from sshload_worker.clients.mina.settings import check_client, known_algorithms
from sshload_worker.clients.mina.virtual_machine import virtual_machine
from sshload_worker.login.login import Login

__all__ = ["check_client", "known_algorithms", "new_connection", "prepare"]


def prepare() -> None:
    """Start the Java program; raises UnsupportedSettingError if there is none."""
    virtual_machine()


def new_connection(login: Login, through: Connection | None, *, shared: bool) -> Connection:  # noqa: ARG001 - all are
    """Return a connection that is not connected yet; raises OSError if the process has no file descriptor left."""
    return MinaConnection(login)
