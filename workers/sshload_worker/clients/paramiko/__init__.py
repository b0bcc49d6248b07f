"""paramiko: SSH in Python, with a reader thread per connection, which gevent's patches turn into a greenlet."""

import logging

from sshload_worker.clients.interface import Connection
from sshload_worker.clients.paramiko.connection import ParamikoConnection
from sshload_worker.clients.paramiko.settings import check_client, known_algorithms
from sshload_worker.login.login import Login

__all__ = ["check_client", "known_algorithms", "new_connection", "prepare"]


def prepare() -> None:
    """Silence paramiko's log, which prints a traceback for each refusal. Refusals are counted instead."""
    logging.getLogger("paramiko").setLevel(logging.CRITICAL + 1)


def new_connection(login: Login, through: Connection | None, *, shared: bool) -> Connection:  # noqa: ARG001 - all are
    """Return a connection that is not connected yet; raises OSError if the process has no file descriptor left."""
    return ParamikoConnection(login, through)
