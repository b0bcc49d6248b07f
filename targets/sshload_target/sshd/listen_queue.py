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

from sshload_contract.kernel_sockets import LISTEN, SOCKET_BYTES, aligned, sockets

from sshload_target.sshd.network import read_proc_file

_NETSTAT = Path("/proc/net/netstat")

_MEMORY_INFO = 7  # INET_DIAG_SKMEMINFO
_DROPS = 8  # SK_MEMINFO_DROPS
_SOURCE = struct.Struct("!4xHH16s")  # of inet_diag_msg, up to the address at which it listens
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
    for told in sockets(family, LISTEN, local_port=port, attribute=_MEMORY_INFO):
        _, _, source = _SOURCE.unpack_from(told)
        yield ipaddress.ip_address(source[:4] if family == socket.AF_INET else source), _drops(told[SOCKET_BYTES:])


def _drops(attributes: memoryview) -> int:
    while attributes:
        length, kind = _ATTRIBUTE.unpack_from(attributes)
        if kind == _MEMORY_INFO:
            dropped: int = _COUNT.unpack_from(attributes, _ATTRIBUTE.size + _DROPS * _COUNT.size)[0]
            return dropped
        attributes = attributes[aligned(length) :]
    raise OSError("the kernel does not report what a socket has dropped")
