"""A server's offer of algorithms, as a worker reads it after a key exchange has failed.

Input: all that the server says. Oracle: only NoOfferError or WireError is raised. What is told of an offer is printable
and bounded.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from sshload_worker.clients import offers
from sshload_worker.login.wire import WireError, wire_string

_LONGEST = 3_000
_KNOWN = {
    "kex_algorithms": ("curve25519-sha256",),
    "host_key_algorithms": ("ssh-ed25519",),
    "ciphers": ("aes256-ctr",),
    "macs": ("hmac-sha2-256",),
}


@dataclass
class _Server:
    """A connection on which a server says this and closes."""

    said: bytes

    def recv(self, count: int) -> bytes:
        taken, self.said = self.said[:count], self.said[count:]
        return taken


def seeds() -> Iterator[bytes]:
    """Yield offers: whole, cut off, of no names, of many, behind other lines, and none."""
    names = [b"sntrup761x25519-sha512,ext-info-s", b"ssh-rsa", b"aes128-ctr", b"aes128-ctr", b"hmac-md5", b"hmac-md5"]
    for lists in (names, [b""] * 6, [b",".join([b"x" * 200] * 100)] * 6, [b"\xff\x1b[2J,a"] * 6):
        offer = b"\x04\x14" + bytes(16) + b"".join(map(wire_string, [*lists, b"none", b"none", b"", b""])) + bytes(9)
        yield b"SSH-2.0-x\r\n" + wire_string(offer)
        yield b"welcome\r\nSSH-2.0-x\n" + wire_string(offer)[:40]
    yield b"SSH-2.0-x\r\n\xff\xff\xff\xff"
    yield b"HTTP/1.1 400 Bad Request\r\n\r\n"
    yield b""


def check(data: bytes) -> None:
    """Let a server say this."""
    received: Any = _Server(data)
    try:
        offer = offers._read_offer(offers._Received(received))
    except (offers.NoOfferError, WireError):
        return
    client = SimpleNamespace(library="ssh2-python", **dict.fromkeys(_KNOWN, ()))
    login: Any = SimpleNamespace(client=client, host_keys=SimpleNamespace(algorithms=()))
    told = offers.nothing_in_common(login, _KNOWN, offer)
    assert told.isprintable()
    assert len(told) < _LONGEST
