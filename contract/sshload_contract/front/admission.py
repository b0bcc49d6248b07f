"""Who may be connected to a port at once, and who has to go when it is full.

A newcomer never waits and is seldom refused: the oldest connection that only waits for its peer has to go. So idle
connections and unfinished requests, however many, shut nobody out who sends a request at once. Where one address has
as many connections as it may, one of its own goes; where the port is full, one of the address that has most.
"""

import socket
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Final, Generic, TypeVar

BACKLOG: Final = 128
ACCEPTED_AT_ONCE: Final = 16
"""How many connections are accepted before the others' turn: a flood of them delays all else only by so much."""

_Connection = TypeVar("_Connection", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Limits:
    """How many connections a port has in all, and of one address; how long a head and the taking of an answer last."""

    connections: int
    per_address: int
    head_s: float = 10.0
    answer_s: float = 30.0


class Admission(Generic[_Connection]):
    """The connections of one port."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._addresses: dict[_Connection, str] = {}
        self._counts: Counter[str] = Counter()
        self._waiting: dict[_Connection, None] = {}  # the one that has waited longest is first

    def admit(self, connection: _Connection, address: str) -> _Connection | None:
        """Take a connection in. Return the one that has to be closed for it, itself where there is no room, or None."""
        leaving = None
        if self._counts[address] >= self._limits.per_address:
            leaving = self._oldest(address)
        elif len(self._addresses) >= self._limits.connections:
            waiting = {self._addresses[other] for other in self._waiting}
            leaving = self._oldest(max(waiting, key=self._counts.__getitem__)) if waiting else connection
        else:
            self._take(connection, address)
            return None
        if leaving is None or leaving is connection:
            return connection
        self.remove(leaving)
        self._take(connection, address)
        return leaving

    def keep(self, connection: _Connection) -> None:
        """Close it for nobody from now on: it is being served."""
        self._waiting.pop(connection, None)

    def wait(self, connection: _Connection) -> None:
        """Close it for others again: it only waits for its peer. After `keep` it is the last to go.

        One that waits already keeps its place: a peer cannot stay by sending piece by piece.
        """
        if connection in self._addresses:
            self._waiting.setdefault(connection)

    def remove(self, connection: _Connection) -> None:
        """Forget it: it is closed."""
        address = self._addresses.pop(connection, None)
        if address is None:
            return
        self._waiting.pop(connection, None)
        self._counts[address] -= 1
        if not self._counts[address]:
            del self._counts[address]

    def _take(self, connection: _Connection, address: str) -> None:
        self._addresses[connection] = address
        self._counts[address] += 1
        self._waiting[connection] = None

    def _oldest(self, address: str) -> _Connection | None:
        return next((other for other in self._waiting if self._addresses[other] == address), None)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens and does not block; an empty host is each address, IPv6 and IPv4. Raises OSError."""
    is_of_both = not host and socket.has_dualstack_ipv6()
    host = host or ("::" if is_of_both else "0.0.0.0")  # noqa: S104 - probes come from the node
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family, dualstack_ipv6=is_of_both, backlog=BACKLOG)
    listening.setblocking(False)
    return listening


def address_of(peer: object) -> str:
    """Return the address of a peer as sockets name it: the same for IPv4 whether the socket is one of IPv6 or not."""
    address = str(peer[0]) if isinstance(peer, tuple) and peer else ""
    if address.startswith("::ffff:"):
        return str(IPv6Address(address).ipv4_mapped or address)
    return address
