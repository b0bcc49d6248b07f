"""From what OpenSSH's programs say of themselves, in the C locale, to outcomes."""

import re

from sshload_contract.vocabulary import Outcome, Step

from sshload_worker.outcomes import StepFailure, pre_banner_outcome

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
"""What a line begins with, the first that fits. Whatever the server's words are, ssh's own come before them."""

OTHER_ERRORS = {
    Step.CONNECT: Outcome.CONNECT_FAILED,
    Step.BANNER: Outcome.RESET_BEFORE_BANNER,
    Step.KEX: Outcome.KEX_FAILED,
    Step.AUTH: Outcome.AUTH_REJECTED,
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
"""The words that sftp has for status codes, and for a server's program that has ended."""

_SFTP_NONSENSE = re.compile(
    r"(Expected SSH2_FXP_\S+ packet, got |Unexpected reply |ID mismatch \(|Received message too long )"
    r"|Ensure the remote shell produces no output for non-interactive sessions"
)
"""What sftp begins its last line with where the answer is none."""

_PRE_BANNER_LINE = re.compile(r"debug1: kex_exchange_identification: banner line \d+: (.*)")


def failure(step: Step, lines: list[str]) -> StepFailure:
    """Return what the lines of ssh's own log say, where it ended in `step`."""
    for line in lines:
        said = _PRE_BANNER_LINE.match(line)
        if said:
            text = said[1].strip()
            return StepFailure(pre_banner_outcome(text) or Outcome.NOT_SSH, text)
    for pattern, outcome in ERRORS:
        for line in lines:
            if pattern.match(line):
                return StepFailure(_as_of(step, outcome), _message(line))
    return StepFailure(OTHER_ERRORS.get(step, Outcome.DISCONNECTED), lines[-1] if lines else "ssh ended")


def sftp_failure(text: str) -> StepFailure:
    """Return what sftp said when it failed: its words for the status stand last, after the path."""
    for words, outcome in SFTP_ERRORS.items():
        if text.rstrip(".").endswith(words):
            return StepFailure(outcome, _message(text))
    outcome = Outcome.SFTP_BAD_MESSAGE if _SFTP_NONSENSE.match(text) else Outcome.SFTP_OTHER
    return StepFailure(outcome, _message(text))


def _as_of(step: Step, outcome: Outcome) -> Outcome:
    """Return a close's own outcome: it is a disconnect once the banner is there, and none before that.

    ssh has the same words for both, depending on which of its calls meets the close.
    """
    if outcome not in (Outcome.RESET_BEFORE_BANNER, Outcome.DISCONNECTED):
        return outcome
    return Outcome.RESET_BEFORE_BANNER if step in (Step.CONNECT, Step.BANNER) else Outcome.DISCONNECTED


def _message(line: str) -> str:
    """Return a line without the address, where its reason is what others say too."""
    reason = line.rpartition(": ")[2]
    return reason if reason == "Connection refused" else line.strip()
