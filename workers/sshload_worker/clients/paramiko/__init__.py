"""paramiko: SSH in Python, with a reader thread per connection, which gevent's patches turn into a greenlet."""

import logging

from paramiko.message import Message

from sshload_worker.clients.interface import Connection
from sshload_worker.clients.paramiko.connection import ParamikoConnection
from sshload_worker.clients.paramiko.settings import check_client, known_algorithms
from sshload_worker.login.login import Login

__all__ = ["check_client", "known_algorithms", "new_connection", "prepare"]


def prepare() -> None:
    """Change what paramiko does in the whole process.

    Its log, which prints a traceback for each refusal, is silenced: refusals are counted instead. Its reading of a text
    that is not UTF-8, which ended the connection, replaces what cannot be read.
    """
    logging.getLogger("paramiko").setLevel(logging.CRITICAL + 1)
    Message.get_text = _readable_text  # type: ignore[method-assign]


def _readable_text(message: Message) -> str:
    return str(message.get_string(), "utf-8", "replace")


def new_connection(login: Login, through: Connection | None, *, shared: bool) -> Connection:  # noqa: ARG001 - all are
    """Return a connection that is not connected yet; raises OSError if the process has no file descriptor left."""
    return ParamikoConnection(login, through)
