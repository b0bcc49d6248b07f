"""The client: which library speaks SSH in a worker, how it logs in, and with which settings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum, unique
from typing import Annotated, ClassVar, Final, Self, TypeAlias

from sshload_contract.declared import Absent, Default, Duration, Items, Named, Rule, Size, Text, Whole
from sshload_contract.expressions import PromptExpression
from sshload_contract.kerberos import Kerberos
from sshload_contract.vocabulary import PROMPTS, Timing

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
    """How a client logs in. `CERTIFICATE` is OpenSSH's (PROTOCOL.certkeys), the others RFC 4252, RFC 4256 and RFC 4462.

    `AGENT` is publickey with the key in an ssh-agent that the worker starts for itself. `GSSAPI` is gssapi-with-mic, by
    Kerberos.
    """

    PUBLICKEY = "publickey"
    CERTIFICATE = "certificate"
    AGENT = "agent"
    PASSWORD = "password"  # noqa: S105 - the method's name (RFC 4252)
    KEYBOARD_INTERACTIVE = "keyboard-interactive"
    GSSAPI = "gssapi"


BY_KEY: Final = (Auth.PUBLICKEY, Auth.CERTIFICATE, Auth.AGENT)
"""The ways to log in that need a private key."""
WITHOUT_TICKETS: Final = tuple(auth for auth in Auth if auth is not Auth.GSSAPI)
"""The ways to log in that need no Kerberos, which most libraries do not have."""


@unique
class Answer(StrEnum):
    """What answers a prompt of keyboard-interactive (RFC 4256)."""

    PASSWORD = "password"  # noqa: S105 - not one
    TOTP = "totp"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt, and what answers it."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("(self.answer == 'text') == has(self.text)", "is required with answer text, and only then", at=".text"),
    )
    match: Annotated[
        PromptExpression,
        "A regular expression that it contains.",
    ]
    answer: Annotated[
        Answer,
        "The credentials' password, a code of their TOTP secret (RFC 6238), or text.",
    ]
    text: Annotated[
        str,
        Text(longest=200, shortest=1),
        Absent(""),
        "The text to answer. It is no secret.",
    ]


@unique
class TotpAlgorithm(StrEnum):
    """The hash of a TOTP (RFC 6238)."""

    SHA1 = "SHA1"
    SHA256 = "SHA256"
    SHA512 = "SHA512"


@dataclass(frozen=True, slots=True)
class Totp:
    """How codes are made of a TOTP secret, by the workers' clocks."""

    algorithm: Annotated[TotpAlgorithm, Default("SHA1"), "The hash."]
    digits: Annotated[int, Whole(6, 8), Default(6), "How many digits a code has."]
    period_s: Annotated[
        float, Duration("10s", "5m", example="30s", whole_seconds=True), Default("30s"), "How long a code lasts."
    ]


def needs_password(auth: Auth, prompts: Iterable[Prompt]) -> bool:
    """Return whether a login takes a password: to log in by it, or to answer a prompt."""
    answers = {prompt.answer for prompt in prompts}
    by_prompts = auth is Auth.KEYBOARD_INTERACTIVE and not answers
    return auth is Auth.PASSWORD or by_prompts or Answer.PASSWORD in answers


PROMPTED: Final = (Timing.AUTH_KEYBOARD_INTERACTIVE, *PROMPTS, Timing.AUTH_VERDICT)
"""The timings of a login by keyboard-interactive."""


def timing_of(auth: Auth) -> Timing:
    """Return the timing of a login's first method."""
    if auth in BY_KEY:
        return Timing.AUTH_PUBLICKEY
    if auth is Auth.GSSAPI:
        return Timing.AUTH_GSSAPI
    return Timing.AUTH_PASSWORD if auth is Auth.PASSWORD else Timing.AUTH_KEYBOARD_INTERACTIVE


def parts_of_auth(auth: Auth, prompts: tuple[Prompt, ...]) -> tuple[Timing, ...]:
    """Return the parts that are timed of a login: the only method of a login is all of `auth`, and named for gssapi."""
    if auth is Auth.KEYBOARD_INTERACTIVE:
        return PROMPTED
    only = (Timing.AUTH_GSSAPI,) if auth is Auth.GSSAPI else ()
    return (timing_of(auth), *PROMPTED) if prompts else only


DEFAULT_TOTP: Final = Totp(TotpAlgorithm.SHA1, 6, 30.0)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The longest that each part may take. What takes longer ends in that part's timeout outcome."""

    connect_s: Annotated[float, _TIMEOUT, Default("10s"), "For the TCP connection."]
    banner_s: Annotated[float, _TIMEOUT, Default("10s"), "For the server's identification."]
    kex_s: Annotated[float, _TIMEOUT, Default("20s"), "For the key exchange."]
    auth_s: Annotated[float, _TIMEOUT, Default("20s"), "For the login."]
    channel_s: Annotated[float, _TIMEOUT, Default("10s"), "For opening a channel."]
    step_s: Annotated[float, _TIMEOUT, Default("1m"), "For the rest of a step."]


