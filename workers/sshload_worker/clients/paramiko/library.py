"""What libraries.py asks of paramiko."""

import logging

from sshload_contract.client import Client

from sshload_worker.clients.interface import Connection
from sshload_worker.clients.paramiko import settings
from sshload_worker.clients.paramiko.connection import ParamikoConnection
from sshload_worker.login.login import Login


def prepare() -> None:
    """Silence paramiko's log, which prints a traceback for each refusal that is to be counted."""
    logging.getLogger("paramiko").setLevel(logging.CRITICAL + 1)


def check_client(client: Client) -> None:
    """Raise UnsupportedSettingError where paramiko cannot do as `client` says."""
    settings.check_client(client)


def new_connection(login: Login, through: Connection | None, *, shared: bool) -> Connection:  # noqa: ARG001 - all are
    """Return a connection that has yet to connect; raises OSError where the worker has no socket left."""
    return ParamikoConnection(login, through)
