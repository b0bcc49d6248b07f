"""A program: a line between two network namespaces that does to packets what a bad network does.

It stands between two TUN devices, one in each namespace, so that both ends are the kernel's own TCP. netem (tc) would
do as much, but not every kernel has it.

Started in a namespace of its own, it makes another one, the far side, and prints both namespaces' processes. Then it
obeys lines of JSON on standard input, each a whole Weather, and answers each with a line of JSON, the Passed so far. It
ends, and with it both namespaces, at the end of its input.
"""

import fcntl
import json
import os
import select
import struct
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from heapq import heappop, heappush
from itertools import count
from random import Random

NEAR_ADDRESS, FAR_ADDRESS = "10.213.0.1", "10.213.0.2"
_NEAR_DEVICE, _FAR_DEVICE = "near0", "far0"
_SET_TUN = 0x400454CA  # TUNSETIFF of linux/if_tun.h, and its flags
_TUN_WITHOUT_HEADER = 0x0001 | 0x1000
_PACKET_BYTES = 65_536
_TCP = 6
_SYN, _ACK = 0x02, 0x10
_RESET = 0x04 | _ACK


@dataclass(frozen=True, slots=True)
class Weather:
    """What the line does to packets, in either direction unless it says otherwise. Shares are of 1.

    `reordered` packets overtake those that are delayed. Packets longer than `longest_bytes` vanish, as behind a tunnel
    that says nothing about its size. Of each TCP connection, all that comes after `stops_after_bytes` of the far side's
    payload vanishes, and `resets_after_bytes` answers with a reset to both.
    """

    delay_s: float = 0.0
    jitter_s: float = 0.0
    lost: float = 0.0
    reordered: float = 0.0
    doubled: float = 0.0
    is_dead: bool = False
    longest_bytes: int | None = None
    stops_after_bytes: int | None = None
    resets_after_bytes: int | None = None


@dataclass(slots=True)
class Passed:
    """How many packets went through, and what was done to them."""

    passed: int = 0
    lost: int = 0
    reordered: int = 0
    doubled: int = 0
    reset: int = 0

    def since(self, before: "Passed") -> "Passed":
        """Return what has happened since then."""
        return Passed(**{name: count - getattr(before, name) for name, count in asdict(self).items()})


@dataclass(order=True, slots=True)
class _Under:
    """A packet on its way to a device."""

    due_s: float
    number: int
    device: int = field(compare=False)
    packet: bytes = field(compare=False)


class Line:
    """The line. `near` and `far` are the descriptors of its devices."""

    def __init__(self, near: int, far: int) -> None:
        self._ends = {near: far, far: near}
        self._far = far
        self._random = Random(1)  # noqa: S311 - chance, no secrets
        self._numbers = count()
        self._under_way: list[_Under] = []
        self._said_bytes: dict[bytes, int] = defaultdict(int)
        self._in_order_s = dict.fromkeys(self._ends, 0.0)
        self.weather = Weather()
        self.passed = Passed()

    def next_s(self) -> float | None:
        """Return when the next packet is due, None where there is none."""
        return self._under_way[0].due_s if self._under_way else None

    def take(self, device: int) -> None:
        """Take the packets that have come to a device."""
        while True:
            try:
                packet = os.read(device, _PACKET_BYTES)
            except BlockingIOError:
                return
            self._treat(packet, device)

    def deliver(self) -> None:
        """Hand over what is due."""
        now_s = time.monotonic()
        while self._under_way and self._under_way[0].due_s <= now_s:
            under = heappop(self._under_way)
            os.write(under.device, under.packet)

    def _treat(self, packet: bytes, came_to: int) -> None:
        weather, chance = self.weather, self._random.random
        to = self._ends[came_to]
        if self._vanishes(packet, came_to) or chance() < weather.lost:
            self.passed.lost += 1
            return
        if self._is_cut_off(packet, came_to, weather.resets_after_bytes):
            self.passed.reset += 1
            self._send(_reset_of(packet), to, 0.0)
            self._send(_answering_reset(packet), came_to, 0.0)
            return
        delay_s = weather.delay_s
        if weather.jitter_s:
            delay_s += weather.jitter_s * chance()
        if chance() < weather.reordered:
            self.passed.reordered += 1
            self._send(packet, to, 0.0)
        else:
            # Jitter alone does not reorder, as it does not on one way through a network.
            due_s = max(time.monotonic() + delay_s, self._in_order_s[to])
            self._in_order_s[to] = due_s
            self._send(packet, to, due_s)
        if chance() < weather.doubled:
            self.passed.doubled += 1
            self._send(packet, to, self._in_order_s[to])
        self.passed.passed += 1

    def _vanishes(self, packet: bytes, came_to: int) -> bool:
        weather = self.weather
        if weather.is_dead or (weather.longest_bytes is not None and len(packet) > weather.longest_bytes):
            return True
        return self._is_cut_off(packet, came_to, weather.stops_after_bytes)

    def _is_cut_off(self, packet: bytes, came_to: int, after_bytes: int | None) -> bool:
        if after_bytes is None or packet[9] != _TCP:
            return False
        from_far = came_to == self._far
        connection = _connection(packet, from_far=from_far)
        if _flags(packet) & (_SYN | _ACK) == _SYN:  # a new connection, perhaps by the port of one that was reset
            self._said_bytes.pop(connection, None)
        if from_far:
            self._said_bytes[connection] += _payload_bytes(packet)
        return self._said_bytes[connection] > after_bytes

    def _send(self, packet: bytes, device: int, due_s: float) -> None:
        heappush(self._under_way, _Under(due_s, next(self._numbers), device, packet))


