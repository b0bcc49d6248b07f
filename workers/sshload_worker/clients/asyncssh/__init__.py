"""asyncssh: SSH in Python on an asyncio loop, which runs in one greenlet of the process."""

import logging

from sshload_worker.clients.asyncssh.connection import AsyncsshConnection
from sshload_worker.clients.asyncssh.driver import event_loop
from sshload_worker.clients.asyncssh.settings import check_client, known_algorithms
from sshload_worker.clients.interface import Connection
from sshload_worker.login.login import Login

__all__ = ["check_client", "known_algorithms", "new_connection", "prepare"]


def prepare() -> None:
    """Start the loop, and silence asyncssh's log, which has no use because refusals are counted."""
    logging.getLogger("asyncssh").setLevel(logging.CRITICAL + 1)
    event_loop()


def new_connection(login: Login, through: Connection | None, *, shared: bool) -> Connection:  # noqa: ARG001 - all are
    """Return a connection that is not connected yet; raises OSError if the process has no file descriptor left."""
    return AsyncsshConnection(login, through)
