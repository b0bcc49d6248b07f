"""sshd's log, in which clients choose names, as `sshload trace` reads it.

Input: the log. Oracle: only TraceError is raised. A line makes one arrival at most, and the trace has as many as were
found.
"""

import json
from collections.abc import Iterator
from datetime import datetime

from sshload_operator.cli.record.command import TraceError, recorded
from sshload_operator.cli.record.sshd_log import arrivals_of, entries_of

_NOW = datetime.fromisoformat("2026-11-23T12:00:00+00:00")
_MESSAGES = (
    'Connection from 192.0.2.7 port 50000 on 192.0.2.1 port 22 rdomain ""',
    "Accepted publickey for root from 192.0.2.7 port 50000 ssh2: ED25519 SHA256:x",
    "Failed password for invalid user x from 192.0.2.7 port 50000 ssh2",
    "Received disconnect from 192.0.2.7 port 50000:11: bye [preauth]",
    "Disconnected from user root 2001:db8::1 port 50000",
    "Connection closed by authenticating user root fe80::1%eth0 port 50000 [preauth]",
    "drop connection #10 from [192.0.2.7]:40000 on [192.0.2.1]:22 past MaxStartups",
    "exited MaxStartups throttling after 00:00:10, 44 connections dropped",
    "Maxstartups logging rate-limited: additional 224 connections dropped",
)


def seeds() -> Iterator[bytes]:
    """Yield logs with each kind of time, and each message."""
    stamps = ("2026-11-16T09:00:00.5Z", "2026-11-16 09:00:00", "Nov 16 09:00:00", "Feb 29 09:00:00.25", "1794819600.5")
    for stamp in stamps:
        yield "\n".join(f"{stamp} bastion sshd[7]: {message}" for message in _MESSAGES).encode()
    for message in _MESSAGES:
        yield f"2026-11-16T09:00:00.5+00:00 bastion sshd-session[7]: {message}\n".encode()
    journal = {"__REALTIME_TIMESTAMP": "1794819600250000", "SYSLOG_IDENTIFIER": "sshd", "MESSAGE": _MESSAGES[0]}
    yield json.dumps(journal).encode()


def check(data: bytes) -> None:
    """Read the log, and make a trace of it."""
    lines = data.decode("utf-8", "replace").splitlines()
    found = arrivals_of(entries_of(lines, _NOW))
    assert len(found.arrivals) <= len(lines)
    try:
        made = recorded(found, None, None)
    except TraceError:
        return
    assert len(made.trace.offsets) == len(found.arrivals)
    assert 0 <= made.trace.offsets[0] <= made.trace.offsets[-1] <= made.trace.lasts_s
