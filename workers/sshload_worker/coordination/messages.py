"""The messages between the master and its workers beside Locust's own, each with its fields.

A run has one trial or, where a capacity is searched, several. Each is READY from all workers, START, and REPORTs of
which the last is final; then AGAIN, after which workers are READY again, or END. Before the first START there may be a
LOG_IN, which each worker answers with LOGGED_IN or LOGIN_FAILED.
"""

from dataclasses import dataclass

from sshload_contract.wire.bounds import Amount

HELLO = "sshloadHello"
"""Worker: {run_id, worker}. It is connected."""

READY = "sshloadReady"
"""Worker: {worker}. It has resolved the target, read its files, has ports to use, and can be started."""

TARGET_PROBLEM = "sshloadTargetProblem"
"""Worker: {worker, message}. Why the target cannot be reached yet; it tries again."""

LOG_IN = "sshloadLogIn"
"""Master: {}. Log in once to each server of the way. It is sent again and again, for who comes later, and is one order.
"""

LOGGED_IN = "sshloadLoggedIn"
"""Worker: {worker, accepted}. The login is over. `accepted` is false where a server said that too many come."""

LOGIN_FAILED = "sshloadLoginFailed"
"""Worker: the fields of LoginFailure. It cannot log in, and exits."""

START = "sshloadStart"
"""Master: {trial, amount, lead_s, of}. Begin the trial of this number, with `amount` of load, `lead_s` after this
arrives, as one of `of` workers.

A lead, not an instant of the wall clock: clocks of nodes differ by more than messages take.
"""

REPORT = "sshloadReport"
"""Worker: {report}. A Report as JSON."""

FINISH = "sshloadFinish"
"""Master: {}. The load ends now. Begin nothing more, and send the final report when the last iterations have ended."""

FINISHED = "sshloadFinished"
"""Worker: {worker, after_s}. The load of this worker has ended, as FINISH says, so long after its start."""

STOP = "sshloadStop"
"""Master: {}. End what runs as unfinished, and send the final report now."""

AGAIN = "sshloadAgain"
"""Master: {}. Another trial follows: get ready for it."""

END = "sshloadEnd"
"""Master: {}. Nothing more is wanted: exit with 0."""

FAULT = "sshloadFault"
"""Worker: {worker, message}. It cannot generate the load, and exits."""

NOT_ALLOWED = "sshloadNotAllowed"
"""Worker: {worker, message}. It may not connect to the target, or to a host on the way there, and exits."""

LEAVE = "sshloadLeave"
"""Worker: {worker, message}. It was told to terminate, and exits."""


@dataclass(frozen=True, slots=True)
class Hello:
    """The fields of HELLO."""

    run_id: str
    worker: int


@dataclass(frozen=True, slots=True)
class Ready:
    """The fields of READY."""

    worker: int


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """The fields of LOGGED_IN."""

    worker: int
    accepted: bool


@dataclass(frozen=True, slots=True)
class Finished:
    """The fields of FINISHED."""

    worker: int
    after_s: Amount


@dataclass(frozen=True, slots=True)
class WorkerReason:
    """The fields of TARGET_PROBLEM, FAULT, NOT_ALLOWED and LEAVE."""

    worker: int
    message: str


@dataclass(frozen=True, slots=True)
class SentReport:
    """The fields of REPORT."""

    report: str