def _header_bytes(packet: bytes) -> int:
    return (packet[0] & 0x0F) * 4  # RFC 791


def _connection(packet: bytes, *, from_far: bool) -> bytes:
    """Return what tells a connection from others: both its ports, the near one first."""
    at = _header_bytes(packet)
    source, destination = packet[at : at + 2], packet[at + 2 : at + 4]
    return destination + source if from_far else source + destination


def _payload_bytes(packet: bytes) -> int:
    at = _header_bytes(packet)
    return len(packet) - at - (packet[at + 12] >> 4) * 4  # RFC 9293


def _flags(packet: bytes) -> int:
    return packet[_header_bytes(packet) + 13]  # RFC 9293


def _reset_of(packet: bytes) -> bytes:
    """Return a reset in place of a packet."""
    at = _header_bytes(packet)
    ports, numbers = packet[at : at + 4], packet[at + 4 : at + 12]
    return _segment(packet[12:16], packet[16:20], ports, numbers)


def _answering_reset(packet: bytes) -> bytes:
    """Return a reset in answer to a packet."""
    at = _header_bytes(packet)
    sequence, acknowledged = struct.unpack(">II", packet[at + 4 : at + 12])
    numbers = struct.pack(">II", acknowledged, (sequence + _payload_bytes(packet)) % 2**32)
    ports = packet[at + 2 : at + 4] + packet[at : at + 2]
    return _segment(packet[16:20], packet[12:16], ports, numbers)


def _segment(source: bytes, destination: bytes, ports: bytes, numbers: bytes) -> bytes:
    tcp = ports + numbers + struct.pack(">BBHHH", 5 << 4, _RESET, 0, 0, 0)
    pseudo = source + destination + struct.pack(">BBH", 0, _TCP, len(tcp))
    tcp = tcp[:16] + struct.pack(">H", _checksum(pseudo + tcp)) + tcp[18:]
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, 64, _TCP, 0) + source + destination
    return ip[:10] + struct.pack(">H", _checksum(ip)) + ip[12:] + tcp


def _checksum(octets: bytes) -> int:
    """RFC 1071."""
    total: int = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def _tun(name: str) -> int:
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _SET_TUN, struct.pack("16sH22x", name.encode(), _TUN_WITHOUT_HEADER))
    return device


def _ip(*words: str, of: int | None = None) -> None:
    inside = [] if of is None else ["nsenter", f"--net=/proc/{of}/ns/net", "--"]
    subprocess.run([*inside, "ip", *words], check=True)


def _set_up(device: str, address: str, of: int | None = None) -> None:
    _ip("address", "add", f"{address}/30", "dev", device, of=of)
    for name in (device, "lo"):
        _ip("link", "set", name, "up", of=of)


def _relay(line: Line, near: int, far: int) -> None:
    poller = select.poll()
    for descriptor in (near, far, sys.stdin.fileno()):
        poller.register(descriptor, select.POLLIN | select.POLLHUP)
    while True:
        next_s = line.next_s()
        wait_ms = None if next_s is None else max(0.0, next_s - time.monotonic()) * 1_000
        for descriptor, _ in poller.poll(wait_ms):
            if descriptor != sys.stdin.fileno():
                line.take(descriptor)
                continue
            said = sys.stdin.readline()
            if not said:
                return
            line.weather = Weather(**json.loads(said))
            print(json.dumps(asdict(line.passed)), flush=True)  # noqa: T201 - for whoever started this
        line.deliver()


def main() -> None:
    """Make the far side, and relay until the end of the input."""
    holder = ["unshare", "--net", "sh", "-c", "echo; exec cat"]
    with subprocess.Popen(holder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as far_side:
        assert far_side.stdout is not None
        far_side.stdout.readline()
        near, far = _tun(_NEAR_DEVICE), _tun(_FAR_DEVICE)
        _ip("link", "set", _FAR_DEVICE, "netns", str(far_side.pid))
        _set_up(_NEAR_DEVICE, NEAR_ADDRESS)
        _set_up(_FAR_DEVICE, FAR_ADDRESS, of=far_side.pid)
        print(os.getpid(), far_side.pid, flush=True)  # noqa: T201 - likewise
        _relay(Line(near, far), near, far)


if __name__ == "__main__":
    main()
