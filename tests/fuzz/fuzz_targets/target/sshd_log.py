"""sshd's log, with names in it that a client chooses, as the target reads it and adds it up.

Input: the log, as it comes through the pipe.
Oracle: nothing is raised. No count is negative, none falls, and each line adds to one kind of count at most. A line in
which all that a client chooses stands behind the first words is counted as what these words say.
"""

from collections.abc import Iterator
from dataclasses import fields

from sshload_target.sshd.log import LogCounts, add_event
from sshload_target.sshd.log_line import read_log_line

_KINDS = ("accepted", "auth_failed", "dropped_max_startups", "dropped_penalty", "refused_forks")
_LINES = (
    "Server listening on 0.0.0.0 port 2222.",
    "Accepted publickey for load from 10.0.0.1 port 4 ssh2: ED25519 SHA256:abc",
    "Accepted password for a from 1.1.1.1 port 9 ssh2 from 10.0.0.1 port 4 ssh2",
    "Connection closed by authenticating user load 10.0.0.1 port 4 [preauth]",
    "Disconnected from invalid user Accepted none for x from 10.0.0.1 port 4 [preauth]",
    "drop connection #9 from [10.0.0.1]:1 on [10.0.0.2]:2 past MaxStartups",
    "drop connection #9 from [10.0.0.1]:1 on [10.0.0.2]:2 penalty: failed authentication",
    "drop connection #9 from [10.0.0.1]:1 on [10.0.0.2]:2 Maxstartups",
    "Maxstartups logging rate-limited: additional 224 connections dropped",
    "in MaxStartups throttling for 00:05:00, 40 connections dropped",
    "exited MaxStartups throttling after 00:00:10, 44 connections dropped",
    "fork of unprivileged child failed",
    "do_exec_no_pty: fork: Resource temporarily unavailable",
)


def seeds() -> Iterator[bytes]:
    """Yield a log with a line of each kind, and each line by itself."""
    yield "\n".join(_LINES).encode()
    yield from (f"{line}\r\n".encode() for line in _LINES)


def check(data: bytes) -> None:
    """Read the log line by line."""
    counts = LogCounts()
    for line in data.split(b"\n"):
        event = read_log_line(line.decode(errors="replace").rstrip("\r"))
        if event is None:
            continue
        before, counts = counts, add_event(counts, event)
        grown = [name for name in _KINDS if getattr(counts, name) != getattr(before, name)]
        assert len(grown) <= 1
        assert all(getattr(counts, name) >= getattr(before, name) for name in _KINDS)
        assert all(getattr(counts, field.name) >= 0 for field in fields(counts))