_NAME = Text(
    shortest=1, longest=100, pattern=r"[A-Za-z0-9_{][A-Za-z0-9_.@+{}-]*", wanted="a name of letters, digits and _.@+-"
)
_RENEWED_BEFORE: Final = 1 / 3


@dataclass(frozen=True, slots=True)
class Certificates:
    """Certificates that the workers sign for those who log in, ahead of their logins, and renew before they end.

    A managed target gets an authority that is made for the run.
    """

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.renewBefore) || duration(self.renewBefore) < duration(self.lifetime)",
            "must be shorter than lifetime",
            at=".renewBefore",
        ),
        Rule("!has(self.renewBefore) || self.renew", "is for certificates that are renewed", at=".renewBefore"),
    )

    lifetime_s: Annotated[
        float,
        Duration("5s", "168h", example="1m", whole_seconds=True),
        Default("1h"),
        "How long a certificate is valid after its signature, in whole seconds.",
    ]
    renew: Annotated[
        bool,
        Default(True),
        "Whether certificates are renewed. Without, each is signed when the load begins, and logins after its end are"
        " refused (certificateExpired).",
    ]
    renew_before_s: Annotated[
        float | None,
        Duration("1s", "168h", example="20s", whole_seconds=True),
        "How long before its end a certificate is renewed. Without it, a third of lifetime.",
    ]
    backdate_s: Annotated[
        float,
        Duration("0s", "1h", whole_seconds=True),
        Default("1m"),
        "How long before its signature a certificate begins to be valid, because the clocks of workers and servers"
        " differ.",
    ]
    principals: Annotated[
        tuple[Annotated[str, _NAME, "One principal. `{user}` in it is replaced by who logs in."], ...],
        Items(most=20, distinct=True),
        Absent(("{user}",)),
        "The names that a certificate is for. Without it, who logs in.",
    ]
    extensions: Annotated[
        tuple[
            Annotated[
                str,
                Text(shortest=1, longest=64, pattern=r"[a-z][A-Za-z0-9@.-]*", wanted="an extension such as permit-pty"),
                "One extension.",
            ],
            ...,
        ],
        Items(most=20, distinct=True),
        Absent(
            (
                "permit-X11-forwarding",
                "permit-agent-forwarding",
                "permit-port-forwarding",
                "permit-pty",
                "permit-user-rc",
            )
        ),
        "What a certificate permits. Without it, what ssh-keygen writes: permit-pty and four more.",
    ]

    @property
    def renewed_after_s(self) -> float:
        """How long after its signature a certificate is renewed."""
        before_s = self.lifetime_s * _RENEWED_BEFORE if self.renew_before_s is None else self.renew_before_s
        return self.lifetime_s - before_s


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryTraits:
    """What a client library answers about itself. What is not given is the answer of one that lacks nothing.

    `package` is its folder in the workers' `clients`, and `imports` what has to be installed for it. `logins` are the
    ways to log in that it has, `lacks` the settings that it has not, each with a reason (or an empty text), `sizes` the
    bounds of those that it has with narrower ones. `commands_only`: of steps it has commands and SFTP. `runs_programs`:
    a program makes the connection. `chooses_source`: it connects from an address that a user states. `cost` is its CPU
    time beside the default library's.
    """

    package: str
    imports: tuple[str, ...] = ()
    logins: tuple[Auth, ...] = WITHOUT_TICKETS
    lacks: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    has_jump_hosts: bool = True
    chooses_source: bool = True
    commands_only: bool = False
    runs_programs: bool = False
    checks_host_certificates: bool = False
    cost: str = ""


_WHO_ANSWERS: Final = ": ssh2-python, paramiko and asyncssh answer prompts"


