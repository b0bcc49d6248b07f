"""Servers of this process that speak something else than SSH, or no more than its beginning."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
