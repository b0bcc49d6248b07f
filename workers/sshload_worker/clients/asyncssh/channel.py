"""A channel of an asyncssh connection: its requests, and its data, which the loop passes to the reading greenlet."""

from collections import deque
from typing import Any

from asyncssh.channel import SSHClientChannel
from asyncssh.constants import EXTENDED_DATA_STDERR, MSG_CHANNEL_CLOSE, MSG_CHANNEL_FAILURE
from asyncssh.packet import Byte, SSHPacket, String, UInt32
from gevent.event import Event
from sshload_contract.vocabulary import Outcome, Timing

from sshload_worker.clients.asyncssh.driver import Driver
from sshload_worker.clients.by_parts import run_by_parts
from sshload_worker.clients.interface import CommandEnd
from sshload_worker.outcomes import StepFailure

_STDERR_BYTES = 4_096
_AHEAD_BYTES = 2_097_152
_TERMINAL = (String("vt100"), UInt32(80), UInt32(24), UInt32(0), UInt32(0), String(Byte(0)))


class Inbox:
    """The data of a channel, between asyncssh's session and the greenlet that reads it.

    If the reader falls behind, the server has to wait. `told` is set once the server has told how the command ended,
    and at the latest with `closed`.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._channel: Any = None
        self._pieces: deque[bytes] = deque()
        self._ahead_bytes = 0
        self._paused = False
        self._changed = Event()
        self._ended = False
        self._room = Event()
        self._room.set()
        self.stderr = b""
        self.told = Event()
        self.closed = Event()

    def connection_made(self, chan: Any) -> None:
        """Record the channel."""
        self._channel = chan

    def session_started(self) -> None:
        """Do nothing: the caller knows that the session has started."""

    def data_received(self, data: bytes, datatype: int | None) -> None:
        """Keep stdout, and the beginning of stderr."""
        if datatype == EXTENDED_DATA_STDERR:
            self.stderr = self.stderr or data[:_STDERR_BYTES]
            return
        self._pieces.append(data)
        self._ahead_bytes += len(data)
        self._changed.set()
        if self._ahead_bytes > _AHEAD_BYTES and not self._paused:
            self._paused = True
            self._channel.pause_reading()

    def eof_received(self) -> bool:
        """Record the end of the output; the channel stays open for input."""
        self._ended = True
        self._changed.set()
        return True

    def exit_status_received(self, status: int) -> None:
        """Note that there is one; the channel records it."""
        del status
        self.told.set()

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:  # noqa: FBT001
        """Note that there is one; the channel records it."""
        del signal, core_dumped, msg, lang
        self.told.set()

    def pause_writing(self) -> None:
        """Block writers."""
        self._room.clear()

    def resume_writing(self) -> None:
        """Unblock writers."""
        self._room.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Record the end of the channel, and wake all waiting greenlets."""
        del exc  # the connection records it
        # asyncssh tells of no end that came with the close, before it was asked to deliver
        self._ended = self._ended or self._channel.closed_by_server
        self.closed.set()
        self.told.set()
        self._changed.set()
        self._room.set()

    def has_ended(self) -> bool:
        """Return whether the server has ended the output, and all of it was read."""
        return self._ended and not self._pieces

    def read(self) -> bytes:
        """Return the next piece, empty at the end; raises StepFailure if the connection ends first."""
        while not self._pieces:
            if self._ended or self.closed.is_set():
                if not self._ended and self._driver.protocol.milestones.ended.is_set():
                    raise self._driver.lost()
                return b""
            self._changed.clear()
            self._changed.wait()
        piece = self._pieces.popleft()
        self._ahead_bytes -= len(piece)
        if self._paused and not self._pieces:
            self._paused = False
            self._driver.loop.post(self._channel.resume_reading)
        return piece

    def write(self, data: bytes) -> None:
        """Pass all of `data` to asyncssh, and wait until there is room for more; raises StepFailure if it is closed."""
        self._driver.call(Timing.WRITE, self._channel.write, data)
        self._room.wait()
        if self.closed.is_set():
            self._driver.check(Timing.WRITE)
            raise StepFailure(Outcome.DISCONNECTED, "the server closed the channel")


