"""When connections came to an sshd, by its log: OpenSSH 8.4 to 10, from journald or from a syslog file.

The peer's address and port identify a connection. Its arrival is the time of its first line in the log:

- `Connection from ADDRESS port PORT on ...` (LogLevel VERBOSE) and `drop connection #N from [ADDRESS]:PORT on ...` are
  logged on its arrival
- else the first line about its login counts (`Accepted`, `Failed`, `Invalid user`, or how it ended without one). That
  is later than its arrival, by the time that the login took

For most connections that MaxStartups or a penalty drops, sshd logs only their number (drop_connection in its sshd.c).
They have no time, and are counted separately.

A client chooses the user name and the version that are in these lines. So each pattern begins with sshd's own words. At
worst, a client whose user name looks like an address is counted as another connection.
"""

import json
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto, unique

_MOST_CONNECTIONS = 100_000
_LONGEST_LINE = 10_000
_A_DAY = timedelta(days=1)
_US_PER_S = 1_000_000

_LINE = re.compile(
    r"(?:(?P<iso>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)"
    r"|(?P<unix>\d{9,11}(?:\.\d{1,9})?)"
    r"|(?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) (?P<clock>\d\d:\d\d:\d\d(?:\.\d{1,9})?))"
    r" \S+ (?P<program>[\w-]+)(?:\[(?P<pid>\d{1,9})\])?: (?P<message>.*)"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_PROGRAMS = frozenset({"sshd", "sshd-session", "sshd-auth"})
"""OpenSSH 9.8 and 10.0 split sshd into several programs."""

_ADDRESS = r"(?P<address>[0-9A-Fa-f:.]+(?:%\w+)?)"
_PEER = rf"{_ADDRESS} port (?P<port>\d{{1,5}})"
_ARRIVED = re.compile(rf"Connection from {_PEER} on ")
_DROPPED = re.compile(rf"drop connection #\d+ from \[{_ADDRESS}\]:(?P<port>\d{{1,5}}) on ")
_LOGIN = re.compile(
    rf"(?:(?:Accepted|Failed|Postponed|Partial) .* from|maximum authentication attempts exceeded for .* from"
    rf"|Invalid user .* from|Unable to negotiate with|Did not receive identification string from"
    rf"|Bad protocol version identification .* from|Timeout before authentication for) {_PEER}\b"
)
_ENDED = re.compile(
    rf"(?:(?P<either>Received disconnect from)|Timeout, client not responding from (?P<after>user .*)"
    rf"|(?:Connection (?:closed|reset) by|Disconnected from|Disconnecting|(?:[\w ]{{1,40}}: )?Connection from)"
    rf"(?: (?:(?:authenticating|invalid) user .*|(?P<logged_in>user .*)))?) {_PEER}\b"
)
"""sshd names the user with `user` alone after a login, and with `authenticating user` or `invalid user` before it."""
_BEFORE_LOGIN = "[preauth]"
_LEVEL = re.compile(r"(?:fatal|error): ")
"""sshd's prefix of a message of these levels."""
_EPISODE = re.compile(r"(?P<how>exited|in) MaxStartups throttling (?:after|for) \S+, (?P<total>\d{1,9}) connections")
_LEFT_OUT = re.compile(r".{1,40} logging rate-limited: additional (?P<count>\d{1,9}) connections dropped")
_TIMED_OUT = re.compile(r"Timeout before authentication for connection from .*, pid = (?P<pid>\d{1,9})")


@dataclass(frozen=True, slots=True)
class Arrival:
    """A connection came at `at_s`, in seconds since the epoch.

    `exact` is False where the time is that of a later line. `whole_second` is True where the log has no fractions.
    """

    at_s: float
    exact: bool
    whole_second: bool


@dataclass(slots=True)
class LogArrivals:
    """All arrivals of a log whose lines are from `first_s` to `last_s`; `timeless` more have no time of their own."""

    arrivals: list[Arrival] = field(default_factory=list)
    timeless: int = 0
    first_s: float | None = None
    last_s: float | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a log."""

    at_s: float
    whole_second: bool
    program: str
    pid: str
    message: str


@unique
class _State(Enum):
    OPEN = auto()
    LOGGED_IN = auto()
    ENDED = auto()


def entries_of(lines: Iterable[str], now: datetime) -> Iterator[Entry]:
    """Yield the entries of a log's lines; other lines are ignored.

    Times without a zone are local times. Those without a year are in the twelve months before `now`.
    """
    for line in lines:
        if len(line) <= _LONGEST_LINE:
            found = _json_entry(line) if line.startswith("{") else _syslog_entry(line, now)
            if found is not None:
                yield found


def arrivals_of(entries: Iterable[Entry]) -> LogArrivals:
    """Return the arrivals in a log's entries."""
    reader = _Reader()
    for entry in entries:
        reader.take(entry)
    return reader.finish()


class _Reader:
    def __init__(self) -> None:
        self._found = LogArrivals()
        self._states: OrderedDict[tuple[str, str], _State] = OrderedDict()
        self._processes: OrderedDict[str, None] = OrderedDict()
        self._episode_drops = 0
        self._episode_total = 0

    def take(self, entry: Entry) -> None:
        """Take the next line of the log."""
        found = self._found
        found.first_s = entry.at_s if found.first_s is None else min(found.first_s, entry.at_s)
        found.last_s = entry.at_s if found.last_s is None else max(found.last_s, entry.at_s)
        if entry.program not in _PROGRAMS:
            return
        exact = self._arrival(entry)
        if exact is not None:
            found.arrivals.append(Arrival(entry.at_s, exact, entry.whole_second))

    def finish(self) -> LogArrivals:
        """Return what was found, in the order of time."""
        self._end_episode()
        self._found.arrivals.sort(key=lambda arrival: arrival.at_s)
        return self._found

    def _arrival(self, entry: Entry) -> bool | None:
        """Return True if a line's connection came at its time, False if it came before, None if it is not a new one."""
        message = _LEVEL.sub("", entry.message, count=1) if _LEVEL.match(entry.message) else entry.message
        if match := _ARRIVED.match(message):
            self._remember(match, _State.OPEN, entry.pid)
            return True
        if _DROPPED.match(message):
            self._episode_drops += 1
            return True
        if match := _LOGIN.match(message):
            state = self._states.get((match["address"], match["port"]))
            accepted = message.startswith("Accepted ")
            self._remember(match, _State.LOGGED_IN if accepted else _State.OPEN, entry.pid)
            return None if state is _State.OPEN else False
        if match := _ENDED.match(message):
            unseen = (match["address"], match["port"]) not in self._states
            self._remember(match, _State.ENDED, entry.pid)
            names_nobody = not (match["either"] or match["after"] or match["logged_in"])
            before_login = names_nobody or message.rstrip().endswith(_BEFORE_LOGIN)
            return False if unseen and before_login else None
        self._count_timeless(message)
        return None

    def _remember(self, match: re.Match[str], state: _State, pid: str) -> None:
        key = match["address"], match["port"]
        self._states[key] = state
        self._states.move_to_end(key)
        self._processes[pid] = None
        for known in (self._states, self._processes):
            if len(known) > _MOST_CONNECTIONS:
                known.popitem(last=False)

    def _count_timeless(self, message: str) -> None:
        if match := _EPISODE.match(message):
            self._episode_total = int(match["total"])
            if match["how"] == "exited":
                self._end_episode()
        elif match := _LEFT_OUT.match(message):
            self._found.timeless += int(match["count"])
        elif match := _TIMED_OUT.match(message):
            self._found.timeless += match["pid"] not in self._processes

    def _end_episode(self) -> None:
        """Count the drops of an episode that had no line of their own."""
        self._found.timeless += max(self._episode_total - self._episode_drops, 0)
        self._episode_total = self._episode_drops = 0


def _syslog_entry(line: str, now: datetime) -> Entry | None:
    match = _LINE.match(line)
    if match is None:
        return None
    try:
        at_s = _seconds(match, now)
    except ValueError:
        return None
    stamp = match["iso"] or match["unix"] or match["clock"]
    return Entry(at_s, not ("." in stamp or "," in stamp), match["program"], match["pid"] or "", match["message"])


def _seconds(match: re.Match[str], now: datetime) -> float:
    if match["unix"]:
        return float(match["unix"])
    if match["iso"]:
        return datetime.fromisoformat(match["iso"]).timestamp()
    month = _MONTHS.index(match["month"]) + 1
    written = f"{now.year}-{month:02}-{int(match['day']):02}T{match['clock']}"
    if (month, int(match["day"])) == (2, 29):  # which this year may not have
        written = written.replace(f"{now.year}-", f"{now.year - now.year % 4}-", 1)
    at = datetime.fromisoformat(written).astimezone()
    return (at if at <= now.astimezone() + _A_DAY else at.replace(year=at.year - 1)).timestamp()


def _json_entry(line: str) -> Entry | None:
    """Return an entry of `journalctl -o json`, None if the line is not one."""
    try:
        entry = json.loads(line)
        stamp = entry.get("_SOURCE_REALTIME_TIMESTAMP") or entry["__REALTIME_TIMESTAMP"]
        program = entry.get("SYSLOG_IDENTIFIER") or entry["_COMM"]
        message = entry["MESSAGE"]
        at_s = int(stamp) / _US_PER_S
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return None
    if not (isinstance(program, str) and isinstance(message, str)):
        return None
    return Entry(at_s, whole_second=False, program=program, pid=str(entry.get("_PID", "")), message=message)
