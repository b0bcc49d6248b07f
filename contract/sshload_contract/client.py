"""The client: which library speaks SSH in a worker, how it logs in, and with which settings."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Annotated, ClassVar, Final, TypeAlias

from sshload_contract.declared import Absent, Default, Duration, Items, Named, Rule, Size, Text

_TIMEOUT = Duration("1ms", "1h", example="10s")
_BUFFER = Size("1Ki", "64Mi", example="256Ki")

Algorithms: TypeAlias = Annotated[
    tuple[
        Annotated[
            str,
            Text(longest=64, pattern=r"[A-Za-z0-9][A-Za-z0-9@.+-]*", wanted="an algorithm, as ssh -Q names it"),
            "One algorithm, as ssh -Q names it.",
        ],
        ...,
    ],
    Items(most=40, distinct=True),
    Absent(()),
]


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


BY_KEY: Final = (Auth.PUBLICKEY, Auth.CERTIFICATE, Auth.AGENT)
"""The ways to log in that need a private key."""

BY_KEY_IN_CEL: Final = "['publickey', 'certificate', 'agent']"

BY_MINA_SSHD: Final = (Auth.PUBLICKEY, Auth.PASSWORD)
"""The ways to log in that the library mina-sshd has."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The longest that each part may take. What takes longer ends in that part's timeout outcome."""

    connect_s: Annotated[float, _TIMEOUT, Default("10s"), "For the TCP connection."]
    banner_s: Annotated[float, _TIMEOUT, Default("10s"), "For the server's identification."]
    kex_s: Annotated[float, _TIMEOUT, Default("20s"), "For the key exchange."]
    auth_s: Annotated[float, _TIMEOUT, Default("20s"), "For the login."]
    channel_s: Annotated[float, _TIMEOUT, Default("10s"), "For opening a channel."]
    step_s: Annotated[float, _TIMEOUT, Default("1m"), "For the rest of a step."]


@unique
class Library(StrEnum):
    """The client library of a worker."""

    SSH2_PYTHON = "ssh2-python"
    PARAMIKO = "paramiko"
    ASYNCSSH = "asyncssh"
    OPENSSH = "openssh"
    MINA_SSHD = "mina-sshd"


WITHOUT_JUMP_HOSTS: Final = (Library.MINA_SSHD,)
"""The libraries that go through no jump hosts."""


def _not_for(name: str, libraries: Iterable[Library], message: str) -> Rule:
    """Return the rule that these libraries have no such setting."""
    words = ", ".join(f"'{library}'" for library in libraries)
    return Rule(f"!has(self.{name}) || !(self.library in [{words}])", message, at=f".{name}")


def _only(name: str, library: Library, least: str, most: str) -> Rule:
    """Return the rule that a library takes fewer sizes than the field."""
    quantity = f"quantity(string(self.{name}))"
    return Rule(
        f"!has(self.{name}) || self.library != '{library}' ||"
        f" ({quantity}.compareTo(quantity('{least}')) >= 0 && {quantity}.compareTo(quantity('{most}')) <= 0)",
        f"must be a size from {least} to {most}, with the library {library}",
        at=f".{name}",
    )


