"""The output of OpenSSH's programs in the C locale: the milestones of a login in ssh's log at DEBUG1, and errors.

The log contains only ssh's own lines. They are recognized by how they begin, because the rest of a line may come from
the server.
"""

import re
from time import monotonic_ns

from gevent.event import Event
from sshload_contract.vocabulary import Outcome, Timing
from sshload_contract.wire.report import Negotiated

from sshload_worker.outcomes import DISCONNECT_TEXTS, StepFailure, pre_banner_outcome

_KEPT_LINES = 200
_CONNECTING = re.compile(r"debug1: (Connecting to |Executing proxy command)")
_LINE_LIMIT_BYTES = 16_384  # ssh's own lines have 1,024; a server's text may be longer, without any end
_MILESTONES = (
    (Timing.CONNECT, re.compile(r"debug1: (Connection established|Executing proxy command)")),
    (Timing.BANNER, re.compile(r"debug1: Remote protocol version")),
    (Timing.KEX, re.compile(r"debug1: SSH2_MSG_NEWKEYS received")),
    (Timing.AUTH, re.compile(r"debug1: Entering interactive session")),
)
_NEGOTIATED = {
    "kex": re.compile(r"debug1: kex: algorithm: (\S+)"),
    "host_key": re.compile(r"debug1: kex: host key algorithm: (\S+)"),
    "cipher": re.compile(r"debug1: kex: client->server cipher: (\S+)"),
    "mac": re.compile(r"debug1: kex: client->server cipher: \S+ MAC: (\S+)"),
    "server_version": re.compile(r"debug1: Remote protocol version [\d.]+, remote software version (.*)"),
}
_OFFERED = re.compile(r"debug1: Authentications that can continue: (\S+)")
_PARTLY = re.compile(r"Authenticated (using \"\S+\" )?with partial success")
_OF_GSSAPI = re.compile(r"debug1: (Unspecified GSS failure|No credentials were supplied|The referenced credential)")
_TO_KDC = re.compile(r"\[\d+\] [\d.]+: Sending request \(\d+ bytes\) to ")
_FROM_KDC = re.compile(r"\[\d+\] [\d.]+: Received answer \(\d+ bytes\) from ")
_HOST_KEY = re.compile(r"debug1: Server host key: (\S+ \S+)")
_KILLED = re.compile(r"debug1: client_input_channel_req: channel \d+ rtype exit-signal ")
_ACCEPTED = re.compile(
    r"debug2: \S*client_status_confirm\(\):\d+ \([^()]*\): (exec|shell) request accepted on channel "
)
_NOT_ACCEPTED = re.compile(
    r"debug3: \S*client_status_confirm\(\):\d+ \([^()]*\): channel \d+: mux request: (exec|shell)"
)
_EXIT_STATUS = re.compile(r"debug1: client_input_channel_req: channel \d+ rtype exit-status ")
_CLOSED = re.compile(r"debug2: \S*chan_rcvd_oclose\(\):\d+ \([^()]*\): channel \d+: rcvd close")
_REFUSED = re.compile(r"channel \d+: open failed: (.*)")
_CONNECT = r"ssh: connect to host .*: "
_PATTERNS = (
    (_CONNECT + r"(Cannot assign requested address|Address already in use)$", Outcome.GENERATOR_FAULT),
    (_CONNECT + r"Connection refused$", Outcome.REFUSED),
    (_CONNECT + r"(Connection|Operation) timed out$", Outcome.CONNECT_TIMEOUT),
    (_CONNECT + r"|ssh: Could not resolve hostname ", Outcome.CONNECT_FAILED),
    (r"No \S+ host key is known for ", Outcome.HOST_KEY_MISMATCH),
    (r"(\S+ )?[Hh]ost key for \S+ (has changed|was revoked) and ", Outcome.HOST_KEY_MISMATCH),
    (r"Host key verification failed", Outcome.HOST_KEY_MISMATCH),
    (r"Unable to negotiate with ", Outcome.KEX_FAILED),
    (r"\S+: Permission denied \(", Outcome.AUTH_REJECTED),
    (rf"Received disconnect from \S+ port \d+:\d+: ({'|'.join(DISCONNECT_TEXTS)})$", Outcome.TOO_MANY_AUTH_FAILURES),
    (r"Load key |\S+: line \d+: |Bad \S+ spec|@ +WARNING: UNPROTECTED PRIVATE KEY", Outcome.GENERATOR_FAULT),
    (r"Bad remote protocol version identification|Protocol major versions differ", Outcome.NOT_SSH),
    (r"banner exchange: .*: (could not read|invalid format|protocol version mismatch)", Outcome.NOT_SSH),
    (r"kex_exchange_identification: (read: |write: )?Connection (closed|reset)", Outcome.RESET_BEFORE_BANNER),
    (r"Received disconnect from |Disconnected from |Disconnecting ", Outcome.DISCONNECTED),
    (r"Connection (closed|reset) by |Connection to \S+ closed", Outcome.DISCONNECTED),
    (r"(\w+: )?Connection to .*: (Broken pipe|Connection reset by peer)", Outcome.DISCONNECTED),
    (r"client_loop: |Read from remote host |Timeout, server ", Outcome.DISCONNECTED),
)
ERRORS = tuple((re.compile(pattern), outcome) for pattern, outcome in _PATTERNS)
"""How a line begins; the first match counts. ssh's own words come before any text from the server."""

