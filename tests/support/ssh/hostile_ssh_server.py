"""An SSH server of this process that takes each connection through stages in a thread of its own."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from staged_ssh_server import StagedServer


@dataclass(frozen=True)
class HostileServer:
    """A running server."""

    port: int
    host_key: str
    """As a line of authorized_keys."""


@contextmanager
def hostile_server(serve: Callable[[StagedServer], object]) -> Iterator[HostileServer]:
    """Exchange keys in order on each connection, let the user in and then call `serve`, until the block ends."""
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)

    def take(connection: socket.socket) -> None:
        with connection, suppress(OSError, EOFError):
            server = StagedServer(connection, key)
            server.exchange_own_keys()
            server.let_in()
            serve(server)

    def listen() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                threading.Thread(target=take, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=listen, daemon=True).start()
        try:
            yield HostileServer(listening.getsockname()[1], public.decode())
        finally:
            listening.shutdown(socket.SHUT_RDWR)
