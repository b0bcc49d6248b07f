"""The connection of master and workers: Locust's, encrypted with the run's token, and the messages that it carries.

Only the pods of the run, and the operator that made it, have the token. The master accepts workers over a connection
that is encrypted with it (CurveZMQ, RFC 26 of ZeroMQ), so nobody without the token can join or send messages. The
summary is followed by a proof of the token, by which the operator verifies who printed it.

These messages are sent in addition to Locust's own. A run has one trial, or several if it searches the capacity. A
trial is READY from all workers, START, and REPORTs, the last of which is final. Then comes AGAIN, after which workers
are READY again, or END. Before the first START there may be a LOG_IN, which each worker answers with LOGGED_IN or
LOGIN_FAILED.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zmq
from locust.rpc import zmqrpc
from sshload_contract.bounds import Amount
from zmq.utils import z85

_PLAIN_SOCKET: Any = zmqrpc.BaseSocket.__init__
LOST_AFTER_S = 10.0
"""How long a worker or the master may be silent. When three runs shared half a core, one waited 5.6 s for a CPU."""

_FRAME_BYTES = 32_768
"""Of one frame of a message to the master."""

_LARGEST_FRAME_BYTES = 65_536
"""That the master takes: with what encryption adds."""

_HANDSHAKE_WITHIN_MS = 10_000
_TOKEN = re.compile(r"[0-9a-f]{64}")

HELLO = "sshloadHello"
"""Worker: {run_id, worker}. It is connected."""

READY = "sshloadReady"
"""Worker: {worker}. It has resolved the target, read its files, has free ports, and is ready to start."""

TARGET_PROBLEM = "sshloadTargetProblem"
"""Worker: {worker, message}. Why the target cannot be reached yet; it tries again."""

LOG_IN = "sshloadLogIn"
"""Master: {}. Log in once to each server on the way. It is repeated, for workers that connect later, and is one order.
"""

LOGGED_IN = "sshloadLoggedIn"
"""Worker: {worker, accepted, better_kex}. The login has ended. `accepted` is false if a server refused it as one too
many. One worker says what RunSummary.better_kex is."""

LOGIN_FAILED = "sshloadLoginFailed"
"""Worker: the fields of LoginFailure. It cannot log in, and exits."""

START = "sshloadStart"
"""Master: {trial, amount, lead_s, of}. Begin the trial of this number, with `amount` of load, `lead_s` after this
arrives, as one of `of` workers.

It is a duration, not an instant of the wall clock, because clocks of nodes differ by more than messages take.
"""

REPORT = "sshloadReport"
"""Worker: {report}. A Report as JSON."""

FINISH = "sshloadFinish"
"""Master: {}. The load ends now. Begin nothing more, and send the final report when the last iterations have ended."""

FINISHED = "sshloadFinished"
"""Worker: {worker, after_s}. The load of this worker has ended `after_s` after its start, because of FINISH, or because
each user of the population has logged in."""

STOP = "sshloadStop"
"""Master: {}. End running iterations as unfinished, and send the final report now."""

AGAIN = "sshloadAgain"
"""Master: {}. Another trial follows: prepare for it."""

END = "sshloadEnd"
"""Master: {}. The run is over: exit with 0."""

FAULT = "sshloadFault"
"""Worker: {worker, message}. It cannot generate the load, and exits."""

NOT_ALLOWED = "sshloadNotAllowed"
"""Worker: {worker, message}. It may not connect to the target, or to a host on the way there, and exits."""

LEAVE = "sshloadLeave"
"""Worker: {worker, message}. It was told to terminate, and exits."""


def read_token(path: Path) -> str:
    """Return the token in a file; raises OSError if it cannot be read, ValueError if it has something else."""
    token = path.read_text(encoding="ascii").strip()
    if _TOKEN.fullmatch(token) is None:
        raise ValueError(f"{path} does not hold 64 hexadecimal digits")
    return token


def encrypt_lines(token: str) -> None:
    """Encrypt all connections of Locust that this process opens from now on.

    Both ends derive the server's key pair from the token. So the public key, which a client needs beforehand, is as
    secret as the token itself.
    """
    encode: Any = z85.encode
    secret = encode(hashlib.sha256(f"sshload line {token}".encode("ascii")).digest())
    public = zmq.curve_public(secret)

    def encrypted_socket(line: Any, kind: int, ipv4_only: bool) -> None:  # noqa: FBT001 - Locust's own signature
        _PLAIN_SOCKET(line, kind, ipv4_only)
        if kind == zmq.ROUTER:
            line.socket.curve_server = True
            line.socket.curve_secretkey, line.socket.curve_publickey = secret, public
            # Of strangers, too: by default ZeroMQ collects a frame of any size before it knows who sends it.
            line.socket.maxmsgsize, line.socket.handshake_ivl = _LARGEST_FRAME_BYTES, _HANDSHAKE_WITHIN_MS
        else:
            line.socket.curve_serverkey = public
            line.socket.curve_publickey, line.socket.curve_secretkey = zmq.curve_keypair()
        line.socket = _InFrames(line.socket)

    setattr(zmqrpc.BaseSocket, "__init__", encrypted_socket)  # noqa: B010 - mypy refuses the plain assignment


class _InFrames:
    """A socket of Locust's whose messages to the master are sent in small frames.

    The master can then refuse all larger ones, so that a connection of a stranger costs it little.
    """

    def __init__(self, plain: Any) -> None:
        self._plain = plain

    def __getattr__(self, name: str) -> Any:
        """Return what the socket has."""
        return getattr(self._plain, name)

    def send(self, data: bytes, flags: int) -> None:
        """Send a message as a worker; Locust says by `flags` that it does not wait for room."""
        frames = [data[begin : begin + _FRAME_BYTES] for begin in range(0, len(data), _FRAME_BYTES)]
        self._plain.send_multipart(frames, flags)

    def recv_multipart(self) -> list[bytes]:
        """Return who sent a message to the master, and the message."""
        sender, *frames = self._plain.recv_multipart()
        return [sender, b"".join(frames)]


def flush_and_close(line: Any, linger_ms: int) -> None:
    """Close a connection of Locust (rpc.Client or rpc.Server) when all messages are sent, or after `linger_ms`.

    Closing alone does not wait, and an exit ends ZeroMQ's thread with its unsent messages. Terminating the context
    waits (zmq_ctx_term(3)). Each of Locust's connections has its own context.
    """
    context = line.socket.context
    line.close(linger=linger_ms)
    context.term()


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
    better_kex: str | None


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
