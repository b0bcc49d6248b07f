"""What libraries.py asks of asyncssh."""

import logging

from sshload_contract.client import Client

from sshload_worker.clients.asyncssh import settings
from sshload_worker.clients.asyncssh.connection import AsyncsshConnection
from sshload_worker.clients.asyncssh.event_loop import event_loop
from sshload_worker.clients.interface import Connection
from sshload_worker.login.login import Login


def prepare() -> None:
    """Start the loop, and silence asyncssh's log, which is of no use to whoever counts refusals."""
    logging.getLogger("asyncssh").setLevel(logging.CRITICAL + 1)
    event_loop()


def check_client(client: Client) -> None:
    """Raise UnsupportedSettingError where asyncssh cannot do as `client` says."""
    settings.check_client(client)


def new_connection(login: Login, through: Connection | None, *, shared: bool) -> Connection:  # noqa: ARG001 - all are
    """Return a connection that has yet to connect; raises OSError where the worker has no socket left."""
    return AsyncsshConnection(login, through)