OTHER_ERRORS: dict[str, Outcome] = {
    Timing.CONNECT: Outcome.CONNECT_FAILED,
    Timing.BANNER: Outcome.RESET_BEFORE_BANNER,
    Timing.KEX: Outcome.KEX_FAILED,
    Timing.AUTH: Outcome.AUTH_REJECTED,
}
SFTP_ERRORS = {
    "No such file or directory": Outcome.SFTP_NO_SUCH_FILE,
    "not found": Outcome.SFTP_NO_SUCH_FILE,
    "Permission denied": Outcome.SFTP_PERMISSION_DENIED,
    "Bad message": Outcome.SFTP_BAD_MESSAGE,
    "No connection": Outcome.SFTP_NO_CONNECTION,
    "Connection lost": Outcome.SFTP_CONNECTION_LOST,
    "Connection closed": Outcome.SFTP_CONNECTION_LOST,
    "Operation unsupported": Outcome.SFTP_OP_UNSUPPORTED,
    "Failure": Outcome.SFTP_FAILURE,
}
"""sftp's texts for status codes, and for a server program that has ended."""

_SFTP_MALFORMED = re.compile(
    r"(Expected SSH2_FXP_\S+ packet, got |Unexpected reply |ID mismatch \(|Received message too long )"
    r"|Ensure the remote shell produces no output for non-interactive sessions"
)
"""How sftp's last line begins if the reply is malformed."""

_PRE_BANNER_LINE = re.compile(r"debug1: kex_exchange_identification: banner line \d+: (.*)")


