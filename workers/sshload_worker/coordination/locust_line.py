"""Locust's line between master and worker: encrypted by the run's token, and flushed before it is closed.

The token is a secret that only the pods of the run have, and the operator that made it. The master accepts workers over
a line that is encrypted by it (CurveZMQ, RFC 26 of ZeroMQ), so whoever has no token can neither join nor speak; and a
proof of it stands below the summary, by which the operator knows who printed that.
"""

import hashlib
import re
from pathlib import Path
from typing import Any

import zmq
from locust.rpc import zmqrpc
from zmq.utils import z85

_PLAIN_SOCKET: Any = zmqrpc.BaseSocket.__init__
_TOKEN = re.compile(r"[0-9a-f]{64}")


def read_token(path: Path) -> str:
    """Return the token in a file; raises OSError where there is none, ValueError where it holds something else."""
    token = path.read_text(encoding="ascii").strip()
    if _TOKEN.fullmatch(token) is None:
        raise ValueError(f"{path} does not hold 64 hexadecimal digits")
    return token


def encrypt_lines(token: str) -> None:
    """Encrypt all lines of Locust's that this process opens from now on.

    Both ends make the server's key pair from the token. The public key, which a client has to have beforehand, is then
    as secret as the token itself.
    """
    encode: Any = z85.encode
    secret = encode(hashlib.sha256(f"sshload line {token}".encode("ascii")).digest())
    public = zmq.curve_public(secret)

    def encrypted_socket(line: Any, kind: int, ipv4_only: bool) -> None:  # noqa: FBT001 - Locust's own signature
        _PLAIN_SOCKET(line, kind, ipv4_only)
        if kind == zmq.ROUTER:
            line.socket.curve_server = True
            line.socket.curve_secretkey, line.socket.curve_publickey = secret, public
        else:
            line.socket.curve_serverkey = public
            line.socket.curve_publickey, line.socket.curve_secretkey = zmq.curve_keypair()

    setattr(zmqrpc.BaseSocket, "__init__", encrypted_socket)  # noqa: B010 - mypy refuses the plain assignment


def flush_and_close(line: Any, linger_ms: int) -> None:
    """Close a line of Locust's (rpc.Client or rpc.Server) once all that was sent is on its way, or the time is over.

    Closing alone does not wait, and an exit ends ZeroMQ's thread with what it has not sent yet: ending the context is
    what waits (zmq_ctx_term(3)). Each of Locust's lines has a context of its own.
    """
    context = line.socket.context
    line.close(linger=linger_ms)
    context.term()
