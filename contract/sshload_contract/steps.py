"""The steps of a scenario: the parameters of each kind, how a spec writes them, and what it answers about itself."""

from dataclasses import dataclass
from enum import StrEnum, unique
from itertools import takewhile
from typing import Annotated, ClassVar, Final, TypeAlias, get_args

from sshload_contract.client import Timeouts
from sshload_contract.declared import (
    Absent,
    Default,
    Duration,
    Inline,
    Items,
    Named,
    Permission,
    Size,
    Text,
    Whole,
)
from sshload_contract.expressions import Expression
from sshload_contract.names import Host, Port
from sshload_contract.vocabulary import STEP_NAME_LIMIT_CHARACTERS, STEP_NAME_PATTERN, Timing

OPENSSH_FILE_LIMIT_BYTES = 2**30
"""The largest file that OpenSSH's programs may write: it lies on the worker's disk first, which others share."""

RSYNC_FILE_LIMIT_BYTES = 32 * 2**20
"""What the worker processes of a pod may hold of files for rsync: they lie in its /tmp, which is memory."""

_COMMAND = Text(shortest=1, longest=4096, pattern=r"[^\x00]+", wanted="a command")
_TEXT = Text(shortest=1, longest=4096, pattern=r"[^\x00]+", wanted="a text")
_PATH = Text(shortest=1, longest=1024, pattern=r"[^\x00-\x1f\x7f]+", wanted="a path without control characters")
_FILE_SIZE = Size("0", "100Gi")

_NAME = Text(
    longest=STEP_NAME_LIMIT_CHARACTERS,
    pattern=STEP_NAME_PATTERN,
    wanted="a name that begins with a small letter, such as uptime",
)
_Name: TypeAlias = Annotated[
    str,
    _NAME,
    Absent(""),
    "The prefix of the step's timings: `get` makes `get.sftpRead`. Required, and unique, if there are several steps.",
]
_Path: TypeAlias = Annotated[str, _PATH, "Its path. A relative one begins in the home directory."]
_ExpectedSize: TypeAlias = Annotated[int | None, _FILE_SIZE, Named("expectSize"), "The size that counts as success."]
_ExpectedSha256: TypeAlias = Annotated[
    str,
    Text(longest=64, pattern=r"[0-9a-f]{64}", wanted="64 hexadecimal digits, as sha256sum prints them"),
    Absent(""),
    "The SHA-256 of the content that counts as success, as sha256sum prints it.",
]
_WrittenSize: TypeAlias = Annotated[int, _FILE_SIZE, "How much is written. At most 100Gi."]


class Step:
    """What each kind of step answers about itself. The answers here are those of a step that does nothing special."""

    __slots__ = ()
    kind: ClassVar[str]
    timings: ClassVar[tuple[str, ...]] = ()
    """The timings that it takes, the whole step last; none if it asks the server for nothing."""

    by_channel: ClassVar[bool] = False
    """Whether it needs more of a channel than to run a command."""

    shares_connection: ClassVar[bool] = False
    """Whether it uses the connection in several greenlets at once."""

    @property
    def slept_s(self) -> float:
        """How long it only waits."""
        return 0.0

    @property
    def destination(self) -> tuple[str, int] | None:
        """The host and port that it lets the server connect to."""
        return None

    @property
    def expression(self) -> str:
        """The regular expression that it searches output for, empty if there is none."""
        return ""

    @property
    def written(self) -> tuple[str, int] | None:
        """The path that it writes to, and how many bytes in all."""
        return None

    @property
    def spooled_bytes(self) -> int:
        """The size of the file that OpenSSH's programs need on the worker's disk before they send it."""
        return 0

    @property
    def kept_bytes(self) -> frozenset[tuple[int, int]]:
        """The files that a worker process keeps in memory for it: how many names each has, and its size."""
        return frozenset()

    def longest_s(self, timeouts: Timeouts) -> float:
        """Return the longest that it can take."""
        return timeouts.channel_s + timeouts.step_s

    def samples_of(self, timing: str) -> int:
        """Return how many samples of one of its timings it has."""
        del timing
        return 1

    def place_after(self, path: str) -> str:
        """Return where a file at `path` is after it, empty if it removes the file."""
        return path


