"""Servers that send packets which serve no command: their connection is slowed, and closed where that goes on.

Each packet costs some 30 us, whatever it holds. Commands need few packets besides their output. So a packet without
output is a debt, output pays it off, and so does time.
"""

import time
from dataclasses import dataclass
from typing import Any, Final

import asyncssh
from asyncssh.constants import MSG_CHANNEL_CLOSE, MSG_CHANNEL_DATA, MSG_CHANNEL_EXTENDED_DATA, MSG_KEXINIT

_MOST_EMPTY: Final = 2_000
_MOST_DEBT: Final = 256
_EMPTY_PER_S: Final = 10.0
"""What a server may send for ever: it asks whether somebody is there, at most every second."""

_PAID_OFF_PER_S: Final = 50.0
_OF_A_COMMAND: Final = 64
"""How many packets a command may take besides its output: its channel, requests, and replies."""

_PAYS_BYTES: Final = 256
_MOST_REKEYS: Final = 10
_REKEYS_PER_S: Final = 1.0
_REKEY_BYTES: Final = 32_768
_SLOWED_S: Final = 0.0005
"""For each packet of a caller whose servers are in debt: 2,000 packets per second."""


@dataclass(slots=True)
class Debt:
    """What grows with each packet and shrinks with time and with output, down to a credit."""

    per_s: float
    credit: float
    amount: float = 0.0
    at_s: float = 0.0

    def add(self, amount: float, now_s: float) -> float:
        """Add to it, or pay off a negative amount, and return what it is now."""
        paid = max(0.0, now_s - self.at_s) * self.per_s if self.at_s else 0.0
        self.amount, self.at_s = max(-self.credit, self.amount - paid + amount), now_s
        return self.amount


@dataclass(slots=True, weakref_slot=True)
class Pace:
    """When the packets of slow connections of one caller are due: together they are as fast as one of them."""

    free_at_s: float = 0.0

    def wait_s(self, packets: int, now_s: float) -> float:
        """Return how long to wait before the next packets."""
        self.free_at_s = max(now_s, self.free_at_s) + packets * _SLOWED_S
        return self.free_at_s - now_s


class Floods:
    """What one connection has received. `received` takes the place of asyncssh's log of received packets."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._empty = Debt(_EMPTY_PER_S, credit=_MOST_EMPTY)
        self._packets = Debt(_PAID_OFF_PER_S, credit=_MOST_DEBT)
        self._rekeys = Debt(_REKEYS_PER_S, credit=_MOST_REKEYS)

    def received(self, kind: int, _number: int | None, packet: Any, _note: str = "") -> None:
        """Hear of a packet; raises ProtocolError, which ends the connection, where the server floods it."""
        now_s = time.monotonic()
        said = len(packet.get_remaining_payload()) - _BYTES_BEFORE_OUTPUT[kind] if kind in _BYTES_BEFORE_OUTPUT else 0
        if said > 0:
            self._empty.add(-1, now_s)
            self._packets.add(1 - said / _PAYS_BYTES, now_s)
            self._rekeys.add(-said / _REKEY_BYTES, now_s)
            return
        cost = 1 - _OF_A_COMMAND if kind == MSG_CHANNEL_CLOSE else 1
        self._packets.add(cost, now_s)
        if self._empty.add(cost, now_s) > _MOST_EMPTY:
            raise asyncssh.ProtocolError("the server floods the connection with packets that serve no command")
        if kind == MSG_KEXINIT and self._rekeys.add(1, now_s) > _MOST_REKEYS:
            raise asyncssh.ProtocolError("the server exchanges keys again and again")

    def wait_s(self, packets: int) -> float:
        """Return how long to read nothing after so many packets."""
        now_s = time.monotonic()
        return self._pace.wait_s(packets, now_s) if self._packets.add(0, now_s) > _MOST_DEBT else 0.0


_BYTES_BEFORE_OUTPUT: Final = {MSG_CHANNEL_DATA: 4, MSG_CHANNEL_EXTENDED_DATA: 8}
"""After the number of the channel: the length, and the type before it (RFC 4254 section 5.2)."""
