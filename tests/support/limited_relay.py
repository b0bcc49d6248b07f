"""A server with a known limit: a relay that lets so many connections at once through, and refuses any other."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import gevent
from unkind_servers import speaking

_PIECE_BYTES = 65_536


@contextmanager
def limited_relay(port: int, most: int) -> Iterator[int]:
    """Relay at most `most` connections at once to a port of loopback; yield the port to connect to."""
    places = list(range(most))

    def relay(connection: socket.socket) -> None:
        if not places:
            return  # which closes it
        place = places.pop()
        try:
            with socket.create_connection(("127.0.0.1", port)) as behind:
                ways = [gevent.spawn(_pump, connection, behind), gevent.spawn(_pump, behind, connection)]
                gevent.wait(ways, count=1)
                gevent.killall(ways)
        finally:
            places.append(place)

    with speaking(relay) as listening:
        yield listening


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_PIECE_BYTES):
            sink.sendall(data)
