"""The interface of every client library, in the terms of RFC 4251 to 4254, so that all are measured in the same way.

Every call waits through gevent, lets other greenlets run meanwhile, and raises StepFailure with exactly one outcome. A
time limit or a kill may raise in any wait; after that, and after any failure, only `close` may be called. Nothing is
ever retried, because a retry would hide the failure that is to be measured.

Jump hosts: a library's Connection is created from `(login, through)`. `through` is None, or the connection to the
previous jump host, which is of the same library, is logged in already, and is used for nothing else from then on. Then
`connect` requests a channel from it to `login.host` and `login.port` (direct-tcpip, RFC 4254 section 7.2; the jump host
resolves the name, and `login.address` is None), everything else happens inside this channel, and `close` closes both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum, unique
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from sshload_contract.wire.report import Negotiated

if TYPE_CHECKING:
    from sshload_contract.vocabulary import Timing

    from sshload_worker.clients.authentication import Authentication
    from sshload_worker.outcomes import StepFailure


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """How a command ended: its exit code, or the signal that killed it, and the beginning of its stderr.

    Exit code and signal are those of RFC 4254 section 6.10. A server may close a channel with neither: then the exit
    code is None.
    """

    exit_code: int | None
    signal: str
    stderr: bytes


class Course:
    """When the parts of a command or of reading a file ended, in monotonic nanoseconds; 0 if a part has not ended.

    `started_ns` is the time of the server's reply that it started the command or opened the file, `first_byte_ns` that
    of the first output, if there is any, `output_end_ns` that of the end of all output, and `closed_ns` that of the
    server's close of the channel or file. The output of a file is its content.
    `told_ns` are the durations that what logs in for the worker reports for its parts.
    """

    __slots__ = ("closed_ns", "first_byte_ns", "output_end_ns", "started_ns", "told_ns")

    def __init__(self) -> None:
        self.started_ns = self.first_byte_ns = self.output_end_ns = self.closed_ns = 0
        self.told_ns: Mapping[Timing, int] = {}


class Channel(Protocol):
    """One channel of a connection (RFC 4254 section 5)."""

    def request_terminal(self) -> None:
        """Request a pseudo-terminal (section 6.2)."""

    def start_shell(self) -> None:
        """Request the user's shell (section 6.5), and wait for the server's reply that it was started."""

    def execute(self, command: str) -> None:
        """Request a command (section 6.5), and wait for the server's reply that it was started."""

    def read(self) -> bytes:
        """Return the next piece of output, empty at its end."""

    def write(self, data: bytes) -> None:
        """Send all of `data`."""

    def send_end(self) -> None:
        """Send EOF: no more input follows (section 5.3)."""

    def close(self) -> CommandEnd:
        """Close the channel, wait for the server's close, and return how the command ended."""


class SessionChannel(Channel, Protocol):
    """A session channel (section 6.1)."""

    def run(self, command: str, take: Callable[[bytes], object], course: Course) -> CommandEnd:
        """Execute a command, pass each piece of its output to `take`, and close the channel at the output's end.

        `course` gets the times of the parts that ended, after a failure too.
        """


class RemoteFile(Protocol):
    """A file on the server, open for one direction."""

    def read(self) -> bytes:
        """Return the next piece, empty at the end."""

    def write(self, data: bytes) -> None:
        """Send all of `data`. Only after `close` is it certain that the server has it."""

    def close(self) -> None:
        """Wait until all is written, and close the file."""


@unique
class SftpType(IntEnum):
    """The SFTP requests that a status answers, by their numbers (draft-ietf-secsh-filexfer-02 section 3)."""

    SETSTAT = 9
    REMOVE = 13
    MKDIR = 14
    RMDIR = 15
    RENAME = 18
    SYMLINK = 20


SFTP_PERMISSIONS: Final = 4
"""The flag of file attributes that have only permissions (section 5)."""


