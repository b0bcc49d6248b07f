"""The words that processes exchange: steps, outcomes, windows, run ends and verdicts, each declared once."""

import re
from enum import Flag, StrEnum, auto, unique
from functools import cache
from typing import Self

STEP_NAME_PATTERN = r"[a-z][A-Za-z0-9-]*"
"""The pattern of a scenario step's name, of at most STEP_NAME_LIMIT_CHARACTERS: it becomes a label of metrics."""

STEP_NAME_LIMIT_CHARACTERS = 30

_OF_A_JUMP_HOST = re.compile(r"via(\d+)\.(?:connect|banner|kex|auth(?:\.[A-Za-z]+[123]?)?|login)")


@unique
class Timing(StrEnum):
    """What is timed in one iteration beside whole steps, in the order in which it happens.

    `CONNECT` to `AUTH` follow RFC 4253 and RFC 4252, `CHANNEL_OPEN` to `CLOSE` RFC 4254, and `OPEN`, `READ`,
    `WRITE` and `CLOSE` of a file draft-ietf-secsh-filexfer-02. `LOGIN` is the sum from connect to auth. `COMMAND`
    is the sum of a command; every other kind of step has a timing of its own name (`steps.TIMINGS` lists all).
    `TOTAL` lasts from the *scheduled* start of the iteration to the end of its last scenario step. `START_DELAY` is
    the generator's own part of it: from the scheduled start to the actual one. `TLS` is the handshake with a
    gateway (RFC 8446). `AUTH_PUBLICKEY` to `AUTH_KEYBOARD_INTERACTIVE` are the methods of a login that may have
    several, and add up to `AUTH`; `AUTH_KDC` is the part of gssapi in which a KDC is asked. `AUTH_PROMPT_1` to
    `AUTH_VERDICT` are the parts of keyboard-interactive (RFC 4256): from the request, or the last answers, to the
    server's next prompts, and from the last answers to its verdict. Prompts after the third are part of the verdict.
    `GATEWAY_WAIT` to `GATEWAY_COMMAND` are the durations that a gateway reports for the parts of a command.
    """

    START_DELAY = "startDelay"
    CONNECT = "connect"
    BANNER = "banner"
    KEX = "kex"
    AUTH = "auth"
    AUTH_PUBLICKEY = "auth.publickey"
    AUTH_PASSWORD = "auth.password"  # noqa: S105 - a timing's name
    AUTH_GSSAPI = "auth.gssapi"
    AUTH_KDC = "auth.kdc"
    AUTH_KEYBOARD_INTERACTIVE = "auth.keyboardInteractive"
    AUTH_PROMPT_1 = "auth.prompt1"
    AUTH_PROMPT_2 = "auth.prompt2"
    AUTH_PROMPT_3 = "auth.prompt3"
    AUTH_VERDICT = "auth.verdict"
    LOGIN = "login"
    TLS = "tls"
    CHANNEL_OPEN = "channelOpen"
    SUBSYSTEM = "subsystem"
    EXEC = "exec"
    SHELL_START = "shellStart"
    ECHO = "echo"
    OPEN = "open"
    FIRST_BYTE = "firstByte"
    ADVERTISE = "advertise"
    READ = "read"
    WRITE = "write"
    CLOSE = "close"
    TRANSFER = "transfer"
    VERIFY = "verify"
    KEEP_ALIVE = "keepAlive"
    GATEWAY_WAIT = "gatewayWait"
    GATEWAY_LOGIN = "gatewayLogin"
    GATEWAY_COMMAND = "gatewayCommand"
    COMMAND = "command"
    HOLD = "hold"
    TOTAL = "total"


PROMPTS = (Timing.AUTH_PROMPT_1, Timing.AUTH_PROMPT_2, Timing.AUTH_PROMPT_3)
"""The timings of the first prompts of keyboard-interactive."""

PARTS_OF_AUTH = (
    Timing.AUTH_PUBLICKEY,
    Timing.AUTH_PASSWORD,
    Timing.AUTH_GSSAPI,
    Timing.AUTH_KDC,
    Timing.AUTH_KEYBOARD_INTERACTIVE,
    *PROMPTS,
    Timing.AUTH_VERDICT,
)
"""The timings of parts of a login's authentication."""