@dataclass(frozen=True, slots=True)
class ExecStep(Step):
    """Run a command on a channel of its own."""

    kind: ClassVar[str] = "exec"
    timings: ClassVar[tuple[str, ...]] = (
        Timing.CHANNEL_OPEN, Timing.EXEC, Timing.FIRST_BYTE, Timing.READ, Timing.CLOSE, Timing.COMMAND,
    )  # fmt: skip
    name: _Name
    command: Annotated[str, _COMMAND, "The command line for the user's shell."]
    expect_exit_code: Annotated[int, Whole(0, 255), Default(0), "The exit code that counts as success."]
    expect_stdout: Annotated[
        Expression,
        Absent(""),
        "A regular expression that the output must contain. Groups are (...) or (?:...); after a backslash,"
        " punctuation or one of d D w W s S b B n r t.",
    ]

    @property
    def expression(self) -> str:
        """What its output must contain."""
        return self.expect_stdout


@dataclass(frozen=True, slots=True)
class _OnePath(Step):
    """A step on one path."""

    name: _Name
    path: _Path


@dataclass(frozen=True, slots=True)
class _Download(_OnePath):
    """A step that reads a file."""

    expect_bytes: _ExpectedSize
    expect_sha256: _ExpectedSha256


@dataclass(frozen=True, slots=True)
class SftpReadStep(_Download):
    """Read a file over SFTP to its end."""

    kind: ClassVar[str] = "sftpRead"
    timings: ClassVar[tuple[str, ...]] = (
        Timing.SUBSYSTEM, Timing.OPEN, Timing.FIRST_BYTE, Timing.READ, Timing.CLOSE, kind,
    )  # fmt: skip


@unique
class Verify(StrEnum):
    """How a written file is checked: not at all, by its size, or by reading it back and comparing every byte."""

    NONE = "none"
    SIZE = "size"
    CONTENT = "content"


_Verify: TypeAlias = Annotated[
    Verify,
    Default("none"),
    "How the written file is checked. size asks for its size, content reads it back and compares every byte.",
]


@dataclass(frozen=True, slots=True)
class _Upload(_OnePath):
    """A step that writes a file."""

    size_bytes: _WrittenSize
    verify: _Verify

    @property
    def written(self) -> tuple[str, int]:
        """The file."""
        return self.path, self.size_bytes

    @property
    def spooled_bytes(self) -> int:
        """The size of the file."""
        return self.size_bytes


