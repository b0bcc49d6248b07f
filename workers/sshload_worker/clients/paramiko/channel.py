"""A channel of a paramiko connection."""

import threading

from paramiko.channel import Channel
from sshload_contract.vocabulary import Outcome, Timing

from sshload_worker.clients.by_parts import run_by_parts
from sshload_worker.clients.interface import CommandEnd
from sshload_worker.clients.paramiko.transport import Driver
from sshload_worker.outcomes import StepFailure

_READ_BYTES = 262_144
_STDERR_BYTES = 4_096

_NO_STATUS = -1  # paramiko's own value, which no server can send


class ParamikoChannel:
    """One open channel (clients.interface.Channel)."""

    run = run_by_parts

    def __init__(self, driver: Driver, channel: Channel, read_bytes: int | None) -> None:
        self._driver = driver
        self._channel = channel
        self._read_bytes = read_bytes or _READ_BYTES
        self._end = driver.transport.end_of(channel)
        self._stderr = b""
        self._tells_end = False
        self._changed = threading.Event()
        for buffer in (channel.in_buffer, channel.in_stderr_buffer):
            buffer.set_event(self._changed)

    def request_terminal(self) -> None:
        self._driver.call(Timing.EXEC, self._channel.get_pty)

    def start_shell(self) -> None:
        self._driver.call(Timing.EXEC, self._channel.invoke_shell)
        self._tells_end = True

    def execute(self, command: str) -> None:
        self._driver.call(Timing.EXEC, self._channel.exec_command, command)
        self._tells_end = True

    def start_subsystem(self, name: str) -> Channel:
        """Request a subsystem, wait for the server's reply, and return paramiko's channel to it."""
        self._driver.call(Timing.EXEC, self._channel.invoke_subsystem, name)
        return self._channel

    def read(self) -> bytes:
        while True:
            if self._channel.recv_ready():
                piece: bytes = self._driver.call(Timing.READ, self._channel.recv, self._read_bytes)
                return piece
            if self._channel.recv_stderr_ready():
                # If it were not read, it would fill the window that it shares with stdout.
                said = self._driver.call(Timing.READ, self._channel.recv_stderr, self._read_bytes)
                self._stderr = self._stderr or said[:_STDERR_BYTES]
            elif self._channel.eof_received or self._end.closed_by_server:
                return b""
            elif self._channel.closed:
                raise self._driver.lost()
            else:
                self._changed.wait()

    def write(self, data: bytes) -> None:
        self._driver.call(Timing.WRITE, self._channel.sendall, data)

    def send_end(self) -> None:
        self._driver.call(Timing.WRITE, self._channel.shutdown_write)

    def close(self) -> CommandEnd:
        if self._tells_end and self._channel.eof_received:
            self._end.told.wait()  # some servers do not tell it after the client's close
        self._driver.call(Timing.CLOSE, self._channel.close)
        self._end.over.wait()
        self._driver.transport.forget(self._channel)
        if not self._end.closed_by_server:
            raise StepFailure(Outcome.DISCONNECTED, "the server closed the connection before the channel")
        status = self._channel.exit_status
        return CommandEnd(
            exit_code=None if status == _NO_STATUS else status, signal=self._end.signal, stderr=self._stderr
        )
