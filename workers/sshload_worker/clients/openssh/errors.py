"""From what OpenSSH's programs say on stderr, in the C locale, to outcomes."""

import re

from sshload_contract.vocabulary import Outcome, Step

from sshload_worker.outcomes import StepFailure, pre_banner_outcome

_PATTERNS = (
    (r"Session open refused by peer", Outcome.CHANNEL_REFUSED),
    (r"open failed: |stdio forwarding failed", Outcome.CHANNEL_REFUSED),
    (r"Cannot assign requested address|Address already in use", Outcome.GENERATOR_FAULT),
    (r"connect to .*: Connection refused", Outcome.REFUSED),
    (r"connect to .*: (Connection|Operation) timed out", Outcome.CONNECT_TIMEOUT),
    (r"connect to .*: |Could not resolve hostname", Outcome.CONNECT_FAILED),
    (r"Host key verification failed|host key for .* has changed|host key is known for", Outcome.HOST_KEY_MISMATCH),
    (r"Unable to negotiate|no matching .* found", Outcome.KEX_FAILED),
    (r"Permission denied \(", Outcome.AUTH_REJECTED),
    (r"Load key .*:|Bad configuration option|Bad .* spec|UNPROTECTED PRIVATE KEY", Outcome.GENERATOR_FAULT),
    (r"banner exchange: .*: (could not read|invalid format)|protocol (identification|mismatch)", Outcome.NOT_SSH),
    (r"kex_exchange_identification: (read: |write: )?Connection (closed|reset)", Outcome.RESET_BEFORE_BANNER),
    (r"Received disconnect from|Disconnected from|Connection (closed|reset) by|Connection to .* closed", None),
    (r"Broken pipe|client_loop: |Connection reset by peer|Connection closed|Control socket connect", None),
)
ERRORS = tuple((re.compile(pattern), outcome or Outcome.DISCONNECTED) for pattern, outcome in _PATTERNS)
"""What a line says, the first that fits."""

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
    "Operation unsupported": Outcome.SFTP_OP_UNSUPPORTED,
    "Failure": Outcome.SFTP_FAILURE,
}
"""The words that sftp has for status codes."""

_PRE_BANNER_LINE = re.compile(r"kex_exchange_identification: banner line \d+: (.*)")


def failure(step: Step, lines: list[str]) -> StepFailure:
    """Return what the lines of a program that ended in `step` say."""
    for line in lines:
        said = _PRE_BANNER_LINE.search(line)
        if said:
            text = said[1].strip()
            return StepFailure(pre_banner_outcome(text) or Outcome.NOT_SSH, text)
    for pattern, outcome in ERRORS:
        for line in lines:
            if pattern.search(line) and not line.startswith("debug"):
                return StepFailure(_as_of(step, outcome), _message(line))
    return StepFailure(OTHER_ERRORS.get(step, Outcome.DISCONNECTED), lines[-1] if lines else "ssh ended")


def sftp_failure(text: str) -> StepFailure:
    """Return what sftp said when it ended ill: its words for the status stand last, after the path."""
    for words, outcome in SFTP_ERRORS.items():
        if text.rstrip(".").endswith(words):
            return StepFailure(outcome, _message(text))
    return StepFailure(Outcome.SFTP_OTHER, _message(text))


def _as_of(step: Step, outcome: Outcome) -> Outcome:
    """Once the banner is there, a close is a disconnect."""
    late = step not in (Step.CONNECT, Step.BANNER)
    return Outcome.DISCONNECTED if late and outcome is Outcome.RESET_BEFORE_BANNER else outcome


def _message(line: str) -> str:
    """Return a line without the address, where its reason is what others say too."""
    reason = line.rpartition(": ")[2]
    return reason if reason == "Connection refused" else line.strip()