class LoginLog:
    """The log of one ssh process so far. Each milestone is set when it is reached, and all at the end of the log.

    `connecting_ns` is when ssh began to connect, 0 if it has not. `kerberos_words` are what Kerberos said last, and
    `waits_for_kdc` says whether a KDC is to answer.
    """

    def __init__(self) -> None:
        self.milestones: dict[str, Event] = {step: Event() for step, _ in _MILESTONES}
        self.reached: set[Timing] = set()
        self.lines: list[str] = []
        self.accepted_requests = 0
        self.refused_requests = 0
        self.exit_statuses = 0
        self.closed_channels = 0
        self.connecting_ns = 0
        self.offered_methods: tuple[str, ...] = ()
        self.is_partly_authenticated = False
        self.kerberos_words = ""
        self.waits_for_kdc = False
        self.host_key = ""
        self._killed = 0
        self._kerberos_is_next = False
        self._refusals: list[str] = []
        self._negotiated = dict.fromkeys(_NEGOTIATED, "")
        self._rest = bytearray()

    def take(self, piece: bytes) -> None:
        """Add the next piece of the log. Of a line its beginning is taken."""
        *ends, rest = piece.split(b"\n")
        for end in ends:
            self._begin(end)
            self._take_line(self._rest.decode("utf-8", "replace").rstrip("\r"))
            self._rest.clear()
        self._begin(rest)

    def _begin(self, piece: bytes) -> None:
        self._rest += piece[: _LINE_LIMIT_BYTES - len(self._rest)]

    def end(self) -> None:
        """Record the end of the log."""
        if self._rest:
            self.take(b"\n")
        for milestone in self.milestones.values():
            milestone.set()

    def claim_killed(self) -> bool:
        """Return whether the server reported that a signal killed a command; each report counts once."""
        claimed = self._killed > 0
        self._killed -= claimed
        return claimed

    def claim_refusal(self) -> str | None:
        """Return why the server refused a channel, once for each refusal; None if there is no further one."""
        return self._refusals.pop(0) if self._refusals else None

    def negotiated(self) -> Negotiated:
        """Return the algorithms that the first handshake negotiated, and the server's version."""
        negotiated = self._negotiated
        return Negotiated(
            kex=negotiated["kex"],
            cipher=negotiated["cipher"],
            mac=negotiated["mac"].strip("<>"),
            host_key=negotiated["host_key"],
            server_version=f"SSH-2.0-{negotiated['server_version']}",
        )

    def _take_kerberos(self, line: str) -> None:
        """Take what Kerberos says: it is the line after the one that tells what GSSAPI makes of it."""
        if self._kerberos_is_next:
            self.kerberos_words = line.strip()
        self._kerberos_is_next = bool(_OF_GSSAPI.match(line))
        if _TO_KDC.match(line):
            self.waits_for_kdc = True
        elif _FROM_KDC.match(line):
            self.waits_for_kdc = False

    def _take_line(self, line: str) -> None:
        if len(self.lines) < _KEPT_LINES or Timing.AUTH in self.reached:
            self.lines = [*self.lines[-_KEPT_LINES:], line]
        if not self.connecting_ns and _CONNECTING.match(line):
            self.connecting_ns = monotonic_ns()
        for step, pattern in _MILESTONES:
            if step not in self.reached and pattern.match(line):
                self.reached.add(step)
                self.milestones[step].set()
        for name, pattern in _NEGOTIATED.items():
            if not self._negotiated[name] and (said := pattern.match(line)):
                self._negotiated[name] = said[1]
        if offered := _OFFERED.match(line):
            self.offered_methods = tuple(offered[1].split(","))
        self._take_kerberos(line)
        if presented := _HOST_KEY.match(line):
            self.host_key = presented[1]
        self.is_partly_authenticated |= bool(_PARTLY.match(line))
        self.accepted_requests += bool(_ACCEPTED.match(line))
        self.refused_requests += bool(_NOT_ACCEPTED.match(line))
        self.exit_statuses += bool(_EXIT_STATUS.match(line))
        self.closed_channels += bool(_CLOSED.match(line))
        self._killed += bool(_KILLED.match(line))
        if refused := _REFUSED.match(line):
            self._refusals.append(refused[1])


def failure(step: str, lines: list[str]) -> StepFailure:
    """Return the failure of an ssh process that ended in `step`, by the lines of its log."""
    for line in lines:
        said = _PRE_BANNER_LINE.match(line)
        if said:
            text = said[1].strip()
            return StepFailure(pre_banner_outcome(text) or Outcome.NOT_SSH, text)
    for pattern, outcome in ERRORS:
        for line in lines:
            if pattern.match(line):
                return StepFailure(_outcome_in(step, outcome), _message(line))
    if step not in OTHER_ERRORS:
        return StepFailure(Outcome.DISCONNECTED, "the server closed the connection")
    return StepFailure(OTHER_ERRORS[step], lines[-1] if lines else "ssh ended")


def sftp_failure(text: str) -> StepFailure:
    """Return the failure that sftp has printed: the text of the status comes last, after the path."""
    for words, outcome in SFTP_ERRORS.items():
        if text.rstrip(".").endswith(words):
            return StepFailure(outcome, _message(text))
    outcome = Outcome.SFTP_BAD_MESSAGE if _SFTP_MALFORMED.match(text) else Outcome.SFTP_OTHER
    return StepFailure(outcome, _message(text))


def _outcome_in(step: str, outcome: Outcome) -> Outcome:
    """Return the outcome, corrected if it is a close: that is a disconnect only after the banner.

    ssh prints either text before and after the banner, depending on which of its calls notices the close.
    """
    if outcome not in (Outcome.RESET_BEFORE_BANNER, Outcome.DISCONNECTED):
        return outcome
    return Outcome.RESET_BEFORE_BANNER if step in (Timing.CONNECT, Timing.BANNER) else Outcome.DISCONNECTED


def _message(line: str) -> str:
    """Return a line, without the address if other libraries report the same reason."""
    reason = line.rpartition(": ")[2]
    return reason if reason == "Connection refused" else line.strip()