@dataclass(frozen=True, slots=True)
class SftpRequest:
    """An SFTP request that a status answers.

    `fields` are what the protocol sends after its id: texts, and numbers of 32 bits. `step` and `path` name it in
    messages. The fields of a SYMLINK are in OpenSSH's order, what the link leads to first (its PROTOCOL section 4.1),
    which nearly all servers follow, and not the draft.
    """

    kind: SftpType
    path: str
    fields: tuple[str | int, ...]
    step: str


class Sftp(Protocol):
    """The SFTP subsystem on its own channel (draft-ietf-secsh-filexfer-02)."""

    def open_to_read(self, path: str) -> RemoteFile:
        """Open a file."""

    def read_file(self, path: str, take: Callable[[bytes], object], course: Course) -> None:
        """Open a file, pass each piece of it to `take`, and close it.

        `course` gets the times of the parts that ended, after a failure too.
        """

    def open_to_write(self, path: str) -> RemoteFile:
        """Open a file for writing, in place of an existing one."""

    def list_directory(self, path: str) -> int:
        """Read a whole directory, and return the number of its entries, without `.` and `..`."""

    def stat(self, path: str) -> int | None:
        """Return a file's size in bytes, or None if the server does not tell it."""

    def change(self, request: SftpRequest) -> None:
        """Send a request, and wait for the status that answers it."""

    def close(self) -> None:
        """End the subsystem and close its channel."""


class Connection(Protocol):
    """One connection: call connect, banner, kex and auth in this order, then use channels, and close it in any case."""

    times_parts: bool
    """Whether the parts of an operation can be timed separately; if not, only the whole is timed."""

    @property
    def authentication(self) -> "Authentication | None":
        """The parts of `auth`, from its beginning on; None if they cannot be told apart."""

    def connect(self) -> None:
        """Open the TCP connection, or the channel through the jump host."""

    def banner(self) -> None:
        """Wait for the server's version line."""

    def kex(self) -> None:
        """Exchange keys, and check the host key against the known ones."""

    def auth(self) -> None:
        """Authenticate with the login's credentials."""

    def negotiated(self) -> Negotiated:
        """Return the algorithms that the handshake negotiated, and the server's version."""

    def is_lost(self) -> bool:
        """Return whether the server has closed the connection, without waiting."""

    def keep_alive(self) -> None:
        """Send a global request `keepalive@openssh.com`, and wait for the reply (RFC 4254 section 4).

        A server that does not know the request must refuse it, so either reply is a sign of life.
        """

    def open_channel(self) -> SessionChannel:
        """Open a session channel."""

    def open_forward(self, host: str, port: int) -> Channel:
        """Open a channel that the server forwards to `host` and `port` (direct-tcpip, RFC 4254 section 7.2)."""

    def open_sftp(self) -> Sftp:
        """Open a channel with the SFTP subsystem."""

    def scp_read(self, path: str) -> RemoteFile:
        """Start to read a file by scp."""

    def scp_write(self, path: str, size_bytes: int) -> RemoteFile:
        """Start to write a file by scp."""

    def close(self) -> None:
        """End the connection immediately, in whatever state it is. Never waits, never raises."""


@runtime_checkable
class ProgramConnection(Protocol):
    """What a connection has in addition if a program must start before it connects."""

    @property
    def connecting_ns(self) -> int:
        """When it began to connect, in monotonic nanoseconds; 0 if it has not. The start of the program ends there."""


@runtime_checkable
class RestingConnection(Protocol):
    """What a connection has in addition if its library answers the server only while it is called."""

    def rest(self, lost: Callable[["StepFailure"], object]) -> None:
        """Answer the server's requests, without a greenlet, until `resume`. Nothing else may use the connection then.

        `lost` is called from the loop, once, if the connection ends; it must neither wait nor raise.
        """

    def request_keep_alive(self, replied: Callable[[], object]) -> None:
        """Send a keep-alive request while the connection rests; `replied` is called with its reply, as `lost` is."""

    def resume(self) -> None:
        """Leave the connection to whoever uses it next."""
