"""What a run's connections looked like on the wire: a packet socket on loopback, with the kernel's own time stamps."""

import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from typing import Self

_ETH_P_IP = 0x0800
_SO_TIMESTAMPNS = 35
_SO_RCVBUFFORCE = 33  # beyond net.core.rmem_max: a packet that is lost is a connection that is missed
_TIMESPEC = struct.Struct("ll")
_ETHERNET_BYTES = 14
_SYN = 0x02
_ACK = 0x10
_SNAP_BYTES = 128
_BUFFER_BYTES = 64 * 2**20
_NS_PER_S = 1_000_000_000


@dataclass(slots=True)
class Conversation:
    """One connection: when its SYN left, and when each piece of the server's data did, as monotonic nanoseconds."""

    syn_ns: int = 0
    served_ns: list[int] = field(default_factory=list)

    def until(self, end_ns: int) -> int:
        """Return how long it was from the SYN to the server's last data before `end_ns`, in nanoseconds."""
        return max(at_ns for at_ns in self.served_ns if at_ns <= end_ns) - self.syn_ns


class Wire:
    """Listens to the connections to one port of loopback, between `with` and its end.

    A socket that asks for one protocol sees a packet of loopback once, as it comes in.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_IP))
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
        self._socket.bind(("lo", _ETH_P_IP))
        self._socket.settimeout(0.2)
        self._to_monotonic_ns = time.monotonic_ns() - time.time_ns()
        self._listening = True
        self._thread = threading.Thread(target=self._listen)
        self.by_port: dict[int, list[Conversation]] = {}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening = False
        self._thread.join()
        self._socket.close()

    def conversation(self, port: int, begin_ns: int) -> Conversation:
        """Return the connection from this source port whose SYN left last before, or first after, `begin_ns`."""
        return min(self.by_port[port], key=lambda conversation: abs(conversation.syn_ns - begin_ns))

    def _listen(self) -> None:
        while self._listening:
            try:
                packet, ancillary, _, _ = self._socket.recvmsg(_SNAP_BYTES, 64)
            except TimeoutError:
                continue
            self._take(packet[_ETHERNET_BYTES:], ancillary[0][2])

    def _take(self, packet: bytes, stamp: bytes) -> None:
        header_bytes = (packet[0] & 0xF) * 4
        if packet[9] != socket.IPPROTO_TCP:
            return
        source, target = struct.unpack_from("!HH", packet, header_bytes)
        flags = packet[header_bytes + 13]
        data_bytes = int.from_bytes(packet[2:4], "big") - header_bytes - (packet[header_bytes + 12] >> 4) * 4
        seconds, nanoseconds = _TIMESPEC.unpack(stamp[: _TIMESPEC.size])
        at_ns = seconds * _NS_PER_S + nanoseconds + self._to_monotonic_ns
        if target == self._port and flags & (_SYN | _ACK) == _SYN:
            self.by_port.setdefault(source, []).append(Conversation(syn_ns=at_ns))
        elif source == self._port and data_bytes and target in self.by_port:
            self.by_port[target][-1].served_ns.append(at_ns)
