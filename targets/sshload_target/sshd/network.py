"""The network namespace in /proc/net: connections to sshd, and who listens."""

import ipaddress
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_PROC_NET = Path("/proc/net")
_ESTABLISHED = "01"
_CLOSE_WAIT = "08"
_LISTEN = "0A"
_IPV4_DIGITS = 8


class Peer(NamedTuple):
    """The far end of a connection, its address as sshd writes it: an IPv4 address mapped into IPv6 is IPv4."""

    address: str
    port: int


def open_peers(local_port: int, proc_net: Path = _PROC_NET) -> set[Peer]:
    """Return the peers whose connections to `local_port` are open, or closed by the peer alone."""
    peers = set()
    for remote, state in _sockets(local_port, proc_net):
        if state in (_ESTABLISHED, _CLOSE_WAIT):
            address, _, port = remote.partition(":")
            peers.add(Peer(_address(address), int(port, 16)))
    return peers


def is_listening(local_port: int, proc_net: Path = _PROC_NET) -> bool:
    """Return whether a socket of the network namespace listens on a port."""
    return any(state == _LISTEN for _, state in _sockets(local_port, proc_net))


def _sockets(local_port: int, proc_net: Path) -> Iterator[tuple[str, str]]:
    """Yield the far end and the state of each socket of a local port; a table's head is none of any port."""
    local_end = f":{local_port:04X}"
    for table in ("tcp", "tcp6"):  # no tcp6 where the kernel has no IPv6
        for line in read_proc_file(proc_net / table).splitlines():
            _, local, remote, state, _ = line.split(maxsplit=4)
            if local.endswith(local_end):
                yield remote, state


def _address(digits: str) -> str:
    """Return the address that the kernel prints as 32-bit words in the machine's byte order."""
    words = [int(digits[start : start + 8], 16) for start in range(0, len(digits), 8)]
    packed = b"".join(word.to_bytes(4, sys.byteorder) for word in words)
    if len(digits) == _IPV4_DIGITS:
        return str(ipaddress.IPv4Address(packed))
    address = ipaddress.IPv6Address(packed)
    return str(address.ipv4_mapped or address)


def read_proc_file(file: Path) -> str:
    """Return the text of a file of /proc, "" if the kernel has no such file or denies reading it."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return ""
