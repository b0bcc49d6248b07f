"""RunConfig: everything that a master and its workers know of a run. Totals are over all workers."""

from dataclasses import dataclass
from enum import StrEnum, unique
from typing import ClassVar

from sshload_contract.allow_list import AllowList
from sshload_contract.capacity import Capacity
from sshload_contract.load import Load
from sshload_contract.thresholds import Threshold

RUN_CONFIG_VERSION = 6


OPENSSH_FILE_LIMIT_BYTES = 2**30
"""How large a file OpenSSH's programs may write: it lies on the worker's disk first, which others share."""


@unique
class Auth(StrEnum):
    """How a client logs in. `CERTIFICATE` is OpenSSH's (PROTOCOL.certkeys), the others RFC 4252 and RFC 4256.

    `AGENT` is publickey with the key in an ssh-agent that the worker starts for itself.
    """

    PUBLICKEY = "publickey"
    CERTIFICATE = "certificate"
    AGENT = "agent"
    PASSWORD = "password"  # noqa: S105 - the method's name (RFC 4252)
    KEYBOARD_INTERACTIVE = "keyboard-interactive"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where SSH is spoken, as whom, and by which files, those that `auth` does not use being empty.

    An empty `passphrase_path` means that the private key is not encrypted, an empty `known_hosts_path`: accept any
    host key.
    """

    host: str
    port: int
    user: str
    auth: Auth
    private_key_path: str
    certificate_path: str
    passphrase_path: str
    password_path: str
    known_hosts_path: str


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The longest that each part may take, in seconds; what takes longer ends in that part's timeout outcome."""

    connect_s: float
    banner_s: float
    kex_s: float
    auth_s: float
    channel_s: float
    step_s: float


@unique
class Library(StrEnum):
    """What speaks SSH in a worker."""

    SSH2_PYTHON = "ssh2-python"
    PARAMIKO = "paramiko"
    ASYNCSSH = "asyncssh"
    OPENSSH = "openssh"


@dataclass(frozen=True, slots=True)
class Client:
    """How the client speaks SSH. Empty tuples, and None, leave the choice to the library.

    `window_bytes` is the receive window of a channel (RFC 4254 section 5.2), `packet_bytes` the largest packet that
    it takes, `read_buffer_bytes` what is asked of a channel at once and `sftp_read_bytes` what is asked of an SFTP
    file at once, `sftp_write_bytes` what is handed to it. `rekey_bytes` is after how much data the client asks for new
    keys. `control_master` lets the commands of OpenSSH share one connection.
    """

    library: Library
    control_master: bool
    kex_algorithms: tuple[str, ...]
    ciphers: tuple[str, ...]
    macs: tuple[str, ...]
    host_key_algorithms: tuple[str, ...]
    compression: bool
    rekey_bytes: int | None
    window_bytes: int | None
    packet_bytes: int | None
    read_buffer_bytes: int | None
    sftp_read_bytes: int | None
    sftp_write_bytes: int | None
    quick_ack: bool
    timeouts: Timeouts


@dataclass(frozen=True, slots=True)
class ExecStep:
    """Run a command on a channel of its own. `expect_stdout` is a regular expression, empty for any output."""

    kind: ClassVar[str] = "exec"
    name: str
    command: str
    expect_exit_code: int
    expect_stdout: str


@dataclass(frozen=True, slots=True)
class SftpReadStep:
    """Read a file over SFTP to its end. `expect_bytes` and `expect_sha256` (hexadecimal) are checked where given."""

    kind: ClassVar[str] = "sftpRead"
    name: str
    path: str
    expect_bytes: int | None
    expect_sha256: str


@unique
class Verify(StrEnum):
    """How a written file is checked: not at all, by its size, or by reading it back and comparing every byte."""

    NONE = "none"
    SIZE = "size"
    CONTENT = "content"


@dataclass(frozen=True, slots=True)
class SftpWriteStep:
    """Write a file of `size_bytes` over SFTP, in place of what is there."""

    kind: ClassVar[str] = "sftpWrite"
    name: str
    path: str
    size_bytes: int
    verify: Verify


@dataclass(frozen=True, slots=True)
class SftpListStep:
    """Read a directory over SFTP to its end. `expect_entries`, without `.` and `..`, is checked where given."""

    kind: ClassVar[str] = "sftpList"
    name: str
    path: str
    expect_entries: int | None


@dataclass(frozen=True, slots=True)
class SftpStatStep:
    """Ask for a file's attributes over SFTP."""

    kind: ClassVar[str] = "sftpStat"
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class SftpMkdirStep:
    """Make a directory over SFTP."""

    kind: ClassVar[str] = "sftpMkdir"
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class SftpRmdirStep:
    """Remove an empty directory over SFTP."""

    kind: ClassVar[str] = "sftpRmdir"
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class SftpRenameStep:
    """Rename a file over SFTP."""

    kind: ClassVar[str] = "sftpRename"
    name: str
    path: str
    to: str


