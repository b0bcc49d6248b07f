"""The log of sshd: read while it is written, passed on to stdout, and counted by a pure fold over its events."""

import os
import select
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, replace

from sshload_target.sshd.log_line import (
    Accepted,
    AuthFailed,
    DropEpisode,
    Dropped,
    DropReason,
    ForkRefused,
    Listening,
    LogEvent,
    OmittedDrops,
    read_log_line,
)
from sshload_target.sshd.network import Peer, open_peers

# OpenSSH 10.0, sshd.c, drop_connection: from the 4th drop by MaxStartups and the 8th by a penalty lines are left out.
_ALL_LOGGED_BELOW = {DropReason.MAX_STARTUPS: 3, DropReason.PENALTY: 7}

_CHUNK_BYTES = 65_536
_LINE_LIMIT_BYTES = 16_384  # sshd's own have 1,024
_TAIL_LINES = 5
_STDOUT = 1
_FIRST_PRUNE_AT = 1_024


@dataclass(frozen=True, slots=True)
class LogCounts:
    """Totals since sshd's start.

    `episode_counted` are the drops of the episode of throttling that is going on (sshd to 9.9), 0 outside of one;
    `rate_limited` says that this sshd (from 10.0) limits the rate of its lines on MaxStartups.
    """

    accepted: int = 0
    auth_failed: int = 0
    dropped_max_startups: int = 0
    dropped_penalty: int = 0
    refused_forks: int = 0
    episode_counted: int = 0
    rate_limited: bool = False

    @property
    def is_lower_bound(self) -> bool:
        """Whether sshd may have dropped more than it has told so far."""
        return (
            self.episode_counted > 0
            or self.dropped_penalty >= _ALL_LOGGED_BELOW[DropReason.PENALTY]
            or (self.rate_limited and self.dropped_max_startups >= _ALL_LOGGED_BELOW[DropReason.MAX_STARTUPS])
        )


def add_event(counts: LogCounts, event: LogEvent) -> LogCounts:
    """Return `counts` with `event` in them."""
    match event:
        case Accepted():
            return replace(counts, accepted=counts.accepted + 1)
        case AuthFailed():
            return replace(counts, auth_failed=counts.auth_failed + 1)
        case ForkRefused():
            return replace(counts, refused_forks=counts.refused_forks + 1)
        case Dropped() | OmittedDrops() | DropEpisode():
            return _count_drops(counts, event)
        case Listening():
            return counts


def _count_drops(counts: LogCounts, event: Dropped | OmittedDrops | DropEpisode) -> LogCounts:
    match event:
        case Dropped():
            return _count_dropped(counts, event)
        case OmittedDrops():
            return _add_dropped(counts, event.reason, event.count)
        case DropEpisode():
            return _count_episode(counts, event)


def _count_dropped(counts: LogCounts, event: Dropped) -> LogCounts:
    counts = _add_dropped(counts, event.reason, 1)
    if event.reason is DropReason.PENALTY:
        return counts
    if event.rate_limited:
        return replace(counts, rate_limited=True)
    return replace(counts, episode_counted=counts.episode_counted + 1)


def _add_dropped(counts: LogCounts, reason: DropReason, number: int) -> LogCounts:
    if reason is DropReason.PENALTY:
        return replace(counts, dropped_penalty=counts.dropped_penalty + number)
    return replace(counts, dropped_max_startups=counts.dropped_max_startups + number)


def _count_episode(counts: LogCounts, event: DropEpisode) -> LogCounts:
    """Add the drops without a line. The total of an episode under way includes the drop of the next line."""
    told_total = event.total if event.ended else event.total - 1
    untold = max(0, told_total - counts.episode_counted)
    counts = _add_dropped(counts, DropReason.MAX_STARTUPS, untold)
    return replace(counts, episode_counted=0 if event.ended else counts.episode_counted + untold)


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
        *lines, rest = (self._rest + text).split(b"\n")
        self._rest = rest[:_LINE_LIMIT_BYTES]
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