class Trait(Flag):
    """What an outcome says beyond the failure itself.

    `BY_TIME`: it depends on durations. Either a limit of the client ended the step, which then took at least as long
    (`OWN_LIMIT`), or the server or a gateway ended what was idle or took too long: the connection, its SFTP subsystem,
    a channel (ChannelTimeout), a handshake. `BY_CROWD`: a refusal that depends on how many connections, commands or
    requests arrive at once. `OVERLOAD`: a refusal whose only cause may be too many connections; `MAX_STARTUPS`: that of
    sshd's MaxStartups. `FINAL`: another attempt to log in changes nothing, and servers penalise repeated failures.
    `KEEPS_SESSION`: the session has no open channel of the step, and can be used for another iteration.
    """

    OWN_LIMIT = auto()
    BY_TIME = auto()
    BY_CROWD = auto()
    OVERLOAD = auto()
    MAX_STARTUPS = auto()
    FINAL = auto()
    KEEPS_SESSION = auto()


@unique
class Outcome(StrEnum):
    """How a step ended: every step that was started ends in exactly one of these.

    `NO_TICKET`: Kerberos has no ticket for the server, because a KDC refused it or because it has ended.
    `KDC_UNREACHABLE`: no KDC answers.
    `PROMPT_UNEXPECTED` to `TOO_MANY_LOGINS` are what a server says of a login in words, mostly PAM's: SSH has no codes
    for it. Those with sftp in their names are the status codes of draft-ietf-secsh-filexfer-02 section 7. `TLS_FAILED`
    to `CONNECTION_LOST` are outcomes of requests to a gateway: the first two of the connection to it, those up to
    `REQUEST_REFUSED` by the status of its answer (429, 503, 504, 502, any other from 500 on, any other), and the last
    three by how it reports that a command ended. `PROXY_ERROR` is a 502, 503 or 504 from a proxy in front of the
    gateway.
    """

    traits: Trait

    def __new__(cls, value: str, traits: Trait | None = None) -> Self:
        """Make the outcome that is written as `value`."""
        outcome = str.__new__(cls, value)
        outcome._value_ = value
        outcome.traits = traits or Trait(0)
        return outcome

    OK = "ok", Trait.KEEPS_SESSION
    REFUSED = "refused"
    CONNECT_TIMEOUT = "connectTimeout", Trait.BY_TIME | Trait.OWN_LIMIT
    CONNECT_FAILED = "connectFailed", Trait.BY_CROWD
    THROTTLED = "throttled", Trait.BY_CROWD | Trait.OVERLOAD | Trait.MAX_STARTUPS
    PENALISED = "penalised", Trait.BY_CROWD | Trait.OVERLOAD
    DROPPED_UNKNOWN = "droppedUnknown", Trait.BY_CROWD | Trait.OVERLOAD | Trait.MAX_STARTUPS
    RESET_BEFORE_BANNER = "resetBeforeBanner", Trait.BY_CROWD
    BANNER_TIMEOUT = "bannerTimeout", Trait.BY_TIME | Trait.OWN_LIMIT
    NOT_SSH = "notSsh", Trait.FINAL
    KEX_FAILED = "kexFailed", Trait.FINAL
    KEX_TIMEOUT = "kexTimeout", Trait.BY_TIME | Trait.OWN_LIMIT
    HOST_KEY_MISMATCH = "hostKeyMismatch", Trait.FINAL
    AUTH_REJECTED = "authRejected", Trait.FINAL
    CERTIFICATE_EXPIRED = "certificateExpired", Trait.FINAL
    KEY_REVOKED = "keyRevoked", Trait.FINAL
    REVOKED_KEY_ACCEPTED = "revokedKeyAccepted", Trait.FINAL
    TOO_MANY_AUTH_FAILURES = "tooManyAuthFailures", Trait.FINAL
    AUTH_TIMEOUT = "authTimeout", Trait.BY_TIME | Trait.OWN_LIMIT
    NO_TICKET = "noTicket", Trait.BY_TIME
    KDC_UNREACHABLE = "kdcUnreachable", Trait.BY_TIME
    PROMPT_UNEXPECTED = "promptUnexpected", Trait.FINAL
    SECOND_FACTOR_REUSED = "secondFactorReused", Trait.FINAL
    PASSWORD_EXPIRED = "passwordExpired", Trait.FINAL
    ACCOUNT_EXPIRED = "accountExpired", Trait.FINAL
    ACCOUNT_LOCKED = "accountLocked", Trait.FINAL
    NO_LOGIN = "noLogin", Trait.FINAL
    TOO_MANY_LOGINS = "tooManyLogins", Trait.BY_CROWD
    CHANNEL_REFUSED = "channelRefused", Trait.BY_CROWD | Trait.KEEPS_SESSION
    EXEC_REJECTED = "execRejected", Trait.BY_CROWD
    EXIT_CODE = "exitCode", Trait.KEEPS_SESSION
    NO_EXIT_STATUS = "noExitStatus", Trait.BY_TIME | Trait.KEEPS_SESSION
    KILLED_BY_SIGNAL = "killedBySignal", Trait.KEEPS_SESSION
    OUTPUT_MISMATCH = "outputMismatch"
    STEP_TIMEOUT = "stepTimeout", Trait.BY_TIME | Trait.OWN_LIMIT
    DISCONNECTED = "disconnected", Trait.BY_TIME
    SFTP_NO_SUCH_FILE = "sftpNoSuchFile"
    SFTP_PERMISSION_DENIED = "sftpPermissionDenied"
    SFTP_FAILURE = "sftpFailure"
    SFTP_BAD_MESSAGE = "sftpBadMessage"
    SFTP_NO_CONNECTION = "sftpNoConnection"
    SFTP_CONNECTION_LOST = "sftpConnectionLost", Trait.BY_TIME
    SFTP_OP_UNSUPPORTED = "sftpOpUnsupported"
    SFTP_OTHER = "sftpOther"
    SCP_FAILED = "scpFailed"
    TLS_FAILED = "tlsFailed", Trait.BY_TIME
    TLS_TIMEOUT = "tlsTimeout", Trait.BY_TIME | Trait.OWN_LIMIT
    RATE_LIMITED = "rateLimited", Trait.BY_CROWD | Trait.KEEPS_SESSION
    GATEWAY_BUSY = "gatewayBusy", Trait.BY_CROWD | Trait.KEEPS_SESSION
    GATEWAY_TIMEOUT = "gatewayTimeout", Trait.BY_TIME | Trait.KEEPS_SESSION
    BAD_GATEWAY = "badGateway", Trait.BY_CROWD | Trait.KEEPS_SESSION
    GATEWAY_ERROR = "gatewayError", Trait.KEEPS_SESSION
    PROXY_ERROR = "proxyError", Trait.BY_CROWD | Trait.KEEPS_SESSION
    REQUEST_REFUSED = "requestRefused", Trait.KEEPS_SESSION
    BAD_ANSWER = "badAnswer"
    COMMAND_TIMEOUT = "commandTimeout", Trait.BY_TIME | Trait.KEEPS_SESSION
    OUTPUT_LIMIT = "outputLimit", Trait.KEEPS_SESSION
    CONNECTION_LOST = "connectionLost", Trait.KEEPS_SESSION
    UNFINISHED = "unfinished", Trait.BY_TIME
    GENERATOR_FAULT = "generatorFault", Trait.FINAL

    @classmethod
    @cache
    def having(cls, trait: Trait) -> "frozenset[Outcome]":
        """Return the outcomes that have a trait."""
        return frozenset(outcome for outcome in cls if trait in outcome.traits)


