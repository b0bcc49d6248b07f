"""TCP connections tried until they succeed, in attempts short enough that one lost packet costs no minutes."""

import socket
from collections.abc import Callable

import gevent

_ATTEMPT_S = 1.0
_PAUSE_S = 0.1


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