@dataclass(frozen=True, slots=True)
class SftpWriteStep(_Upload):
    """Write a file over SFTP. A file that is there is replaced."""

    kind: ClassVar[str] = "sftpWrite"
    timings: ClassVar[tuple[str, ...]] = (
        Timing.SUBSYSTEM, Timing.OPEN, Timing.WRITE, Timing.CLOSE, Timing.VERIFY, kind,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SftpListStep(Step):
    """Read a directory over SFTP to its end."""

    kind: ClassVar[str] = "sftpList"
    timings: ClassVar[tuple[str, ...]] = (Timing.SUBSYSTEM, kind)
    name: _Name
    path: _Path
    expect_entries: Annotated[
        int | None,
        Whole(0, 10_000_000),
        "The number of entries that counts as success, without `.` and `..`.",
    ]


@dataclass(frozen=True, slots=True)
class SftpStatStep(_OnePath):
    """Ask for a file's attributes over SFTP."""

    kind: ClassVar[str] = "sftpStat"
    timings: ClassVar[tuple[str, ...]] = (Timing.SUBSYSTEM, kind)


@dataclass(frozen=True, slots=True)
class SftpMkdirStep(_OnePath):
    """Make a directory over SFTP."""

    kind: ClassVar[str] = "sftpMkdir"
    timings: ClassVar[tuple[str, ...]] = (Timing.SUBSYSTEM, kind)


@dataclass(frozen=True, slots=True)
class SftpRmdirStep(_OnePath):
    """Remove an empty directory over SFTP."""

    kind: ClassVar[str] = "sftpRmdir"
    timings: ClassVar[tuple[str, ...]] = (Timing.SUBSYSTEM, kind)


@dataclass(frozen=True, slots=True)
class SftpRenameStep(Step):
    """Rename a file over SFTP."""

    kind: ClassVar[str] = "sftpRename"
    timings: ClassVar[tuple[str, ...]] = (Timing.SUBSYSTEM, kind)
    name: _Name
    path: _Path
    to: Annotated[str, _PATH, "Its new path. A relative one begins in the home directory."]

    def place_after(self, path: str) -> str:
        """Return the new path of the file that it renames."""
        return self.to if path == self.path else path


@dataclass(frozen=True, slots=True)
class SftpRemoveStep(_OnePath):
    """Remove a file over SFTP."""

    kind: ClassVar[str] = "sftpRemove"
    timings: ClassVar[tuple[str, ...]] = (Timing.SUBSYSTEM, kind)

    def place_after(self, path: str) -> str:
        """Return no place for the file that it removes."""
        return "" if path == self.path else path


@dataclass(frozen=True, slots=True)
class SftpSymlinkStep(Step):
    """Make a symbolic link over SFTP."""

    kind: ClassVar[str] = "sftpSymlink"
    timings: ClassVar[tuple[str, ...]] = (Timing.SUBSYSTEM, kind)
    name: _Name
    path: _Path
    to: Annotated[str, _PATH, "What it leads to. A relative one begins at the link."]


@dataclass(frozen=True, slots=True)
class SftpSetstatStep(_OnePath):
    """Set a file's permissions over SFTP."""

    kind: ClassVar[str] = "sftpSetstat"
    timings: ClassVar[tuple[str, ...]] = (Timing.SUBSYSTEM, kind)
    mode: Annotated[
        str,
        Text(longest=4, pattern="[0-7]{3,4}", wanted="three or four octal digits in quotes, such as '0640'"),
        "Its new permissions, as octal digits in quotes.",
    ]


@dataclass(frozen=True, slots=True)
class ScpReadStep(_Download):
    """Read a file by scp."""

    kind: ClassVar[str] = "scpRead"
    by_channel: ClassVar[bool] = True
    timings: ClassVar[tuple[str, ...]] = (Timing.OPEN, Timing.FIRST_BYTE, Timing.READ, Timing.CLOSE, kind)


@dataclass(frozen=True, slots=True)
class ScpWriteStep(_Upload):
    """Write a file by scp. A file that is there is replaced."""

    kind: ClassVar[str] = "scpWrite"
    by_channel: ClassVar[bool] = True
    timings: ClassVar[tuple[str, ...]] = (Timing.OPEN, Timing.WRITE, Timing.CLOSE, Timing.VERIFY, kind)


@dataclass(frozen=True, slots=True)
class ShellStep(Step):
    """Work in an interactive shell on a terminal (RFC 4254 section 6.5), and time how fast it answers."""

    kind: ClassVar[str] = "shell"
    by_channel: ClassVar[bool] = True
    timings: ClassVar[tuple[str, ...]] = (
        Timing.CHANNEL_OPEN, Timing.SHELL_START, Timing.ECHO, Timing.CLOSE, kind,
    )  # fmt: skip
    name: _Name
    command: Annotated[
        str, _COMMAND, Absent(""), "The command line that runs on the terminal. Without it, the user's login shell."
    ]
    ready: Annotated[str, _TEXT, Absent(""), "Plain text to wait for before the first send. Without it, no wait."]
    send: Annotated[str, _TEXT, "The text to send, as if typed: end a command with a line break."]
    expect: Annotated[str, _TEXT, "Plain text to wait for after each send. The terminal's echo counts."]
    repeat: Annotated[int, Whole(1, 10_000), Default(1), "How often to send and wait."]

    def samples_of(self, timing: str) -> int:
        """Return how often it waits for an answer."""
        return self.repeat if timing == Timing.ECHO else 1


@dataclass(frozen=True, slots=True)
class ForwardStep(Step):
    """Let the server connect to a host and port (direct-tcpip, RFC 4254 section 7.2), send, and wait for an answer."""

    kind: ClassVar[str] = "forward"
    permission: ClassVar[Permission] = Permission("forwardSteps", by_default=True)
    by_channel: ClassVar[bool] = True
    timings: ClassVar[tuple[str, ...]] = (Timing.CHANNEL_OPEN, Timing.ECHO, Timing.CLOSE, kind)
    name: _Name
    host: Annotated[Host, "Its name or address, as the server resolves it."]
    port: Annotated[Port, "Its port."]
    send: Annotated[str, _TEXT, Absent(""), "The text to send. Without it, none."]
    expect: Annotated[str, _TEXT, Absent(""), "Plain text to wait for. Without it, no wait."]

    @property
    def destination(self) -> tuple[str, int]:
        """What the server connects to."""
        return self.host, self.port


@dataclass(frozen=True, slots=True)
class GitUploadPackStep(Step):
    """Fetch everything that HEAD of a git repository reaches, as git clone does (gitprotocol-pack(5), version 0)."""

    kind: ClassVar[str] = "gitUploadPack"
    by_channel: ClassVar[bool] = True
    timings: ClassVar[tuple[str, ...]] = (
        Timing.CHANNEL_OPEN, Timing.EXEC, Timing.ADVERTISE, Timing.FIRST_BYTE, Timing.READ, Timing.CLOSE,
        kind,
    )  # fmt: skip
    name: _Name
    repository: _Path


@dataclass(frozen=True, slots=True)
class RsyncDownload:
    """Fetch a file, or a directory with all below it. The worker discards the data."""

    kind: ClassVar[str] = "download"
    path: _Path
    expect_files: Annotated[
        int | None, Whole(0, 10_000_000), "The number of files that counts as success, without directories and links."
    ]
    expect_bytes: Annotated[int | None, _FILE_SIZE, Named("expectSize"), "Their size, likewise, taken together."]


@dataclass(frozen=True, slots=True)
class RsyncUpload:
    """Bring a directory up to date with files that the worker makes.

    They are the same in every iteration, so that only the first one with a path sends their content.
    """

    kind: ClassVar[str] = "upload"
    path: Annotated[str, _PATH, "The directory, in one that exists. A relative path begins in the home directory."]
    files: Annotated[int, Whole(1, 10_000), Default(1), "How many files there are."]
    size_bytes: Annotated[int, Size("0", "16Mi", example="1Mi"), "The size of each of them. At most 16Mi."]
    delete: Annotated[bool, Default(False), "Whether to delete all else in the directory (--delete)."]


@dataclass(frozen=True, slots=True)
class RsyncStep(Step):
    """Run rsync, the real program on both sides, over the session: exactly one of download and upload."""

    kind: ClassVar[str] = "rsync"
    shares_connection: ClassVar[bool] = True
    by_channel: ClassVar[bool] = True
    timings: ClassVar[tuple[str, ...]] = (
        Timing.CHANNEL_OPEN,
        Timing.EXEC,
        Timing.TRANSFER,
        Timing.CLOSE,
        kind,
    )
    name: _Name
    transfer: Annotated[RsyncDownload | RsyncUpload, Inline()]
    compress: Annotated[bool, Default(False), "Whether rsync compresses what it sends (--compress)."]

    @property
    def written(self) -> tuple[str, int] | None:
        """The directory that an upload brings up to date."""
        made = self.transfer
        return (made.path, made.files * made.size_bytes) if isinstance(made, RsyncUpload) else None

    @property
    def kept_bytes(self) -> frozenset[tuple[int, int]]:
        """The one file that all files of an upload are links to."""
        made = self.transfer
        return frozenset({(made.files, made.size_bytes)} if isinstance(made, RsyncUpload) else ())


@dataclass(frozen=True, slots=True)
class SleepStep(Step):
    """Keep the session open and idle for this long. It counts in `total`, and has no timing of its own."""

    kind: ClassVar[str] = "sleep"
    written_bare: ClassVar[str] = "duration_s"
    name: ClassVar[str] = ""
    duration_s: Annotated[float, Duration("1ms", "24h", example="5s")]

    @property
    def slept_s(self) -> float:
        """All of its time."""
        return self.duration_s

    def longest_s(self, timeouts: Timeouts) -> float:
        """Return its time, which no timeout limits."""
        del timeouts
        return self.duration_s


ScenarioStep = (
    ExecStep
    | SftpReadStep
    | SftpWriteStep
    | SftpListStep
    | SftpStatStep
    | SftpMkdirStep
    | SftpRmdirStep
    | SftpRenameStep
    | SftpRemoveStep
    | SftpSymlinkStep
    | SftpSetstatStep
    | ScpReadStep
    | ScpWriteStep
    | ShellStep
    | ForwardStep
    | GitUploadPackStep
    | RsyncStep
    | SleepStep
)

_WHOLE = dict.fromkeys(kind.timings[-1] for kind in get_args(ScenarioStep) if kind.timings)
WHOLE_STEPS: Final[tuple[str, ...]] = (Timing.LOGIN, *_WHOLE, Timing.HOLD, Timing.TOTAL)
"""The steps that are sums: a login, what one scenario step takes, and the whole iteration."""

TIMINGS: Final[tuple[str, ...]] = (*takewhile(Timing.COMMAND.__ne__, Timing), *WHOLE_STEPS[1:])
"""All that is timed in one iteration, in the order in which it happens."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """Steps that an iteration does if it is chosen for it, beside those that are in no alternative."""

    weight: Annotated[int, Whole(1, 1000), Default(1), "How often it is chosen, relative to the others."]
    steps: Annotated[
        tuple[Annotated[str, _NAME, "A name."], ...], Items(most=15, distinct=True), "The names of its steps."
    ]
