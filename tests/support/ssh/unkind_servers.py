"""Servers of this process that speak something else than SSH, and relays in front of a server.

A relay treats what the server says as a bad line or a hostile server would, or lets only so many connections through.
"""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import gevent
from gevent.server import StreamServer


@contextmanager
def speaking(serve: Callable[[socket.socket], object]) -> Iterator[int]:
    """Run a server that treats each connection by `serve` and then closes it; yield its port."""
    server = StreamServer(("127.0.0.1", 0), lambda connection, _: serve(connection))
    server.start()
    try:
        yield server.socket.getsockname()[1]
    finally:
        server.stop()


Treat = Callable[[int, bytes], tuple[bytes, bool]]
"""Of what comes at which byte of all that the server says: what is passed on, and whether the connection goes on."""

_PIECE_BYTES = 65_536


@contextmanager
def relaying(port: int, treat: Treat) -> Iterator[int]:
    """Relay connections to a port of loopback; yield the port to connect to."""

    def relay(connection: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", port)) as behind, suppress(OSError):
            forth = gevent.spawn(_pump, connection, behind)
            position = 0
            try:
                goes_on = True
                while goes_on and (data := behind.recv(_PIECE_BYTES)):
                    passed, goes_on = treat(position, data)
                    connection.sendall(passed)
                    position += len(data)
            finally:
                forth.kill()

    with speaking(relay) as listening:
        yield listening


def cut_at(limit: int) -> Treat:
    """Return what passes so many bytes and then closes."""
    return lambda position, data: (data[: limit - position], position + len(data) < limit)


def stall_at(limit: int) -> Treat:
    """Return what passes so many bytes and then nothing, without closing."""
    return lambda position, data: (data[: max(0, limit - position)], True)


def flip_at(place: int) -> Treat:
    """Return what passes everything, one byte changed."""

    def treat(position: int, data: bytes) -> tuple[bytes, bool]:
        if not position <= place < position + len(data):
            return data, True
        changed = bytearray(data)
        changed[place - position] ^= 0x41
        return bytes(changed), True

    return treat


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_PIECE_BYTES):
            sink.sendall(data)


_ESTABLISHED = 1  # linux/include/net/tcp_states.h


@contextmanager
def limited_relay(port: int, most: int) -> Iterator[int]:
    """Relay at most `most` connections at once to a port of loopback; yield the port to connect to.

    The kernel is asked which of them have ended: this process may hear of an end later than of the next beginning.
    """
    relayed: list[socket.socket] = []

    def relay(connection: socket.socket) -> None:
        relayed[:] = filter(_is_open, relayed)
        if len(relayed) >= most:
            return  # which closes it
        relayed.append(connection)
        with socket.create_connection(("127.0.0.1", port)) as behind:
            ways = [gevent.spawn(_pump, connection, behind), gevent.spawn(_pump, behind, connection)]
            gevent.wait(ways, count=1)
            gevent.killall(ways)

    with speaking(relay) as listening:
        yield listening


def _is_open(connection: socket.socket) -> bool:
    """Tell whether neither side has closed a connection."""
    try:
        return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _ESTABLISHED
    except OSError:
        return False