@dataclass(frozen=True, slots=True)
class Client:
    """How the workers speak SSH. Empty tuples, and None, leave the choice to the library."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!self.controlMaster || self.library == 'openssh'",
            "only the library openssh has a ControlMaster",
            at=".controlMaster",
        ),
        _not_for(
            "rekeyLimit",
            [Library.SSH2_PYTHON],
            "the library ssh2-python has no such setting, because it never starts a key exchange itself: use"
            " target.managed.sshd.rekeyLimit",
        ),
        _not_for(
            "windowSize",
            [Library.OPENSSH],
            "the library openssh has no such setting",
        ),
        _not_for(
            "packetSize",
            [Library.OPENSSH],
            "the library openssh has no such setting",
        ),
        _not_for(
            "readBufferSize",
            [Library.ASYNCSSH, Library.OPENSSH, Library.MINA_SSHD],
            "the libraries asyncssh, openssh and mina-sshd have no such setting",
        ),
        Rule(
            "duration(self.networkDelay) == duration('0s') || !(self.library in ['openssh', 'mina-sshd'])",
            "the libraries openssh and mina-sshd make their connections themselves, so they cannot be delayed",
            at=".networkDelay",
        ),
        _only("packetSize", Library.PARAMIKO, "4Ki", "1Mi"),
        _only("packetSize", Library.SSH2_PYTHON, "1Ki", "32Ki"),
        _only("readBufferSize", Library.SSH2_PYTHON, "1Ki", "16Mi"),
        _only("sftpReadSize", Library.SSH2_PYTHON, "1Ki", "16Mi"),
        _only("sftpWriteSize", Library.SSH2_PYTHON, "1Ki", "16Mi"),
        _only("sftpReadSize", Library.PARAMIKO, "1Ki", "255Ki"),
    )

    library: Annotated[
        Library,
        Default("ssh2-python"),
        "The client library. mina-sshd is Java: its workers.image is sshload-worker-java.",
    ]
    control_master: Annotated[
        bool,
        Default(False),
        "Run each command, SFTP or scp by a program of its own that shares the connection (ControlMaster), and not by"
        " the program that has logged in. For the library openssh only.",
    ]
    kex_algorithms: Annotated[Algorithms, "Key exchanges, in order of preference. Without it, the library's."]
    ciphers: Annotated[Algorithms, "Ciphers, in order of preference. Without it, the library's."]
    macs: Annotated[Algorithms, "Message authentication codes, in order of preference. Without it, the library's."]
    host_key_algorithms: Annotated[
        Algorithms, "Host key algorithms, in order of preference. Without it, the library's."
    ]
    compression: Annotated[bool, Default(False), "Ask for compression (zlib)."]
    rekey_bytes: Annotated[
        int | None,
        Size("64Ki", "1024Gi", example="1Gi"),
        Named("rekeyLimit"),
        "The amount of data after which the client asks for new keys. Without it, the library's. ssh2-python never"
        " asks: use target.managed.sshd.rekeyLimit.",
    ]
    window_bytes: Annotated[
        int | None,
        Size("32Ki", "1Gi", example="2Mi"),
        Named("windowSize"),
        "The receive window of a channel (RFC 4254 section 5.2). Without it, the library's. Not for openssh, nor for"
        " SFTP with ssh2-python.",
    ]
    packet_bytes: Annotated[
        int | None,
        Size("1Ki", "1Mi", example="32Ki"),
        Named("packetSize"),
        "The largest packet that a channel takes. Without it, the library's. At most 32Ki for ssh2-python, at least"
        " 4Ki for paramiko, and not for openssh, nor for SFTP with ssh2-python.",
    ]
    read_buffer_bytes: Annotated[
        int | None,
        _BUFFER,
        Named("readBufferSize"),
        "How much a read of a channel asks for. Without it, sshload's own choice. At most 16Mi for ssh2-python, and"
        " not for asyncssh, openssh and mina-sshd.",
    ]
    sftp_read_bytes: Annotated[
        int | None,
        _BUFFER,
        Named("sftpReadSize"),
        "How much a read of an SFTP file asks for. Without it, sshload's own choice. At most 16Mi for ssh2-python,"
        " 255Ki for paramiko.",
    ]
    sftp_write_bytes: Annotated[
        int | None,
        _BUFFER,
        Named("sftpWriteSize"),
        "How much a write to an SFTP file sends. Without it, sshload's own choice. At most 16Mi for ssh2-python.",
    ]
    quick_ack: Annotated[
        bool,
        Default(True),
        "Acknowledge at once (TCP_QUICKACK). Without it the kernel's delayed acknowledgements add up to 40 ms to a"
        " step, as they do for many real clients.",
    ]
    network_delay_s: Annotated[
        float,
        Duration("0s", "5s", example="10ms"),
        Default("0s"),
        "Delay of each direction between a worker and the first server on its path, which a relay in the worker's pod"
        " adds: 10ms makes the round trip 20 ms longer. The relay does not limit the throughput to what fits into the"
        " delay. Not for openssh and mina-sshd.",
    ]
    timeouts: Annotated[Timeouts, Default({})]
