"""Ports for servers that cannot be given port 0, such that nobody else takes one before the server listens.

The kernel gives outgoing connections any port of `ip_local_port_range`: one that was free a moment ago may be taken
when the server binds it. These ports are outside of that range, below those of which `sshload run` chooses, and
reserved for this process among all that run tests.
"""

import secrets
import socket
from collections import deque
from collections.abc import Sequence
from pathlib import Path

_PORTS = range(7_000, 10_240)
_OUTGOING_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
_RESERVATIONS = 100


class FreePorts:
    """Ports for one process, in turn from a random one on, so that none comes again soon."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = ports
        self._next = secrets.randbelow(len(ports))
        self._reserved: deque[socket.socket] = deque(maxlen=_RESERVATIONS)

    def take(self) -> int:
        """Return a port that is free, and nobody else's until 100 more were taken; raises OSError where none is."""
        for _ in self._ports:
            port = self._ports[self._next]
            self._next = (self._next + 1) % len(self._ports)
            reservation = _reservation(port)
            if reservation is None:
                continue
            if _is_free(port):
                self._reserved.append(reservation)
                return port
            reservation.close()
        raise OSError(f"no port of {self._ports[0]} to {self._ports[-1]} is free")


def free_port() -> int:
    """Return a port that is free, and nobody else's until this process has taken 100 more."""
    return _of_this_process.take()


def _ports_of_nobody() -> Sequence[int]:
    """Return the ports that the kernel does not give to outgoing connections, or all where it gives them all."""
    first, last = (int(word) for word in _OUTGOING_PORTS.read_text(encoding="ascii").split())
    return [port for port in _PORTS if not first <= port <= last] or _PORTS


def _reservation(port: int) -> socket.socket | None:
    """Return what keeps other processes from taking the port, None where one has it.

    The name is in the same network namespace as the port, and goes with the process, however that ends.
    """
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0sshload-test-port-{port}")
    except OSError:
        name.close()
        return None
    return name


def _is_free(port: int) -> bool:
    """Tell whether the port can be bound on all addresses; one whose connections have just ended cannot."""
    with socket.socket() as probe:
        try:
            probe.bind(("0.0.0.0", port))  # noqa: S104 - nothing listens here
        except OSError:
            return False
    return True


_of_this_process = FreePorts(_ports_of_nobody())
