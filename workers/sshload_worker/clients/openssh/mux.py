"""The control socket of an ssh process (OpenSSH's PROTOCOL.mux, version 4): asks it for a session or a forward."""

import socket
import struct
from collections.abc import Iterable
from contextlib import suppress
from enum import IntEnum

from sshload_contract.vocabulary import Outcome

from sshload_worker.outcomes import StepFailure

_VERSION = 4
_NO_ESCAPE = 0xFFFF_FFFF
_MOST_BYTES = 262_144
_REQUEST = 1


class _Kind(IntEnum):
    HELLO = 0x0000_0001
    NEW_SESSION = 0x1000_0002
    NEW_STDIO_FORWARD = 0x1000_0008
    PERMISSION_DENIED = 0x8000_0002
    FAILURE = 0x8000_0003
    EXIT_MESSAGE = 0x8000_0004
    SESSION_OPENED = 0x8000_0006
    TTY_ALLOC_FAIL = 0x8000_0008


class ControlSocket:
    """One connection to a control socket, which carries one session or forward."""

    def __init__(self, path: str) -> None:
        """Connect; raises OSError where nobody listens any more."""
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(path)
            self._send(_number(_Kind.HELLO), _number(_VERSION))
            self._receive()
        except BaseException:
            self._socket.close()
            raise

    def open_session(self, command: str, descriptors: Iterable[int], *, terminal: bool) -> None:
        """Ask for a session, and wait until it runs; an empty command is a shell. Raises StepFailure, OSError."""
        self._send(
            *map(_number, (_Kind.NEW_SESSION, _REQUEST)),
            _string(""),
            *map(_number, (int(terminal), 0, 0, 0, _NO_ESCAPE)),
            _string("vt100" if terminal else ""),
            _string(command),
        )
        self._hand_over(descriptors)

    def open_forward(self, host: str, port: int, descriptors: Iterable[int]) -> None:
        """Ask for a forward to a stream of bytes, and wait until it is open. Raises StepFailure, OSError."""
        self._send(*map(_number, (_Kind.NEW_STDIO_FORWARD, _REQUEST)), _string(""), _string(host), _number(port))
        self._hand_over(list(descriptors)[:2])

    def exit_code(self) -> int | None:
        """Wait for the end; return the command's exit code, None where it had none."""
        code = None
        with suppress(OSError, EOFError):
            while True:
                kind, body = self._receive()
                if kind == _Kind.EXIT_MESSAGE:
                    code = int(struct.unpack(">I", body[4:8])[0])
        return code

    def close(self) -> None:
        """End the session, if it has not ended."""
        self._socket.close()

    def _hand_over(self, descriptors: Iterable[int]) -> None:
        for number in descriptors:
            socket.send_fds(self._socket, [b"\0"], [number])
        kind, body = self._receive()
        if kind == _Kind.SESSION_OPENED:
            return
        said = _words(body[4:]) if kind in (_Kind.FAILURE, _Kind.PERMISSION_DENIED) else f"answer {kind:#x}"
        raise StepFailure(Outcome.CHANNEL_REFUSED, said)

    def _send(self, *parts: bytes) -> None:
        body = b"".join(parts)
        self._socket.sendall(_number(len(body)) + body)

    def _receive(self) -> tuple[int, bytes]:
        (length,) = struct.unpack(">I", self._exactly(4))
        if not 4 <= length <= _MOST_BYTES:  # noqa: PLR2004 - a message has a kind
            raise EOFError
        body = self._exactly(length)
        return struct.unpack(">I", body[:4])[0], body[4:]

    def _exactly(self, count: int) -> bytes:
        taken = b""
        while len(taken) < count:
            piece = self._socket.recv(count - len(taken))
            if not piece:
                raise EOFError
            taken += piece
        return taken


def _number(value: int) -> bytes:
    return struct.pack(">I", value)


def _string(text: str) -> bytes:
    data = text.encode()
    return _number(len(data)) + data


def _words(body: bytes) -> str:
    (length,) = struct.unpack(">I", body[:4])
    return body[4 : 4 + length].decode("utf-8", "replace")
