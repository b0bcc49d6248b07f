"""What client and server say of the first key exchange, as anybody on the line reads it: packets before NEWKEYS."""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import gevent
from unkind_servers import speaking

KEXINIT, NEWKEYS, KEX_INIT, GEX_GROUP, GEX_INIT = 20, 21, 30, 31, 32  # RFC 4253, 4419 and 5656
_HEADER_BYTES = 5
_COOKIE_BYTES = 16
_PIECE_BYTES = 65_536


@dataclass(slots=True)
class Line:
    """All that one connection has said so far."""

    from_client: bytearray = field(default_factory=bytearray)
    from_server: bytearray = field(default_factory=bytearray)

    def client_value(self) -> bytes:
        """Return the client's value of a key exchange: e, or Q_C (RFC 4253 section 8, RFC 4419, RFC 5656)."""
        (value,) = (string(said) for said in payloads(self.from_client) if said[0] in {KEX_INIT, GEX_INIT})
        return value

    def offered_key_exchanges(self) -> list[str]:
        """Return the key exchanges of the client's offer (RFC 4253 section 7.1)."""
        offer = next(said for said in payloads(self.from_client) if said[0] == KEXINIT)
        return string(offer[_COOKIE_BYTES:]).decode("ascii").split(",")

    def prime(self) -> int:
        """Return the prime that the server has chosen for a group exchange."""
        (prime,) = (string(said) for said in payloads(self.from_server) if said[0] == GEX_GROUP)
        return int.from_bytes(prime, "big")


@contextmanager
def overheard(port: int) -> Iterator[tuple[int, list[Line]]]:
    """Relay connections to a port of loopback; yield the port to connect to, and what each connection says."""
    lines: list[Line] = []

    def relay(connection: socket.socket) -> None:
        line = Line()
        lines.append(line)
        with socket.create_connection(("127.0.0.1", port)) as behind:
            forth = gevent.spawn(_pump, connection, behind, line.from_client)
            back = gevent.spawn(_pump, behind, connection, line.from_server)
            gevent.wait([forth, back], count=1)
            gevent.killall([forth, back])

    with speaking(relay) as listening:
        yield listening, lines


def _pump(source: socket.socket, sink: socket.socket, heard: bytearray) -> None:
    with suppress(OSError):
        while data := source.recv(_PIECE_BYTES):
            heard += data
            sink.sendall(data)


def payloads(said: bytearray) -> Iterator[bytes]:
    """Return the payloads after the version line, up to NEWKEYS."""
    rest = bytes(said).partition(b"\n")[2]
    payload = b""
    while rest and payload[:1] != bytes([NEWKEYS]):
        length, padding = struct.unpack(">IB", rest[:_HEADER_BYTES])
        payload = rest[_HEADER_BYTES : 4 + length - padding]
        yield payload
        rest = rest[4 + length :]


def string(payload: bytes) -> bytes:
    """Return the first string of a message."""
    (length,) = struct.unpack(">I", payload[1:5])
    return payload[5 : 5 + length]
