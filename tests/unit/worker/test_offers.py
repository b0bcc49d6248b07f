"""A server's offer is read in little time, whatever it is."""

from dataclasses import dataclass
from time import thread_time
from types import SimpleNamespace
from typing import Any

import pytest
from sshload_worker.clients.offers import _read_offer, _Received, kex_not_offered, nothing_in_common
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


@pytest.mark.parametrize(
    ("offered", "told"),
    [
        (("mlkem768x25519-sha256", "curve25519-sha256"), "mlkem768x25519-sha256"),
        (("curve25519-sha256", "x", "mlkem768x25519-sha256"), "mlkem768x25519-sha256"),
        (("x", "curve25519-sha256", "sntrup761x25519-sha512@a"), "x, sntrup761x25519-sha512"),
        (("@a", "curve25519-sha256"), ""),
        (("gss-group14-sha256-x", "mlkem768x25519-sha256", "curve25519-sha256"), "mlkem768x25519-sha256"),
        (("a", "b", "c", "d", "e", "curve25519-sha256"), "a, b, c and 2 more"),
        (("sntrup761x25519-sha512", "sntrup761x25519-sha512@a", "curve25519-sha256@b"), "sntrup761x25519-sha512"),
        (("one\n", "curve25519-sha256"), "one?"),
        (("sntrup761x25519-sha512",), None),
        ((), None),
    ],
)
def test_what_a_server_lists_before_all_that_the_client_asks_for_is_told_and_what_openssh_prefers(
    offered: tuple[str, ...], told: str | None
) -> None:
    known = {"kex_algorithms": ("diffie-hellman-group14-sha256", "curve25519-sha256")}
    login: Any = SimpleNamespace(client=SimpleNamespace(library="paramiko", kex_algorithms=()))
    assert kex_not_offered(login, known, {"kex_algorithms": offered}) == told


def test_a_server_whose_host_keys_no_library_has_is_told_with_what_the_client_has() -> None:
    names = ("curve25519-sha256",)
    known = {"kex_algorithms": names, "host_key_algorithms": ("ssh-ed25519", "rsa-sha2-512")}
    login: Any = SimpleNamespace(
        client=SimpleNamespace(library="ssh2-python", kex_algorithms=(), host_key_algorithms=()),
        host_keys=SimpleNamespace(algorithms=()),
    )
    offered = {"kex_algorithms": names, "host_key_algorithms": ("ssh-mldsa44-ed25519@openssh.com",)}
    assert nothing_in_common(login, known, offered) == (
        "there is no host key algorithm in common: the server offers only ssh-mldsa44-ed25519@openssh.com; the client"
        " library ssh2-python has ssh-ed25519, rsa-sha2-512"
    )


def test_what_the_spec_leaves_out_is_not_asked_for() -> None:
    known = {"kex_algorithms": ("mlkem768x25519-sha256", "curve25519-sha256")}
    login: Any = SimpleNamespace(client=SimpleNamespace(library="ssh2-python", kex_algorithms=("curve25519-sha256",)))
    assert kex_not_offered(login, known, known) == "mlkem768x25519-sha256"


def test_what_else_a_server_can_do_is_no_key_exchange() -> None:
    kex = b"kex-strict-s-v00@openssh.com,kex-strict-s-v01@x,ext-info-in-auth@openssh.com,kexguess2@matt.ucc.asn.au,a"
    offer = b"\x04\x14" + bytes(16) + b"".join(map(wire_string, [kex, *[b""] * 5]))
    server: Any = Saying(b"SSH-2.0-x\r\n" + wire_string(offer))
    assert _read_offer(_Received(server))["kex_algorithms"] == ("a",)
