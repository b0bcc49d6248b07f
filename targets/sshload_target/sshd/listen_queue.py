"""Connections that sshd's own listening sockets lost to a full queue, by the kernel's count of each socket.

The count of the network namespace (ListenOverflows in /proc/net/netstat) is of all its sockets. Outside a container
that is the whole machine. The count of a socket (sock_diag(7)) also contains other packets that it dropped. So
the smaller of the two is certainly not more than the socket lost.
"""

import ipaddress
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from sshload_target.sshd.network import read_proc_file

_NETSTAT = Path("/proc/net/netstat")

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_REQUEST_DUMP = 0x301
_DONE, _ERROR = 3, 2
_LISTEN_STATE = 1 << 10
_MEMORY_INFO = 7  # INET_DIAG_SKMEMINFO
_DROPS = 8  # SK_MEMINFO_DROPS
_ANSWER_BYTES = 65_536
_MOST_ANSWERS = 64
_TIMEOUT_S = 1.0
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBxI")
_SOCKET_ID = struct.Struct("!HH16s16s")
_ID_REST_BYTES = 12  # the interface, and the cookie
_MESSAGE_BYTES = 72
_ATTRIBUTE = struct.Struct("=HH")
_COUNT = struct.Struct("=I")


class ListenQueue:
    """The queue of the sockets that listen on `port` of an address, of all addresses if that is empty."""

    def __init__(self, port: int, address: str) -> None:
        self._port = port
        self._address = address
        self._namespace_before = _namespace_overflows()

    def overflows(self) -> int | None:
        """Return how many connections it has lost since this was made; None if the kernel does not report it."""
        namespace, before = _namespace_overflows(), self._namespace_before
        dropped = _dropped(self._port, self._address)
        if namespace is None or before is None or dropped is None:
            return None
        return min(namespace - before, dropped)


def _namespace_overflows(netstat: Path = _NETSTAT) -> int | None:
    lines = read_proc_file(netstat).splitlines()
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        counters = dict(zip(names.split(), values.split(), strict=True))
        if "ListenOverflows" in counters:
            return int(counters["ListenOverflows"])
    return None


def _dropped(port: int, address: str) -> int | None:
    """Return how many packets the listening sockets have dropped, None if the kernel does not report it."""
    try:
        return sum(
            drops
            for family in (socket.AF_INET, socket.AF_INET6)
            for listens_at, drops in _listening(family, port)
            if not address or listens_at == ipaddress.ip_address(address)
        )
    except (OSError, struct.error):
        return None


def _listening(
    family: socket.AddressFamily, port: int
) -> Iterator[tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int]]:
    """Yield the address and the dropped packets of each socket that listens on a port."""
    request = _REQUEST.pack(family, socket.IPPROTO_TCP, 1 << (_MEMORY_INFO - 1), _LISTEN_STATE)
    request += _SOCKET_ID.pack(port, 0, b"", b"") + bytes(_ID_REST_BYTES)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
        kernel.settimeout(_TIMEOUT_S)
        header = _HEADER.pack(_HEADER.size + len(request), _SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, 1, 0)
        kernel.send(header + request)
        for _ in range(_MOST_ANSWERS):
            answer = kernel.recv(_ANSWER_BYTES)
            while answer:
                length, kind, *_ = _HEADER.unpack_from(answer)
                if kind == _DONE:
                    return
                if kind == _ERROR:
                    raise OSError("the kernel does not list sockets")
                yield _one_socket(family, answer[_HEADER.size : length])
                answer = answer[_aligned(length) :]


def _one_socket(
    family: socket.AddressFamily, message: bytes
) -> tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int]:
    _, _, source, _ = _SOCKET_ID.unpack_from(message, 4)
    address = ipaddress.ip_address(source[:4] if family == socket.AF_INET else source)
    attributes = message[_MESSAGE_BYTES:]
    while attributes:
        length, kind = _ATTRIBUTE.unpack_from(attributes)
        if kind == _MEMORY_INFO:
            return address, _COUNT.unpack_from(attributes, _ATTRIBUTE.size + _DROPS * _COUNT.size)[0]
        attributes = attributes[_aligned(length) :]
    raise OSError("the kernel does not report what a socket has dropped")


def _aligned(length: int) -> int:
    return (length + 3) & ~3