@unique
class Library(StrEnum):
    """The client library of a worker. A library is its line here, and its package in the workers' `clients`."""

    traits: LibraryTraits

    def __new__(cls, value: str, traits: LibraryTraits | None = None) -> Self:
        """Make the library that is written as `value`."""
        library = str.__new__(cls, value)
        library._value_ = value
        library.traits = traits or LibraryTraits(package=value)
        return library

    SSH2_PYTHON = (
        "ssh2-python",
        LibraryTraits(
            package="ssh2",
            lacks={"rekeyLimit": ", because it never starts a key exchange itself: use target.managed.sshd.rekeyLimit"},
            sizes={
                "packetSize": ("1Ki", "32Ki"),
                "readBufferSize": ("1Ki", "16Mi"),
                "sftpReadSize": ("1Ki", "16Mi"),
                "sftpWriteSize": ("1Ki", "16Mi"),
            },
        ),
    )
    PARAMIKO = (
        "paramiko",
        LibraryTraits(
            package="paramiko",
            imports=("paramiko",),
            sizes={"packetSize": ("4Ki", "1Mi"), "sftpReadSize": ("1Ki", "255Ki")},
            cost="2.9 ms of CPU for each connection with a command, where ssh2-python takes 0.9 ms",
        ),
    )
    ASYNCSSH = (
        "asyncssh",
        LibraryTraits(
            package="asyncssh",
            imports=("asyncssh",),
            logins=tuple(Auth),
            lacks={"readBufferSize": ""},
            checks_host_certificates=True,
            cost="2.9 to 3.8 ms of CPU for each connection with a command, where ssh2-python takes 0.9 ms",
        ),
    )
    OPENSSH = (
        "openssh",
        LibraryTraits(
            package="openssh",
            logins=(*BY_KEY, Auth.GSSAPI),
            lacks={"windowSize": "", "packetSize": "", "readBufferSize": "", "prompts": _WHO_ANSWERS},
            runs_programs=True,
            checks_host_certificates=True,
            cost="15 ms of CPU for each connection with a command, and 90 to 105 ms with sntrup761 for its key"
            " exchange, where ssh2-python takes 1.8 ms",
        ),
    )
    MINA_SSHD = (
        "mina-sshd",
        LibraryTraits(
            package="mina",
            logins=(Auth.PUBLICKEY, Auth.PASSWORD),
            lacks={"readBufferSize": "", "extraKeys": "", "prompts": _WHO_ANSWERS},
            has_jump_hosts=False,
            chooses_source=False,
            commands_only=True,
            runs_programs=True,
        ),
    )


def having(auth: Auth) -> tuple[Library, ...]:
    """Return the libraries that log in like this."""
    return tuple(library for library in Library if auth in library.traits.logins)


def listed(words: Iterable[str], last_by: str = "and") -> str:
    """Return words as a sentence lists them: a, b and c."""
    *first, last = words
    return f"{', '.join(first)} {last_by} {last}" if first else last


def in_cel(words: Iterable[str]) -> str:
    """Return words as a list of CEL."""
    return f"[{', '.join(repr(str(word)) for word in words)}]"


BY_KEY_IN_CEL: Final = in_cel(BY_KEY)
RUN_PROGRAMS: Final = tuple(library for library in Library if library.traits.runs_programs)
CHECK_HOST_CERTIFICATES: Final = tuple(library for library in Library if library.traits.checks_host_certificates)
RUN_PROGRAMS_IN_CEL: Final = in_cel(RUN_PROGRAMS)


def _lacking(name: str) -> Rule:
    """Return the rule that some libraries have no such setting."""
    libraries = [one for one in Library if name in one.traits.lacks]
    who = f"library {libraries[0]} has" if len(libraries) == 1 else f"libraries {listed(libraries)} have"
    why = libraries[0].traits.lacks[name]
    return Rule(
        f"!has(self.{name}) || !(self.library in {in_cel(libraries)})", f"the {who} no such setting{why}", at=f".{name}"
    )


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
        *map(_lacking, dict.fromkeys(name for library in Library for name in library.traits.lacks)),
        Rule(
            "!has(self.totp) || has(self.prompts) && self.prompts.exists(p, p.answer == 'totp')",
            "has no effect: no prompt is answered by totp",
            at=".totp",
        ),
        Rule(
            f"duration(self.networkDelay) == duration('0s') || !(self.library in {RUN_PROGRAMS_IN_CEL})",
            f"the libraries {listed(RUN_PROGRAMS)} make their connections themselves, so they cannot be delayed",
            at=".networkDelay",
        ),
        *(_only(name, library, *bounds) for library in Library for name, bounds in library.traits.sizes.items()),
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
        f" not for {listed(one for one in Library if 'readBufferSize' in one.traits.lacks)}.",
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
        f" delay. Not for {listed(RUN_PROGRAMS)}.",
    ]
    timeouts: Annotated[Timeouts, Default({})]
    kerberos: Kerberos | None = field(default=None, kw_only=True)
    certificates: Certificates | None = field(default=None, kw_only=True)
    extra_keys: Annotated[
        int | None,
        Whole(1, 50, read_by_rule=True),
        "Keys that the server does not know, which are offered before the right one, as the agent of a person with"
        " several keys does. They are made by each worker. sshd takes MaxAuthTries of them (6), and then ends the"
        " connection (tooManyAuthFailures).",
    ] = field(default=None, kw_only=True)
    prompts: Annotated[
        tuple[Annotated[Prompt, "One kind of prompt."], ...],
        Items(most=10),
        Absent(()),
        "What answers the target's prompts (keyboard-interactive): the first that matches. If none does, the login ends"
        " in promptUnexpected, and nothing is sent.",
    ] = field(default=(), kw_only=True)
    totp: Annotated[Totp | None, "How codes are made."] = field(default=None, kw_only=True)

    @property
    def answers_by_codes(self) -> bool:
        """Whether a prompt is answered by a code of a TOTP secret."""
        return any(prompt.answer is Answer.TOTP for prompt in self.prompts)