@unique
class InPath(StrEnum):
    """What a run can deploy in the path to its managed target."""

    PROXY = "proxy"
    GATEWAY = "gateway"


@unique
class Window(StrEnum):
    """Which part of a run a sample belongs to, by the scheduled start of its iteration."""

    WARM_UP = "warmUp"
    MEASURED = "measured"


@unique
class RunEnd(StrEnum):
    """Why the master ended the run."""

    COMPLETED = "completed"
    WORKERS_MISSING = "workersMissing"
    WORKER_LOST = "workerLost"
    TARGET_UNREACHABLE = "targetUnreachable"
    TARGET_NOT_ALLOWED = "targetNotAllowed"
    LOGIN_FAILED = "loginFailed"
    STOPPED = "stopped"
    GENERATOR_FAULT = "generatorFault"


@unique
class Invalidity(StrEnum):
    """Why a measurement cannot be trusted, whatever its figures are."""

    WORKER_LOST = "WorkerLost"
    REPORTS_MISSING = "ReportsMissing"
    GENERATOR_FAULT = "GeneratorFault"
    COUNTS_DISAGREE = "CountsDisagree"
    SOURCE_PORTS_USED_UP = "SourcePortsUsedUp"
    GENERATOR_SATURATED = "GeneratorSaturated"
    LATE_ARRIVALS = "LateArrivals"
    CPU_STOLEN = "CpuStolen"
    ARRIVALS_DROPPED = "ArrivalsDropped"
    NO_REQUESTS = "NoRequests"

    @property
    def is_own_delay(self) -> bool:
        """Whether the generator's own delay is the reason."""
        return self in {Invalidity.GENERATOR_SATURATED, Invalidity.LATE_ARRIVALS, Invalidity.CPU_STOLEN}

    @property
    def outranks_thresholds(self) -> bool:
        """Whether not even a broken threshold says anything. The others leave that to the server."""
        return not self.is_own_delay and self is not Invalidity.ARRIVALS_DROPPED


