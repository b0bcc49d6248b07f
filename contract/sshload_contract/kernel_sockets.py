"""The TCP sockets of this network namespace in a state, as the kernel lists them (sock_diag(7))."""

import socket
import struct
from collections.abc import Iterator
from typing import Final

TIME_WAIT: Final = 6
LISTEN: Final = 10
"""States, as in linux/include/net/tcp_states.h."""
SOCKET_BYTES: Final = 72
"""What the kernel says of each socket (struct inet_diag_msg), before the attributes that were asked for."""

_NETLINK_SOCK_DIAG: Final = 4
_SOCK_DIAG_BY_FAMILY: Final = 20
_REQUEST_DUMP: Final = 0x301
_DONE, _ERROR = 3, 2
_ANSWER_BYTES: Final = 65_536
_MOST_ANSWERS: Final = 1_024
_TIMEOUT_S: Final = 1.0
_HEADER: Final = struct.Struct("=IHHII")
_REQUEST: Final = struct.Struct("=BBBxI")
_PORTS: Final = struct.Struct("!HH")
_ID_REST_BYTES: Final = 44  # both addresses, the interface, and the cookie


def sockets(
    family: socket.AddressFamily, state: int, *, local_port: int = 0, remote_port: int = 0, attribute: int = 0
) -> Iterator[memoryview]:
    """Yield what the kernel says of each socket with these ports; 0 is any. `attribute` is one to tell besides.

    Raises OSError and struct.error where the kernel does not list sockets: in some sandboxes it does not.
    """
    for answer in _answers(family, state, _PORTS.pack(local_port, remote_port), attribute):
        rest = memoryview(answer)
        while rest:
            length = _length(rest)
            yield rest[_HEADER.size : length]
            rest = rest[aligned(length) :]


def count(family: socket.AddressFamily, state: int, *, remote_port: int) -> int:
    """Return how many sockets `sockets` would yield, much faster: the kernel says as much of each of them."""
    answers = _answers(family, state, _PORTS.pack(0, remote_port), 0)
    return sum(len(answer) // aligned(_length(memoryview(answer))) for answer in answers)


def aligned(length: int) -> int:
    """Return the room of a message or attribute of this length."""
    return (length + 3) & ~3


def _answers(family: socket.AddressFamily, state: int, ports: bytes, attribute: int) -> Iterator[bytes]:
    """Yield packets of whole messages, each of which is of a socket."""
    wanted = 1 << (attribute - 1) if attribute else 0
    request = _REQUEST.pack(family, socket.IPPROTO_TCP, wanted, 1 << state) + ports + bytes(_ID_REST_BYTES)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
        kernel.settimeout(_TIMEOUT_S)
        kernel.send(_HEADER.pack(_HEADER.size + len(request), _SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, 1, 0) + request)
        for _ in range(_MOST_ANSWERS):
            answer = kernel.recv(_ANSWER_BYTES)
            _, kind, *_ = _HEADER.unpack_from(answer)
            if kind == _DONE:
                return
            if kind == _ERROR:
                raise OSError("the kernel does not list sockets")
            yield answer
    raise OSError("the kernel lists sockets without end")


def _length(message: memoryview) -> int:
    length: int = _HEADER.unpack_from(message)[0]
    return length
