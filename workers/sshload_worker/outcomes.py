"""From a failure to its Outcome: one table for each kind of evidence, and StepFailure, which has the outcome."""

import errno

from sshload_contract.shortened import shortened
from sshload_contract.vocabulary import Outcome, Timing

MESSAGE_LIMIT_CHARACTERS = 400
_UNSAID = "the server did not say why"
PRE_BANNER_TEXTS = {
    "Exceeded MaxStartups": Outcome.THROTTLED,  # OpenSSH 8.2 to 9.7
    "Not allowed at this time": Outcome.DROPPED_UNKNOWN,  # 9.8 and later, for MaxStartups and penalties alike
}
DISCONNECT_TEXTS = {
    "Too many authentication failures": Outcome.TOO_MANY_AUTH_FAILURES,  # sshd's MaxAuthTries
}
"""What a server says when it ends a connection that logs in (RFC 4253 section 11.1)."""

CONNECT_ERRNOS = {
    errno.ECONNREFUSED: Outcome.REFUSED,
    errno.ETIMEDOUT: Outcome.CONNECT_TIMEOUT,
    errno.EADDRNOTAVAIL: Outcome.GENERATOR_FAULT,  # source ports used up
    errno.EADDRINUSE: Outcome.GENERATOR_FAULT,
    errno.EMFILE: Outcome.GENERATOR_FAULT,
    errno.ENFILE: Outcome.GENERATOR_FAULT,
    errno.ENOBUFS: Outcome.GENERATOR_FAULT,
    errno.ENOMEM: Outcome.GENERATOR_FAULT,
}
TIMEOUTS: dict[str, Outcome] = {
    Timing.CONNECT: Outcome.CONNECT_TIMEOUT,
    Timing.BANNER: Outcome.BANNER_TIMEOUT,
    Timing.KEX: Outcome.KEX_TIMEOUT,
    Timing.AUTH: Outcome.AUTH_TIMEOUT,
    Timing.TLS: Outcome.TLS_TIMEOUT,
}
REFUSALS: dict[str, Outcome] = {
    Timing.KEX: Outcome.KEX_FAILED,
    Timing.AUTH: Outcome.AUTH_REJECTED,
    Timing.CHANNEL_OPEN: Outcome.CHANNEL_REFUSED,
    Timing.EXEC: Outcome.EXEC_REJECTED,
    Timing.SHELL_START: Outcome.EXEC_REJECTED,
}


class StepFailure(Exception):  # noqa: N818 - a refused login is a finding, not an error
    """A step ended with an outcome other than OK.

    `message` has no credentials, and at most 400 characters. It is never empty, whatever the server said.
    """

    def __init__(self, outcome: Outcome, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.message = shortened(message.strip() or _UNSAID, MESSAGE_LIMIT_CHARACTERS)


class UnsupportedSettingError(Exception):
    """A client library does not support a setting. The message begins with the setting's path in the spec."""


def connect_outcome(number: int) -> Outcome:
    """Return the outcome of a connect that ended with this errno."""
    return CONNECT_ERRNOS.get(number, Outcome.CONNECT_FAILED)


def timeout_outcome(step: str) -> Outcome:
    """Return the outcome of a step that exceeded its timeout."""
    return TIMEOUTS.get(step, Outcome.STEP_TIMEOUT)


def refused_outcome(step: str) -> Outcome:
    """Return the outcome of a step in which a library raised an error that has no outcome of its own."""
    return REFUSALS.get(step, Outcome.DISCONNECTED)


def disconnect_outcome(text: str) -> Outcome:
    """Return the outcome of a connection that the server ended with these words."""
    return DISCONNECT_TEXTS.get(text.strip(), Outcome.DISCONNECTED)


def pre_banner_outcome(line: str) -> Outcome | None:
    """Return the outcome that a server's line before its banner states, None if it states none."""
    return next((outcome for text, outcome in PRE_BANNER_TEXTS.items() if text in line), None)


class GeneratorFaultError(Exception):
    """The worker cannot generate this load. The message says what to change, and has no credentials."""


class TargetNotAllowedError(Exception):
    """The installation does not allow the server that the worker would connect to. The message says why."""