@dataclass(frozen=True, slots=True)
class SftpRemoveStep:
    """Remove a file over SFTP."""

    kind: ClassVar[str] = "sftpRemove"
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class ScpReadStep:
    """Read a file by scp. `expect_bytes` and `expect_sha256` (hexadecimal) are checked where given."""

    kind: ClassVar[str] = "scpRead"
    name: str
    path: str
    expect_bytes: int | None
    expect_sha256: str


@dataclass(frozen=True, slots=True)
class ScpWriteStep:
    """Write a file of `size_bytes` by scp, in place of what is there."""

    kind: ClassVar[str] = "scpWrite"
    name: str
    path: str
    size_bytes: int
    verify: Verify


@dataclass(frozen=True, slots=True)
class ShellStep:
    """Work in an interactive shell on a terminal: `repeat` times, send `send` and wait until `expect` comes back.

    An empty `command` asks for the login shell (RFC 4254 section 6.5). `ready` is what to wait for before the first
    send, empty for nothing. `expect` and `ready` are plain text.
    """

    kind: ClassVar[str] = "shell"
    name: str
    command: str
    ready: str
    send: str
    expect: str
    repeat: int


@dataclass(frozen=True, slots=True)
class ForwardStep:
    """Let the server connect to `host` and `port` (direct-tcpip, RFC 4254 section 7.2), send, and wait for an answer.

    Empty `send` sends nothing, empty `expect`, which is plain text, waits for nothing.
    """

    kind: ClassVar[str] = "forward"
    name: str
    host: str
    port: int
    send: str
    expect: str


@dataclass(frozen=True, slots=True)
class GitUploadPackStep:
    """Fetch everything that HEAD of a repository reaches, as `git clone` would (gitprotocol-pack(5), version 0)."""

    kind: ClassVar[str] = "gitUploadPack"
    name: str
    repository: str


@dataclass(frozen=True, slots=True)
class SleepStep:
    """Keep the session open and idle. Counts in `total`, and has no timing of its own."""

    kind: ClassVar[str] = "sleep"
    duration_s: float


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
    | ScpReadStep
    | ScpWriteStep
    | ShellStep
    | ForwardStep
    | GitUploadPackStep
    | SleepStep
)


@unique
class SessionReuse(StrEnum):
    """Who logs in: every iteration, every user once, or a pool whose sessions all iterations share.

    A pool logs in from the start order to the middle of the warm-up, which counts as warm-up and in no iteration's
    time.
    """

    NONE = "none"
    USER = "user"
    POOL = "pool"


@dataclass(frozen=True, slots=True)
class Scenario:
    """What an iteration does: `steps`, or one task of a locustfile's users where `locustfile_path` is not empty.

    `{iteration}` in a path, command or text is replaced by a number that no other iteration of the run has.
    `pool_sessions` is over all workers, 0 without a pool.
    """

    session_reuse: SessionReuse
    pool_sessions: int
    steps: tuple[ScenarioStep, ...]
    locustfile_path: str

    @property
    def slept_s(self) -> float:
        """How long the sleeps of one iteration last together."""
        return sum(step.duration_s for step in self.steps if isinstance(step, SleepStep))


@dataclass(frozen=True, slots=True)
class RunConfig:
    """One run, as the master and each worker read it from `--config`.

    `run_id` ties a summary to its run. `token_path` is the file with the run's token. `via` are the jump hosts, in the
    order in which they are passed. `percentiles` are those to be published (50.0, 99.9). `stats_url` is the managed
    target's `/stats`, empty for an external one. `workers` counts processes, of which each pod runs
    `processes_per_pod`. With `capacity` the run is a search, `load` its first and least trial, and `thresholds` are
    what a trial has to keep; the warm-up and the drain are each trial's. Else there is one load, and nothing is judged
    before its end. `drain_s` bounds the wait for iterations in flight at the end of the load. `start_lead_s` is the
    time between the start order and the agreed start instant.

    With `log_in_first` each worker logs in once to every server of the way before the load, and a login that fails ends
    the run. What a locustfile does is its own, so a run of one has no such login.

    `allow_list` is what every server but a managed target is held against before a worker connects to it, and what
    `forward` steps lead to before a server is asked to. It is None where the user runs the workers on a machine of his
    own (`sshload run`): what that machine may reach, he may.
    """

    version: int
    run_id: str
    token_path: str
    namespace: str
    test: str
    target: Endpoint
    via: tuple[Endpoint, ...]
    allow_list: AllowList | None
    stats_url: str
    client: Client
    scenario: Scenario
    load: Load
    capacity: Capacity | None
    thresholds: tuple[Threshold, ...]
    warm_up_s: float
    workers: int
    processes_per_pod: int
    workers_timeout_s: float
    start_lead_s: float
    drain_s: float
    percentiles: tuple[float, ...]
    log_in_first: bool

    @property
    def is_managed(self) -> bool:
        """Whether the target is the run's own."""
        return bool(self.stats_url)
