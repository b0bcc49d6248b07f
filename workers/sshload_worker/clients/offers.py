"""The algorithms that a server offers, and what it has in common with a client (RFC 4253 section 7.1).

A client library says at best that there is nothing in common. So after a login before the load has failed in its key
exchange, the server is asked for its offer once more, by no more of the protocol than that needs. One worker asks after
a login that succeeds, too: the results say what the server would rather have done.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from gevent import Timeout, socket
from sshload_contract.shortened import listed

from sshload_worker.clients import group_exchange
from sshload_worker.login.login import Address, Login
from sshload_worker.login.wire import WireError, WireReader

_TIMEOUT_S = 5.0
_MOST_BYTES = 65_536
_VERSION_START = b"SSH-"
_OWN_VERSION = b"SSH-2.0-sshload\r\n"
_KEXINIT = b"\x14"
_COOKIE_BYTES = 16
_LENGTH_BYTES = 4
_WORDS: Final = {
    "kex_algorithms": "key exchange",
    "host_key_algorithms": "host key algorithm",
    "ciphers": "cipher",
    "macs": "MAC",
}
_NO_KEX = ("ext-info-", "kex-strict-", "kexguess2@")  # the beginnings of names that tell what else a server can do
_WITH_KERBEROS = "gss-"  # of no use to whoever has no ticket
_OF_OPENSSH = ("mlkem768", "sntrup761")  # what its own clients ask for first, wherever a server lists it
_WITH_OWN_MAC = ("gcm", "poly1305")
_NAME_CHARACTERS = 64
_MOST_NAMES = 10
_MOST_KEX = 3

Offer = Mapping[str, tuple[str, ...]]
"""Names of algorithms by the setting of a Client."""


class NoOfferError(Exception):
    """The server sent no offer."""


def server_offer(address: Address) -> Offer:
    """Return what the server at an address offers; raises NoOfferError."""
    family, place = address
    try:
        with Timeout(_TIMEOUT_S, NoOfferError()), socket.socket(family) as connection:
            connection.connect(place)
            connection.sendall(_OWN_VERSION)
            return _read_offer(_Received(connection))
    except (OSError, WireError):
        raise NoOfferError from None


def nothing_in_common(login: Login, known: Offer, offered: Offer) -> str:
    """Return which kind of algorithm the server and a login's client do not share, and what each has; "" if none.

    `known` are all algorithms of the client's library.
    """
    for setting, kind in _WORDS.items():
        asked, whose = _asked(login, setting, known)
        common = [name for name in asked if name in offered[setting]]
        if not common:
            server = f"the server offers only {_shown(offered[setting])}"
            if (
                setting == "kex_algorithms"
                and not login.client.kex_algorithms
                and set(known[setting]) & set(offered[setting])
            ):
                server += ", and a group exchange is used only where spec.client.kexAlgorithms names it"
            return f"there is no {kind} in common: {server}; {whose} {_shown(asked)}"
        if setting == "ciphers" and any(word in common[0] for word in _WITH_OWN_MAC):
            return ""
    return ""


def kex_not_offered(login: Login, known: Offer, offered: Offer) -> str | None:
    """Return what RunSummary.better_kex is, None if there is no key exchange in common with this offer.

    `known` are all algorithms of the client's library. Some have two names, an early one with a domain.
    """
    asked = frozenset(_without_domain(_asked(login, "kex_algorithms", known)[0]))
    listed_by_server = tuple(_without_domain(offered["kex_algorithms"]))
    first_common = next((number for number, name in enumerate(listed_by_server) if name in asked), None)
    if first_common is None:
        return None
    first = [name for name in listed_by_server[:first_common] if not name.startswith(_WITH_KERBEROS)]
    later = (name for name in listed_by_server[first_common:] if name.startswith(_OF_OPENSSH) and name not in asked)
    return listed([*first, *later], _MOST_KEX, _NAME_CHARACTERS)


def _without_domain(names: Iterable[str]) -> Iterable[str]:
    return filter(None, dict.fromkeys(name.partition("@")[0] for name in names))


def _asked(login: Login, setting: str, known: Offer) -> tuple[tuple[str, ...], str]:
    """Return the algorithms that the client asks for, and the beginning of a sentence about them."""
    from_spec: tuple[str, ...] = getattr(login.client, setting)
    if from_spec:
        return from_spec, "spec.client asks for"
    if setting == "host_key_algorithms" and login.host_keys.algorithms:
        return login.host_keys.algorithms_with_certificates, "the keys in known_hosts are for"
    names = known[setting]
    if setting == "kex_algorithms":
        names = group_exchange.offered(login.client, names)
    return names, f"the client library {login.client.library} has"


class _Received:
    """What a server sends, up to a limit."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._left = _MOST_BYTES
        self._ahead = b""

    def line(self) -> bytes:
        """Return the next line."""
        while b"\n" not in self._ahead:
            self._receive()
        line, _, self._ahead = self._ahead.partition(b"\n")
        return line

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        while len(self._ahead) < count:
            self._receive()
        taken, self._ahead = self._ahead[:count], self._ahead[count:]
        return taken

    def _receive(self) -> None:
        piece = self._connection.recv(min(self._left, 4_096)) if self._left else b""
        if not piece:
            raise NoOfferError
        self._left -= len(piece)
        self._ahead += piece


def _read_offer(received: _Received) -> Offer:
    while not received.line().startswith(_VERSION_START):
        pass
    packet = WireReader(received.take(int.from_bytes(received.take(_LENGTH_BYTES), "big")))
    packet.fixed(1)  # the length of the padding
    if packet.fixed(1) != _KEXINIT:
        raise NoOfferError
    packet.fixed(_COOKIE_BYTES)
    kex, host_keys, *both_ways = (_names(packet.string()) for _ in range(6))
    ciphers, to_client, macs, macs_to_client = both_ways
    return {
        "kex_algorithms": tuple(name for name in kex if not name.startswith(_NO_KEX)),
        "host_key_algorithms": host_keys,
        "ciphers": _both_ways(ciphers, to_client),
        "macs": _both_ways(macs, macs_to_client),
    }


def _both_ways(to_server: tuple[str, ...], to_client: tuple[str, ...]) -> tuple[str, ...]:
    known = frozenset(to_client)  # a server may send tens of thousands
    return tuple(name for name in to_server if name in known)


def _names(listed: bytes) -> tuple[str, ...]:
    return tuple(filter(None, listed.decode("ascii", "replace").split(",")))


def _shown(names: tuple[str, ...]) -> str:
    return listed(names, _MOST_NAMES, _NAME_CHARACTERS) or "none"
