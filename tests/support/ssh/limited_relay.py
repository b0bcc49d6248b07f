"""A server with a known limit: a relay that lets so many connections at once through, and refuses any other."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import gevent
from unkind_servers import speaking

_PIECE_BYTES = 65_536
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


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_PIECE_BYTES):
            sink.sendall(data)
