"""Free ports of loopback for the processes of a run, reserved against other runs until those listen."""

import errno
import secrets
import socket
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_LOOPBACK: Final = "127.0.0.1"
PORTS: Final = range(10_240, 65_536)
_OUTGOING_PORTS: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_RESERVED: Final[deque[socket.socket]] = deque(maxlen=100)
"""What keeps other runs on this machine from taking the ports: until this process has taken more than it holds."""


def free_ports(count: int) -> tuple[int, ...]:
    """Return different ports that are free on loopback now, and that nobody takes before a process listens there.

    No outgoing connection does, and no other run on this machine until this process has taken some dozens more.
    """
    found: list[int] = []
    candidates = _ports_of_nobody()
    while len(found) < count:
        port = secrets.choice(candidates)
        if port not in found and _is_free(port) and _reserve(port):
            found.append(port)
    return tuple(found)


def _ports_of_nobody() -> Sequence[int]:
    """Return the ports that the kernel does not give to outgoing connections, or all where it gives them all."""
    try:
        first, last = (int(word) for word in _OUTGOING_PORTS.read_text(encoding="ascii").split())
    except OSError:  # a kernel that does not tell
        return PORTS
    return [port for port in PORTS if not first <= port <= last] or PORTS


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((_LOOPBACK, port))
        except OSError:
            return False
    return True


def _reserve(port: int) -> bool:
    """Return whether no other run has the port; then this one has it.

    An abstract name of unix(7) is in the same network namespace as the port, and goes with this process, however that
    ends. On a kernel without such names nothing is reserved.
    """
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0sshload-port-{port}")
    except OSError as error:
        name.close()
        return error.errno != errno.EADDRINUSE
    _RESERVED.append(name)
    return True
