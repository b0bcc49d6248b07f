"""The interface of every client library, in the terms of RFC 4251 to 4254, so that all of them are measured alike.

Every call waits by gevent, lets others run meanwhile, and raises StepFailure with the one outcome of what went wrong.
A time limit or a kill may raise in any wait; after that, and after any failure, only `close` may be called. Nothing is
ever tried twice, because a retry would hide the failure that is to be measured.

Jump hosts: a library's Connection is made of `(login, through)`. `through` is None, or the connection of the jump host
before, of the same library and logged in already, which is used for nothing else from then on. Then `connect` asks it
for a channel to `login.host` and `login.port` (direct-tcpip, RFC 4254 section 7.2; the jump host resolves the name, and
`login.address` is None), all else happens inside of that channel, and `close` closes both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from sshload_contract.wire.report import Negotiated

if TYPE_CHECKING:
    from sshload_contract.vocabulary import Timing


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """How a command ended: its exit code, or the signal that killed it, and what it said on stderr at first.

    Both are of RFC 4254 section 6.10. A server may close a channel with neither: then the exit code is None.
    """

    exit_code: int | None
    signal: str
    stderr: bytes


class Course:
    """When the parts of a command or of the reading of a file ended, as monotonic nanoseconds; 0 for what has not yet.

    `started_ns` is that of the server's word that it started the command or opened the file, `first_byte_ns` of the
    first output, where there is any, `output_end_ns` of the end of all output, and `closed_ns` of the server's close of
    the channel or file. The output of a file is its content.
    `told_ns` are the times that a gateway says its parts took.
    """

    __slots__ = ("closed_ns", "first_byte_ns", "output_end_ns", "started_ns", "told_ns")

    def __init__(self) -> None:
        self.started_ns = self.first_byte_ns = self.output_end_ns = self.closed_ns = 0
        self.told_ns: Mapping[Timing, int] = {}


class Channel(Protocol):
    """One channel of a connection (RFC 4254 section 5)."""

    def request_terminal(self) -> None:
        """Ask for a pseudo terminal (section 6.2)."""

    def start_shell(self) -> None:
        """Ask for the user's shell (section 6.5), and wait for the server's word that it was started."""

    def execute(self, command: str) -> None:
        """Ask for a command (section 6.5), and wait for the server's word that it was started."""

    def read(self) -> bytes:
        """Return the next piece of output, empty at its end."""

    def write(self, data: bytes) -> None:
        """Send all of `data`."""

    def send_end(self) -> None:
        """Say that no more input comes (section 5.3)."""

    def close(self) -> CommandEnd:
        """Close the channel, wait for the server's close, and return how the command ended."""


class SessionChannel(Channel, Protocol):
    """A session channel (section 6.1)."""

    def run(self, command: str, take: Callable[[bytes], object], course: Course) -> CommandEnd:
        """Execute a command, hand each piece of its output to `take`, and close the channel at the output's end.

        `course` tells when the parts ended, as far as it came, after a failure too.
        """


class RemoteFile(Protocol):
    """A file on the server, open for one direction."""

    def read(self) -> bytes:
        """Return the next piece, empty at the end."""

    def write(self, data: bytes) -> None:
        """Send all of `data`; that it is on the server is certain after `close`."""

    def close(self) -> None:
        """Wait until all is written, and close the file."""


class Sftp(Protocol):
    """The SFTP subsystem on a channel of its own (draft-ietf-secsh-filexfer-02)."""

    def open_to_read(self, path: str) -> RemoteFile:
        """Open a file."""

    def read_file(self, path: str, take: Callable[[bytes], object], course: Course) -> None:
        """Open a file, hand each piece of it to `take`, and close it.

        `course` tells when the parts ended, as far as it came, after a failure too.
        """

    def open_to_write(self, path: str) -> RemoteFile:
        """Open a file in place of what is there."""

    def list_directory(self, path: str) -> int:
        """Read a directory to its end, and return how many entries it has, without `.` and `..`."""

    def stat(self, path: str) -> int:
        """Return a file's size in bytes."""

    def mkdir(self, path: str) -> None:
        """Make a directory."""

    def rmdir(self, path: str) -> None:
        """Remove an empty directory."""

    def rename(self, path: str, to: str) -> None:
        """Rename a file."""

    def remove(self, path: str) -> None:
        """Remove a file."""

    def close(self) -> None:
        """End the subsystem and close its channel."""


class Connection(Protocol):
    """One connection: connect, banner, kex, auth in this order, then channels, and close whatever happened."""

    times_parts: bool
    """Whether the parts of an operation can be told apart; where not, only its sum is timed."""

    def connect(self) -> None:
        """Open the TCP connection, or the channel of the jump host that takes its place."""

    def banner(self) -> None:
        """Wait for the server's version line."""

    def kex(self) -> None:
        """Exchange keys, and check that the host key is a known one."""

    def auth(self) -> None:
        """Authenticate as the login's credentials say."""

    def negotiated(self) -> Negotiated:
        """Return the algorithms that the handshake negotiated, and the server's version."""

    def is_lost(self) -> bool:
        """Return whether the server has closed the connection, without waiting."""

    def keep_alive(self) -> None:
        """Ask for an answer that every server must give, and wait for it.

        That is a global request or a channel of the unknown kind `keepalive@openssh.com` (RFC 4254 sections 4 and 5.1).
        """

    def open_channel(self) -> SessionChannel:
        """Open a session channel."""

    def open_forward(self, host: str, port: int) -> Channel:
        """Open a channel to where the server connects for us (direct-tcpip, RFC 4254 section 7.2)."""

    def open_sftp(self) -> Sftp:
        """Open a channel with the SFTP subsystem on it."""

    def scp_read(self, path: str) -> RemoteFile:
        """Begin to read a file by scp."""

    def scp_write(self, path: str, size_bytes: int) -> RemoteFile:
        """Begin to write a file by scp."""

    def close(self) -> None:
        """End the connection at once, whatever state it is in. Never waits, never raises."""


@runtime_checkable
class AttemptedSigns(Protocol):
    """What a connection has besides whose sign of life can be waited for without a greenlet: by its socket alone."""

    def fileno(self) -> int:
        """Return the number of the socket, which tells of all that the server says, and of its close."""

    def try_keep_alive(self) -> bool:
        """Do as `keep_alive` as far as that takes no waiting, and return whether the sign has come.

        If not, it is to be called again whenever the socket has something new. Meanwhile nothing else but `is_lost` and
        `close` may be called.
        """
