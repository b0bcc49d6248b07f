"""What comes in on a channel of asyncssh's."""

from collections import deque
from typing import Any

from asyncssh.constants import EXTENDED_DATA_STDERR
from gevent.event import Event
from sshload_contract.vocabulary import Outcome, Step

from sshload_worker.clients.asyncssh.driver import Driver
from sshload_worker.outcomes import StepFailure

_STDERR_BYTES = 4_096
_AHEAD_BYTES = 2_097_152


class Inbox:
    """What comes in on a channel: asyncssh's session on one side, a greenlet that reads on the other.

    Where the reader falls behind, the server is told to wait.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._channel: Any = None
        self._pieces: deque[bytes] = deque()
        self._ahead_bytes = 0
        self._paused = False
        self._news = Event()
        self._ended = False
        self._room = Event()
        self._room.set()
        self.stderr = b""
        self.closed = Event()

    def connection_made(self, chan: Any) -> None:
        """Note the channel."""
        self._channel = chan

    def session_started(self) -> None:
        """Do nothing: whoever asked knows."""

    def data_received(self, data: bytes, datatype: int | None) -> None:
        """Take data, of which only stdout is kept, and the beginning of stderr."""
        if datatype == EXTENDED_DATA_STDERR:
            self.stderr = self.stderr or data[:_STDERR_BYTES]
            return
        self._pieces.append(data)
        self._ahead_bytes += len(data)
        self._news.set()
        if self._ahead_bytes > _AHEAD_BYTES and not self._paused:
            self._paused = True
            self._channel.pause_reading()

    def eof_received(self) -> bool:
        """Note that no more comes; our own side stays open."""
        self._ended = True
        self._news.set()
        return True

    def exit_status_received(self, status: int) -> None:
        """Do nothing: the channel keeps it."""

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:  # noqa: FBT001
        """Do nothing: the channel keeps it."""

    def pause_writing(self) -> None:
        """Let writers wait."""
        self._room.clear()

    def resume_writing(self) -> None:
        """Let writers go on."""
        self._room.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the channel's end, with which all waiting ends."""
        del exc  # the connection knows
        self.closed.set()
        self._news.set()
        self._room.set()

    def read(self) -> bytes:
        """Return the next piece, empty at the end; raises StepFailure where the connection ends first."""
        while not self._pieces:
            if self._ended or self.closed.is_set():
                if not self._ended and self._driver.protocol.milestones.ended.is_set():
                    raise self._driver.lost()
                return b""
            self._news.clear()
            self._news.wait()
        piece = self._pieces.popleft()
        self._ahead_bytes -= len(piece)
        if self._paused and not self._pieces:
            self._paused = False
            self._driver.loop.post(self._channel.resume_reading)
        return piece

    def write(self, data: bytes) -> None:
        """Hand over all of `data`, and wait until there is room for more; raises StepFailure at the end."""
        self._driver.call(Step.WRITE, self._channel.write, data)
        self._room.wait()
        if self.closed.is_set():
            self._driver.check(Step.WRITE)
            raise StepFailure(Outcome.DISCONNECTED, "the server closed the channel")
