"""The ssh process of one login: its log, and its control socket (OpenSSH's PROTOCOL.mux, version 4)."""

import os
import socket
import struct
from collections.abc import Iterable, Mapping
from contextlib import suppress
from enum import IntEnum

import gevent
from gevent.event import Event
from sshload_contract.vocabulary import Outcome, Timing

from sshload_worker.clients.openssh.log import LoginLog, failure
from sshload_worker.clients.openssh.process import PipeEnd, Process
from sshload_worker.clients.openssh.settings import OWN_STDOUT, SERVER, Directory
from sshload_worker.outcomes import StepFailure

_MUX_VERSION = 4
_NO_ESCAPE = 0xFFFF_FFFF
_MUX_MOST_BYTES = 262_144
_MUX_REQUEST = 1

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
        """Connect; raises OSError if nobody listens any more."""
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(path)
            self._send(_number(_MuxKind.HELLO), _number(_MUX_VERSION))
            self._receive()
        except BaseException:
            self._socket.close()
            raise

    def open_session(self, command: str, descriptors: Iterable[int], *, terminal: bool) -> None:
        """Request a session, and wait until it runs; an empty command is a shell. Raises StepFailure, OSError."""
        self._send(
            *map(_number, (_MuxKind.NEW_SESSION, _MUX_REQUEST)),
            _string(""),
            *map(_number, (int(terminal), 0, 0, 0, _NO_ESCAPE)),
            _string("vt100" if terminal else ""),
            _string(command),
        )
        self._send_descriptors(descriptors)

    def open_forward(self, host: str, port: int, descriptors: Iterable[int]) -> None:
        """Request a stdio forward, and wait until it is open. Raises StepFailure, OSError."""
        self._send(*map(_number, (_MuxKind.NEW_STDIO_FORWARD, _MUX_REQUEST)), _string(""), _string(host), _number(port))
        self._send_descriptors(list(descriptors)[:2])

    def exit_code(self) -> int | None:
        """Wait for the end; return the command's exit code, or None if it had none."""
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

    def _send_descriptors(self, descriptors: Iterable[int]) -> None:
        for number in descriptors:
            socket.send_fds(self._socket, [b"\0"], [number])
        kind, body = self._receive()
        if kind == _MuxKind.SESSION_OPENED:
            return
        said = _text(body[4:]) if kind in (_MuxKind.FAILURE, _MuxKind.PERMISSION_DENIED) else f"reply {kind:#x}"
        raise StepFailure(Outcome.CHANNEL_REFUSED, said)

    def _send(self, *parts: bytes) -> None:
        body = b"".join(parts)
        self._socket.sendall(_number(len(body)) + body)

    def _receive(self) -> tuple[int, bytes]:
        (length,) = struct.unpack(">I", self._receive_exactly(4))
        if not 4 <= length <= _MUX_MOST_BYTES:  # noqa: PLR2004 - a message has a kind
            raise EOFError
        body = self._receive_exactly(length)
        return struct.unpack(">I", body[:4])[0], body[4:]

    def _receive_exactly(self, count: int) -> bytes:
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


def _text(body: bytes) -> str:
    (length,) = struct.unpack(">I", body[:4])
    return body[4 : 4 + length].decode("utf-8", "replace")


class Master:
    """`ssh -M -N`: logs in, and then serves its control socket."""

    def __init__(self, directory: Directory, options: list[str], environment: Mapping[str, str]) -> None:
        """Start it, with `environment` besides the directory's own; raises OSError."""
        self.socket_path = directory.new_name("s")
        self.log = LoginLog()
        self._ended = Event()
        self._log_pipe = PipeEnd(reading=True)
        self._stderr = PipeEnd(reading=True)
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        # stderr also gets the server's login banner, so ssh's own log has a separate pipe.
        command = ["ssh", "-E", OWN_STDOUT, "-F", directory.config, "-M", "-N", "-S", self.socket_path]
        descriptors = (nothing, self._log_pipe.given, self._stderr.given)
        try:
            self.process = Process([*command, *options, SERVER], {**directory.environment, **environment}, descriptors)
        finally:
            os.close(nothing)
            self._log_pipe.give_away()
            self._stderr.give_away()
        self._stderr_text = b""
        self._stderr_reader = gevent.spawn(self._read_stderr)
        self._reader = gevent.spawn(self._read_log)

    def await_step(self, step: str) -> None:
        """Wait until the login has completed `step`; raises StepFailure if it ends before that."""
        self.log.milestones[step].wait()
        if step not in self.log.reached:
            self._ended.wait()
            raise self.failure(step)

    def is_lost(self) -> bool:
        """Return whether it has ended."""
        return self._ended.is_set() or self.process.ended.is_set()

    def has_ended(self) -> bool:
        """Return whether it has ended, by contacting it: the end of a program that shares it may be known first."""
        return self.is_lost() or not self._accepts_connections()

    def await_end(self) -> None:
        """Wait until it has ended and its log has been read."""
        self.process.ended.wait()
        self._ended.wait()

    def was_killed(self) -> bool:
        """Return whether a signal killed a command that has no exit code.

        ssh logs this before it reports the end. If commands of one login run at the same time, the log does not
        distinguish them. Raises StepFailure if the connection has ended instead.
        """
        self._catch_up()
        if self.log.claim_killed():
            return True
        if not self.has_ended():
            return False
        self.await_end()
        raise self.failure(Timing.EXEC)

    def claim_refusal(self) -> str | None:
        """Return why the server refused a channel, or None if it opened all that were requested.

        ssh logs this before it reports it. If channels of one login are opened at the same time, the log does not
        distinguish them.
        """
        self._catch_up()
        return self.log.claim_refusal()

    def exit_statuses(self) -> int:
        """Return for how many commands the server has sent an exit status. ssh logs each before it reports it."""
        self._catch_up()
        return self.log.exit_statuses

    def closed_channels(self) -> int:
        """Return how many channels the server has closed. ssh logs each before it reports its end."""
        self._catch_up()
        return self.log.closed_channels

    def answered_requests(self) -> tuple[int, int]:
        """Return how many commands and shells the server has accepted, and how many it has refused.

        ssh logs each before it reports its end.
        """
        self._catch_up()
        return self.log.accepted_requests, self.log.refused_requests

    def _catch_up(self) -> None:
        while piece := self._log_pipe.read_available():
            self.log.take(piece)

    def _accepts_connections(self) -> bool:
        try:
            ControlSocket(self.socket_path).close()
        except (OSError, EOFError):
            return False
        return True

    def failure(self, step: str) -> StepFailure:
        """Return the failure in its log, or on its stderr if it could not even start a log."""
        return failure(step, self.log.lines or self._stderr_text.decode("utf-8", "replace").splitlines())

    def close(self) -> None:
        """Kill it immediately; never waits."""
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
            self._stderr_text = (self._stderr_text + piece)[:_KEPT_OUTPUT_BYTES]
        self._stderr.close()
