"""A server's offer is read in little time, whatever it is."""

from dataclasses import dataclass
from time import thread_time
from types import SimpleNamespace
from typing import Any

from sshload_worker.clients.offers import _read_offer, _Received, nothing_in_common
from sshload_worker.login.wire import wire_string


@dataclass
class Saying:
    """A connection on which a server says this."""

    said: bytes

    def recv(self, count: int) -> bytes:
        taken, self.said = self.said[:count], self.said[count:]
        return taken


def test_as_many_names_as_an_offer_can_have_take_little_cpu() -> None:
    ciphers = b",".join(b"%x" % number for number in range(6_000))
    names = [b"kex", b"host-key", ciphers, ciphers, b"mac", b"mac"]
    offer = b"\x04\x14" + bytes(16) + b"".join(map(wire_string, names))
    server: Any = Saying(b"SSH-2.0-x\r\n" + wire_string(offer))
    began_s = thread_time()
    assert len(_read_offer(_Received(server))["ciphers"]) == 6_000
    assert thread_time() - began_s < 0.05


def test_a_server_that_has_group_exchanges_alone_is_told_with_what_lets_them_be_used() -> None:
    known = {"kex_algorithms": ("curve25519-sha256", "diffie-hellman-group-exchange-sha256")}
    client = SimpleNamespace(library="paramiko", kex_algorithms=())
    login: Any = SimpleNamespace(client=client)
    told = nothing_in_common(login, known, {"kex_algorithms": ("diffie-hellman-group-exchange-sha256",)})
    assert told == (
        "there is no key exchange in common: the server offers only diffie-hellman-group-exchange-sha256, and a group"
        " exchange is used only where spec.client.kexAlgorithms names it; the client library paramiko has"
        " curve25519-sha256"
    )
