"""The ssh process of one login: its log, and its control socket (OpenSSH's PROTOCOL.mux, version 4)."""

import os
import socket
import struct
from collections.abc import Iterable
from contextlib import suppress
from enum import IntEnum

import gevent
from gevent.event import Event
from sshload_contract.vocabulary import Outcome, Timing

from sshload_worker.clients.openssh.log import LoginLog, failure
from sshload_worker.clients.openssh.process import PipeEnd, Process
from sshload_worker.clients.openssh.settings import SERVER, Directory
from sshload_worker.outcomes import StepFailure

_MUX_VERSION = 4
_NO_ESCAPE = 0xFFFF_FFFF
_MUX_MOST_BYTES = 262_144
_MUX_REQUEST = 1

_OWN_STDOUT = "/proc/self/fd/1"
_KEPT_OUTPUT_BYTES = 4_096


class _MuxKind(IntEnum):
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
            self._send(_number(_MuxKind.HELLO), _number(_MUX_VERSION))
            self._receive()
        except BaseException:
            self._socket.close()
            raise

    def open_session(self, command: str, descriptors: Iterable[int], *, terminal: bool) -> None:
        """Ask for a session, and wait until it runs; an empty command is a shell. Raises StepFailure, OSError."""
        self._send(
            *map(_number, (_MuxKind.NEW_SESSION, _MUX_REQUEST)),
            _string(""),
            *map(_number, (int(terminal), 0, 0, 0, _NO_ESCAPE)),
            _string("vt100" if terminal else ""),
            _string(command),
        )
        self._hand_over(descriptors)

    def open_forward(self, host: str, port: int, descriptors: Iterable[int]) -> None:
        """Ask for a forward to a stream of bytes, and wait until it is open. Raises StepFailure, OSError."""
        self._send(*map(_number, (_MuxKind.NEW_STDIO_FORWARD, _MUX_REQUEST)), _string(""), _string(host), _number(port))
        self._hand_over(list(descriptors)[:2])

    def exit_code(self) -> int | None:
        """Wait for the end; return the command's exit code, None where it had none."""
        code = None
        with suppress(OSError, EOFError):
            while True:
                kind, body = self._receive()
                if kind == _MuxKind.EXIT_MESSAGE:
                    code = int(struct.unpack(">I", body[4:8])[0])
        return code

    def close(self) -> None:
        """End the session, if it has not ended."""
        self._socket.close()

    def _hand_over(self, descriptors: Iterable[int]) -> None:
        for number in descriptors:
            socket.send_fds(self._socket, [b"\0"], [number])
        kind, body = self._receive()
        if kind == _MuxKind.SESSION_OPENED:
            return
        said = _words(body[4:]) if kind in (_MuxKind.FAILURE, _MuxKind.PERMISSION_DENIED) else f"answer {kind:#x}"
        raise StepFailure(Outcome.CHANNEL_REFUSED, said)

    def _send(self, *parts: bytes) -> None:
        body = b"".join(parts)
        self._socket.sendall(_number(len(body)) + body)

    def _receive(self) -> tuple[int, bytes]:
        (length,) = struct.unpack(">I", self._exactly(4))
        if not 4 <= length <= _MUX_MOST_BYTES:  # noqa: PLR2004 - a message has a kind
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


class Master:
    """`ssh -M -N`: logs in, and then waits at its control socket."""

    def __init__(self, directory: Directory, options: list[str]) -> None:
        """Start it; raises OSError."""
        self.socket_path = directory.new_name("s")
        self.log = LoginLog()
        self._ended = Event()
        self._log_pipe = PipeEnd(reading=True)
        self._stderr = PipeEnd(reading=True)
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        # On stderr a server's banner would be among ssh's own words, so these have a pipe to themselves.
        command = ["ssh", "-E", _OWN_STDOUT, "-F", directory.config, "-M", "-N", "-S", self.socket_path]
        descriptors = (nothing, self._log_pipe.given, self._stderr.given)
        try:
            self.process = Process([*command, *options, SERVER], directory.environment, descriptors)
        finally:
            os.close(nothing)
            self._log_pipe.give_away()
            self._stderr.give_away()
        self._said = b""
        self._stderr_reader = gevent.spawn(self._read_stderr)
        self._reader = gevent.spawn(self._read_log)

    def await_step(self, step: Timing) -> None:
        """Wait until the login is through `step`; raises StepFailure where it ends before that."""
        self.log.milestones[step].wait()
        if step not in self.log.reached:
            self._ended.wait()
            raise self.failure(step)

    def is_lost(self) -> bool:
        """Return whether it has ended."""
        return self._ended.is_set() or self.process.ended.is_set()

    def has_ended(self) -> bool:
        """Return whether it has ended, by asking it: of a program that shares its connection one may hear before."""
        return self.is_lost() or not self._answers()

    def await_end(self) -> None:
        """Wait until it has ended, and its log been read."""
        self.process.ended.wait()
        self._ended.wait()

    def was_killed(self) -> bool:
        """Return whether a signal ended a command, of which there is no exit code.

        ssh logs that before it tells of the end. Where commands of one login run at once, the log does not tell them
        apart. Raises StepFailure where the connection has ended instead.
        """
        self._catch_up()
        if self.log.claim_killed():
            return True
        if not self.has_ended():
            return False
        self.await_end()
        raise self.failure(Timing.EXEC)

    def claim_refusal(self) -> str | None:
        """Return the reason why the server has refused a channel, None where it has opened all that were requested.

        ssh logs that before it tells of it. Where channels of one login are opened at once, the log does not tell them
        apart.
        """
        self._catch_up()
        return self.log.claim_refusal()

    def exit_statuses(self) -> int:
        """Return of how many commands the server has told the exit status, which ssh logs before it tells of it."""
        self._catch_up()
        return self.log.exit_statuses

    def _catch_up(self) -> None:
        while piece := self._log_pipe.read_available():
            self.log.take(piece)

    def _answers(self) -> bool:
        try:
            ControlSocket(self.socket_path).close()
        except (OSError, EOFError):
            return False
        return True

    def failure(self, step: Timing) -> StepFailure:
        """Return the failure in its log, or on its stderr where it could not even begin a log."""
        return failure(step, self.log.lines or self._said.decode("utf-8", "replace").splitlines())

    def close(self) -> None:
        """End it now; never waits."""
        self.process.kill()

    def _read_log(self) -> None:
        while piece := self._log_pipe.read():
            self.log.take(piece)
        self._log_pipe.close()
        self._stderr_reader.join()
        self._ended.set()
        self.log.end()

    def _read_stderr(self) -> None:
        while piece := self._stderr.read():
            self._said = (self._said + piece)[:_KEPT_OUTPUT_BYTES]
        self._stderr.close()
