"""OpenSSH's own programs as processes: ssh for logins and channels, sftp and scp for files.

Each login is one `ssh -M -N`, whose log shows when it reached which step. With `client.controlMaster` each command is a
program of its own that shares this connection (`ssh -S`), like a user's commands with ControlMaster. Without it, the
process that logged in also runs the commands. It is asked to over its control socket (OpenSSH's PROTOCOL.mux), so it
serves the command's pipes, and reports the command's exit code and end, itself. `sftp` and `scp` copy files over the
same connection, to and from local files in a private directory, which is part of the measured time.
"""

from sshload_worker.clients.interface import Connection
from sshload_worker.clients.openssh.connection import OpenSSHConnection
from sshload_worker.clients.openssh.process import program
from sshload_worker.clients.openssh.settings import check_client, known_algorithms
from sshload_worker.login.login import Login
from sshload_worker.outcomes import StepFailure, UnsupportedSettingError

__all__ = ["check_client", "known_algorithms", "new_connection", "prepare"]


def prepare() -> None:
    """Find the programs; raises UnsupportedSettingError if one is missing."""
    try:
        for name in ("ssh", "sftp", "scp"):
            program(name)
    except StepFailure as failure:
        raise UnsupportedSettingError(f"spec.client.library: {failure.message}") from None


def new_connection(login: Login, through: Connection | None, *, shared: bool) -> Connection:  # noqa: ARG001 - all are
    """Return a connection that is not connected yet; raises OSError if the process has no file descriptor left."""
    return OpenSSHConnection(login, through)
