"""TCP connections tried until they succeed, in attempts short enough that one lost packet costs no minutes."""

import socket
from collections.abc import Callable

import gevent

_ATTEMPT_S = 1.0
_PAUSE_S = 0.1
_GREETING_S = 5.0
_REFUSED_PAUSE_S = 0.5
_VERSION_START = b"SSH-"
_GREETING_LIMIT_BYTES = 8_192
_REPORTED_CHARACTERS = 100


def dial_until_accepted(host: str, port: int, on_problem: Callable[[str], None]) -> None:
    """Return once `host` takes a TCP connection at `port`, which is closed at once; tell each problem meanwhile."""
    while True:
        try:
            socket.create_connection((host, port), timeout=_ATTEMPT_S).close()
        except OSError as error:
            on_problem(f"{host}:{port}: {error.strerror or error}")
            gevent.sleep(_PAUSE_S)
        else:
            return


def dial_until_banner(host: str, port: int, on_problem: Callable[[str], None]) -> None:
    """Return once the server at `port` greets with its SSH version (RFC 4253 section 4.2); tell each problem meanwhile.

    A server that is still full of connections, or that punishes this source for having given some up, closes them with
    other words or with none (sshd: MaxStartups, PerSourcePenalties).
    """
    while True:
        try:
            received = _greeting(host, port)
        except OSError as error:
            on_problem(f"{host}:{port}: {error.strerror or error}")
        else:
            if received.startswith(_VERSION_START) or b"\n" + _VERSION_START in received:
                return
            words = received.decode("ascii", "replace").strip()[:_REPORTED_CHARACTERS]
            on_problem(
                f"{host}:{port}: no SSH version, but {words!r}" if words else f"{host}:{port}: it closed unasked"
            )
        gevent.sleep(_REFUSED_PAUSE_S)


def _greeting(host: str, port: int) -> bytes:
    """Return the server's bytes up to the begin of its version, to its close, or to the limit."""
    received = b""
    with socket.create_connection((host, port), timeout=_ATTEMPT_S) as connection:
        connection.settimeout(_GREETING_S)
        while _VERSION_START not in received and len(received) < _GREETING_LIMIT_BYTES:
            data = connection.recv(_GREETING_LIMIT_BYTES)
            if not data:
                break
            received += data
    return received