class RequestChannel(SSHClientChannel[bytes]):
    """asyncssh's channel, with separate calls to open it and for each request."""

    closed_by_server = False
    refused = False
    """Whether the server has refused a request. It may end the connection after that."""

    async def open(self, session: Any, kind: bytes, *arguments: bytes) -> None:
        """Open a channel of a type; `session` receives its data."""
        await self._open(kind, *arguments)
        self._session = session
        session.connection_made(self)

    async def ask(self, request: bytes, *arguments: bytes) -> bool:
        """Send a request, and return whether the server grants it."""
        return bool(await self._make_request(request, *arguments))

    async def start(self, request: bytes, *arguments: bytes) -> bool:
        """Request a program, and return whether the server starts it; if so, start to deliver its output."""
        granted = await self.ask(request, *arguments)
        if granted:
            await self.begin_reading()
        return granted

    async def begin_reading(self) -> None:
        """Start to deliver data, including data that has already arrived."""
        await self._start_reading()

    def process_connection_close(self, exc: Exception | None) -> None:
        """Deliver what came before the connection's end and was held back for a reader that is behind."""
        self.resume_reading()
        super().process_connection_close(exc)

    def _record_close(self, kind: int, number: int, packet: SSHPacket) -> None:
        self.closed_by_server = True
        super()._process_close(kind, number, packet)

    def _record_failure(self, kind: int, number: int, packet: SSHPacket) -> None:
        self.refused = True
        super()._process_response(kind, number, packet)

    _packet_handlers = {  # noqa: RUF012 - asyncssh's own name and form
        **SSHClientChannel._packet_handlers,  # noqa: SLF001 - to be extended
        MSG_CHANNEL_FAILURE: _record_failure,
        MSG_CHANNEL_CLOSE: _record_close,
    }


class AsyncsshChannel:
    """One open channel (clients.interface.Channel)."""

    run = run_by_parts

    def __init__(self, driver: Driver, channel: RequestChannel, inbox: Inbox) -> None:
        self._driver = driver
        self._channel = channel
        self._inbox = inbox
        self._tells_end = False

    def request_terminal(self) -> None:
        self._require(self._driver.run(Timing.EXEC, self._channel.ask(b"pty-req", *_TERMINAL)))

    def start_shell(self) -> None:
        self._require(self._driver.run(Timing.EXEC, self._channel.start(b"shell")))
        self._tells_end = True

    def execute(self, command: str) -> None:
        self._require(self._driver.run(Timing.EXEC, self._channel.start(b"exec", String(command))))
        self._tells_end = True

    def read(self) -> bytes:
        return self._inbox.read()

    def write(self, data: bytes) -> None:
        self._inbox.write(data)

    def send_end(self) -> None:
        self._driver.call(Timing.WRITE, self._channel.write_eof)

    def close(self) -> CommandEnd:
        if self._tells_end and self._inbox.has_ended():
            self._inbox.told.wait()  # some servers do not tell it after the client's close
        if not self._inbox.closed.is_set():
            self._driver.call(Timing.CLOSE, self._channel.close)
            self._inbox.closed.wait()
        if not self._channel.closed_by_server:
            raise self._driver.lost()
        status, signal = self._channel.get_exit_status(), self._channel.get_exit_signal()
        return CommandEnd(exit_code=status, signal=signal[0] if signal else "", stderr=self._inbox.stderr)

    def _require(self, granted: object) -> None:
        if not granted:
            if not self._channel.refused:
                self._driver.check(Timing.EXEC)
            raise StepFailure(Outcome.EXEC_REJECTED, "the server refused the request")
