"""The log of slapd (loglevel stats) as the target passes it on: when it did what, and for whom."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE = re.compile(r"^([0-9a-f]{8})\.([0-9a-f]{8}) 0x[0-9a-f]+ (.*)$", re.MULTILINE)
_NS_PER_S = 1_000_000_000
_USER = re.compile(r"\(uid=(user\d+)\)")
_BOUND = re.compile(r'BIND dn="uid=(user\d+),')


@dataclass(frozen=True, slots=True)
class SlapdLine:
    """A line, by the wall clock."""

    at_unix_s: float
    text: str


def slapd_lines(log: str) -> Iterator[SlapdLine]:
    """Yield slapd's lines among those of others."""
    for seconds, nanoseconds, text in _LINE.findall(log):
        yield SlapdLine(int(seconds, 16) + int(nanoseconds, 16) / _NS_PER_S, text)


def users_asked_for(log: str) -> list[str]:
    """Return the users whom slapd was asked for, each time that it was."""
    return [name for line in slapd_lines(log) for name in _USER.findall(line.text) if "SRCH base" in line.text]


def users_bound(log: str) -> list[str]:
    """Return the users whose password slapd was asked to check, each time that it was."""
    return [name for line in slapd_lines(log) for name in _BOUND.findall(line.text) if "mech=" not in line.text]
