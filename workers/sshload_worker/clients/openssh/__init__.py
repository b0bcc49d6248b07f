"""OpenSSH's own programs as processes: ssh for logins and channels, sftp and scp for files.

A login is one `ssh -M -N` each, whose log tells when it came how far. With `client.controlMaster` each command is a
program of its own that shares that connection (`ssh -S`), as a user's with ControlMaster would be. Without it, the
process that logged in does the command too: it is asked over its control socket (OpenSSH's PROTOCOL.mux), so that
the command's pipes, its exit code and its end are told by that process itself. Files are copied by `sftp` and `scp` on
the same connection, by way of local files in a private directory, which is part of what is timed.
"""

from sshload_worker.clients.interface import Connection
from sshload_worker.clients.openssh.connection import OpenSSHConnection
from sshload_worker.clients.openssh.process import program
from sshload_worker.clients.openssh.settings import check_client
from sshload_worker.login.login import Login
from sshload_worker.outcomes import StepFailure, UnsupportedSettingError

__all__ = ["check_client", "new_connection", "prepare"]


def prepare() -> None:
    """Find the programs; raises UnsupportedSettingError where one is missing."""
    try:
        for name in ("ssh", "sftp", "scp"):
            program(name)
    except StepFailure as failure:
        raise UnsupportedSettingError(f"spec.client.library: {failure.message}") from None


def new_connection(login: Login, through: Connection | None, *, shared: bool) -> Connection:  # noqa: ARG001 - all are
    """Return a connection that has yet to connect; raises OSError where the worker has no file left."""
    return OpenSSHConnection(login, through)
