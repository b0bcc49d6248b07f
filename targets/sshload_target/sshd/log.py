"""SshdLog: reads sshd's log while it is written, passes it on to stdout, and keeps what it says."""

import os
import select
import threading
from collections import deque
from contextlib import suppress

from sshload_target.sshd.log_counts import LogCounts, add_event
from sshload_target.sshd.log_line import Accepted, Listening, read_log_line
from sshload_target.sshd.network import Peer, open_peers

_CHUNK_BYTES = 65_536
_TAIL_LINES = 5
_STDOUT = 1
_FIRST_PRUNE_AT = 1_024


class SshdLog:
    """The log of one sshd. `read_from` runs in a thread of its own, everything else may be asked from any thread.

    Who asks for the counts reads first what sshd has written by then: the thread may be late, on a throttled CPU.
    """

    def __init__(self, sshd_port: int) -> None:
        self._sshd_port = sshd_port
        self._lock = threading.Lock()
        self._counts = LogCounts()
        self._logged_in: set[Peer] = set()
        self._prune_at = _FIRST_PRUNE_AT
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._listening = False
        self._reading = threading.Lock()
        self._log_fd: int | None = None
        self._rest = b""

    @property
    def listening(self) -> bool:
        """Whether sshd has said that it listens on its port."""
        return self._listening

    @property
    def tail(self) -> str:
        """The last lines, for the one who asks why sshd has ended."""
        with self._lock:
            return "\n".join(self._tail)

    @property
    def counts(self) -> LogCounts:
        """The totals of the log so far."""
        self._read_available()
        with self._lock:
            return self._counts

    def sessions(self) -> int:
        """Return the number of logged-in connections that are open now.

        A login is logged at every level, its end is not (a client that just closes its socket leaves no line at
        INFO), so the kernel says which of them still are.
        """
        self._read_available()
        with self._lock:
            self._prune()
            return len(self._logged_in)

    def read_from(self, log_fd: int) -> None:
        """Read until the last process that holds the log's other end is gone; closes `log_fd`."""
        os.set_blocking(log_fd, False)
        with self._reading:
            self._log_fd = log_fd
        new = select.poll()
        new.register(log_fd, select.POLLIN)
        while not self._read_available():
            new.poll()
        with self._reading:
            self._log_fd = None
            os.close(log_fd)
        if self._rest:
            self._add_lines([self._rest.decode(errors="replace")])

    def _read_available(self) -> bool:
        """Read all that sshd has written, without waiting; return whether the log has ended."""
        with self._reading, suppress(BlockingIOError):
            while self._log_fd is not None and (chunk := os.read(self._log_fd, _CHUNK_BYTES)):
                self._add_text(chunk.replace(b"\r\n", b"\n"))
            return True
        return False

    def _add_text(self, text: bytes) -> None:
        _copy_to_stdout(text)
        *lines, self._rest = (self._rest + text).split(b"\n")
        self._add_lines([line.decode(errors="replace").rstrip("\r") for line in lines])

    def _add_lines(self, lines: list[str]) -> None:
        events = [(line, read_log_line(line)) for line in lines]
        with self._lock:
            for line, event in events:
                self._tail.append(line)
                match event:
                    case None:
                        continue
                    case Listening(port) if port == self._sshd_port:
                        self._listening = True
                    case Accepted(address, port):
                        self._logged_in.add(Peer(address, port))
                self._counts = add_event(self._counts, event)
            if len(self._logged_in) >= self._prune_at:
                self._prune()

    def _prune(self) -> None:
        self._logged_in &= open_peers(self._sshd_port)
        self._prune_at = max(_FIRST_PRUNE_AT, 2 * len(self._logged_in))


def _copy_to_stdout(text: bytes) -> None:
    """Write to stdout. Who started us may have closed its end; the counts go on without it."""
    with suppress(OSError):
        while text:
            text = text[os.write(_STDOUT, text) :]
