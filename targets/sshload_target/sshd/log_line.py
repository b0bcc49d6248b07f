"""The events in sshd's own log (`sshd -D -e`, LogLevel INFO or more), line by line, for OpenSSH 8.5 to 10.x.

sshd logs drops in three ways, see `drop_connection` in sshd.c:

- to 9.7: `drop connection #9 from [a]:1 on [b]:2 past MaxStartups`; at INFO only the first of an episode. A later
  line gives the episode's total: `exited MaxStartups throttling after 00:00:10, 44 connections dropped`.
- 9.8 and 9.9: the same, spelled `past Maxstartups`; new are lines that end in `penalty: <reason>`, all of them at INFO,
  and in `too many penalised addresses` where PerSourcePenalties has overflow:deny-all.
- from 10.0: `... Maxstartups` and `... penalty: <reason>`, both limited in rate at every log level. What was left out
  is told with a later drop: `Maxstartups logging rate-limited: additional 224 connections dropped`.

A process that cannot be started is logged as `fork: <why>` by the listener (the connection ends without a banner), as
`fork of unprivileged child failed` by a connection's monitor, and with a name before it, as in `do_exec_no_pty: fork:
<why>`, where a session asked for it.

Every line is matched from its beginning, and a user's name (which a client chooses) is never where a pattern begins.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, unique

_PENALTIES = ("penalty: ", "too many penalised addresses")


@unique
class DropReason(Enum):
    """Why sshd closed a connection before its banner. Every sshd logs PerSourceMaxStartups as MaxStartups."""

    MAX_STARTUPS = "maxStartups"
    PENALTY = "penalty"


@dataclass(frozen=True, slots=True)
class Listening:
    """sshd listens on `port`."""

    port: int


@dataclass(frozen=True, slots=True)
class Accepted:
    """A login was granted to the peer at this address and port."""

    address: str
    port: int


@dataclass(frozen=True, slots=True)
class AuthFailed:
    """A connection that had named its user ended without a login."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """One connection was dropped. `rate_limited` says that this sshd limits the rate of such lines."""

    reason: DropReason
    rate_limited: bool


@dataclass(frozen=True, slots=True)
class OmittedDrops:
    """`count` more connections were dropped. sshd left their lines out."""

    reason: DropReason
    count: int


@dataclass(frozen=True, slots=True)
class DropEpisode:
    """An episode of throttling has dropped `total` connections so far, told and untold; `ended` when it is over."""

    total: int
    ended: bool


@dataclass(frozen=True, slots=True)
class ForkRefused:
    """sshd could not start a process, for a connection or in a session."""


LogEvent = Listening | Accepted | AuthFailed | Dropped | OmittedDrops | DropEpisode | ForkRefused

_RATE_LIMITED_REASONS = {"Maxstartups": DropReason.MAX_STARTUPS, "PerSourcePenalties": DropReason.PENALTY}


def _dropped(found: re.Match[str]) -> Dropped:
    told = found["told"]
    if told.startswith(_PENALTIES):
        return Dropped(DropReason.PENALTY, rate_limited=True)  # 9.8 and 9.9 tell all of them, in the same words
    return Dropped(DropReason.MAX_STARTUPS, rate_limited=not told.startswith("past "))


_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], LogEvent]], ...] = (
    (
        re.compile(r"Accepted \S+ for .* from (?P<address>\S+) port (?P<port>\d{1,5}) ssh2(?:: .*)?$"),
        lambda found: Accepted(found["address"], int(found["port"])),
    ),
    (
        re.compile(
            r"(?:Connection closed by|Connection reset by|Connection from|Disconnected from|Disconnecting)"
            r" (?:authenticating|invalid) user .* \S+ port \d+(?:: .*| timed out)? \[preauth\]$"
        ),
        lambda _: AuthFailed(),
    ),
    (
        re.compile(
            r"drop connection #\d+ from \S+ on \S+"
            r" (?P<told>past Max[sS]tartups|Maxstartups|penalty: .*|too many penalised addresses)$"
        ),
        _dropped,
    ),
    (
        re.compile(r"(?P<reason>Maxstartups|PerSourcePenalties) logging rate-limited: additional (?P<count>\d{1,18}) "),
        lambda found: OmittedDrops(_RATE_LIMITED_REASONS[found["reason"]], int(found["count"])),
    ),
    (
        re.compile(
            r"(?P<word>exited|in) MaxStartups throttling (?:after|for) \S+, (?P<total>\d{1,18}) connections dropped$"
        ),
        lambda found: DropEpisode(int(found["total"]), ended=found["word"] == "exited"),
    ),
    (
        re.compile(r"(?:[A-Za-z_]+: )?fork: |fork of unprivileged child failed"),
        lambda _: ForkRefused(),
    ),
    (
        re.compile(r"Server listening on \S+ port (?P<port>\d{1,5})\b"),
        lambda found: Listening(int(found["port"])),
    ),
)


def read_log_line(line: str) -> LogEvent | None:
    """Return the event in `line` (without its line end), None if it has none that is counted."""
    for pattern, reader in _READERS:
        found = pattern.match(line)
        if found is not None:
            return reader(found)
    return None