@unique
class TrialReason(StrEnum):
    """Why a trial that can be trusted has its verdict."""

    THRESHOLDS_MET = "ThresholdsMet"
    THRESHOLD_BROKEN = "ThresholdBroken"
    ALL_FAILED = "AllFailed"
    MANY_FAILED = "ManyFailed"
    TOO_FEW_SAMPLES = "TooFewSamples"
    WITHIN_NOISE = "WithinNoise"
    TARGET_UNREAD = "TargetUnread"


@unique
class TrialState(StrEnum):
    """The result of one trial of a search: all thresholds were met, one was broken, or it cannot be judged."""

    PASSED = "passed"
    FAILED = "failed"
    INVALID = "invalid"


@unique
class SearchEnd(StrEnum):
    """Why a search for the capacity ended.

    `FOUND`: both bounds are known with the precision asked for. `MOST_HELD`: even the largest amount passed.
    `LEAST_BROKEN`: even the smallest amount failed. `GENERATOR_LIMIT`: at some amount too many trials were invalid.
    `TOO_MANY_TRIALS` and `OUT_OF_TIME`: the search was cut short. `RUN_ENDED`: something else ended the run during the
    search.
    """

    FOUND = "found"
    MOST_HELD = "mostHeld"
    LEAST_BROKEN = "leastBroken"
    GENERATOR_LIMIT = "generatorLimit"
    TOO_MANY_TRIALS = "tooManyTrials"
    OUT_OF_TIME = "outOfTime"
    RUN_ENDED = "runEnded"


@unique
class Verdict(StrEnum):
    """The result of a finished run."""

    PASSED = "Passed"
    FAILED = "Failed"
    INCONCLUSIVE = "Inconclusive"
    INVALID = "Invalid"
    ERROR = "Error"
    ABORTED = "Aborted"


MEASURED_VERDICTS = frozenset({Verdict.PASSED, Verdict.FAILED, Verdict.INCONCLUSIVE})
"""Those of runs whose figures are true: a threshold that was broken, or had too few samples, changes none of them."""


@cache
def measured_step(scenario_step: str, step: str) -> str:
    """Return the name under which a timing is published: `uptime.exec`, or `exec` if the step has no name."""
    return f"{scenario_step}.{step}" if scenario_step else str(step)


@cache
def owner_and_timing(measured: str) -> tuple[str, str]:
    """Return what a published timing belongs to, and the timing: ("uptime", "exec"), or ("", "exec") without a name."""
    for timing in PARTS_OF_AUTH:
        if measured == timing or measured.endswith(f".{timing}"):
            return measured[: -len(timing)].removesuffix("."), str(timing)
    owner, _, name = measured.rpartition(".")
    return owner, name


def is_of_jump_host(measured: str) -> bool:
    """Return whether a timing is of the login to a jump host: `via1.connect` to `via1.login`, and so on.

    A scenario step may be named `via1` too, but none of its timings has such a name.
    """
    return _OF_A_JUMP_HOST.fullmatch(measured) is not None


def jump_host_of(measured: str) -> int:
    """Return the number, from 1, of the jump host whose login a timing is of; 0 if it is of none."""
    found = _OF_A_JUMP_HOST.fullmatch(measured)
    return int(found[1]) if found else 0
