"""Floods of connections as strangers make them: each opens many to one port, and leaves them as bad as they can be.

A server may close or refuse any of them. `python socket_floods.py HOST PORT plain|tls COUNT [KIND ...]` floods until it
has input. It needs nothing but Python's own library, so that it runs in any pod.
"""

import contextlib
import itertools
import select
import socket
import ssl
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence

Flood = Callable[[str, int], socket.socket]
TIMEOUT_S = 5.0
_FIELD_BYTES = 8_000
_FIELDS = 120  # as much as aiohttp takes, 1 MB


def _connected(host: str, port: int, source: str = "") -> socket.socket:
    return socket.create_connection((host, port), TIMEOUT_S, (source, 0) if source else None)


def _sent(connection: socket.socket, pieces: Iterator[bytes]) -> socket.socket:
    """Send pieces until all are sent, or the server takes no more."""
    connection.settimeout(0.02)
    with contextlib.suppress(OSError):
        for piece in pieces:
            connection.sendall(piece)
    return connection


def _large_head() -> Iterator[bytes]:
    yield b"GET /metrics HTTP/1.1\r\nHost: a\r\n"
    for number in range(_FIELDS):
        yield b"X-%d: %s\r\n" % (number, b"a" * _FIELD_BYTES)


def _many_fields() -> Iterator[bytes]:
    yield b"GET /metrics HTTP/1.1\r\nHost: a\r\n"
    for _ in range(10):
        yield b"a:\r\n" * 1_000


def _pipelined() -> Iterator[bytes]:
    return itertools.repeat(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n" * 100, 10)


def _body() -> Iterator[bytes]:
    yield b"POST /ui/-/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    yield b"Content-Length: 100000000\r\n\r\ntoken="
    yield from itertools.repeat(b"x" * 100_000, 5)


def _chunks() -> Iterator[bytes]:
    yield b"POST /ui/-/login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    yield from itertools.repeat(b"186a0\r\n" + b"x" * 100_000 + b"\r\n", 5)


PLAIN: Mapping[str, Callable[[], Iterator[bytes]]] = {
    "silent": lambda: iter(()),
    "half a head": lambda: iter((b"GET /metrics HTTP/1.1\r\nHost: a\r\n",)),
    "large head": _large_head,
    "many fields": _many_fields,
    "pipelined": _pipelined,
    "body": _body,
    "chunks": _chunks,
    "one request": lambda: iter((b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n",)),
}
"""What is sent on each connection, of which no answer is read."""

_GREETING = b"\xff" + bytes(7) + b"\x01\x7f\x03\x01" + b"CURVE".ljust(20, b"\0") + bytes(32)


def _command(claimed: int, sent: int) -> Iterator[bytes]:
    yield _GREETING + b"\x06" + claimed.to_bytes(8, "big")
    yield from itertools.repeat(bytes(1_000), sent // 1_000)


ZEROMQ: Mapping[str, Callable[[], Iterator[bytes]]] = {
    "nothing at all": lambda: iter(()),
    "greeting": lambda: iter((_GREETING,)),
    "most of a frame": lambda: _command(65_536, 65_000),
    "large frame": lambda: _command(30_000_000, 30_000_000),
    "HTTP": PLAIN["one request"],
}
"""The same for a port of ZeroMQ, by who has no key."""


def unchecked_tls() -> ssl.SSLContext:
    """Return a client's context that takes each certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def flood(  # noqa: PLR0913 - what a flood is
    host: str, port: int, kind: str, count: int, *, tls: bool = False, sources: Sequence[str] = ("",)
) -> list[socket.socket]:
    """Open `count` connections of a kind, in turn from each of these addresses; return those that are still open."""
    context = unchecked_tls() if tls else None
    opened = []
    for source in itertools.islice(itertools.cycle(sources), count):
        with contextlib.suppress(OSError):
            connection = _connected(host, port, source)
            if context is not None:
                connection = context.wrap_socket(connection)
            opened.append(_sent(connection, {**PLAIN, **ZEROMQ}[kind]()))
    return opened


def closed(connections: Sequence[socket.socket]) -> int:
    """Count the connections that the server has closed by now."""
    return sum(_is_closed(connection) for connection in connections)


def _is_closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        while connection.recv(65_536):
            pass
    except (BlockingIOError, ssl.SSLWantReadError):
        return False
    except OSError:
        pass
    return True


def main() -> None:
    """Flood in these ways, or every one, and again, with COUNT connections open, until standard input ends."""
    host, port, tls, count, *kinds = sys.argv[1:]
    sources = [f"127.0.0.{number}" for number in range(2, 10)] if host == "127.0.0.1" else [""]
    held: deque[socket.socket] = deque()
    opened = 0
    print("begins", flush=True)  # noqa: T201 - its parent reads it
    for kind in itertools.cycle(kinds or PLAIN):
        if select.select([sys.stdin], [], [], 0)[0]:
            break
        connections = flood(host, int(port), kind, 20, tls=tls == "tls", sources=sources)
        opened += len(connections)
        held.extend(connections)
        while len(held) > int(count):
            held.popleft().close()
    print(opened)  # noqa: T201 - likewise


if __name__ == "__main__":
    main()
