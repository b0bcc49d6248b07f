"""Traces: when connections came to a server, to be played again. A text of one arrival per line.

    # sshload trace
    # lasts: 600
    0.013
    0.25

A line is the seconds from the beginning of the trace, never less than the line before. `lasts` is how long it was
recorded: there may be no arrival at its end. Other lines that begin with # are comments.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, isfinite

from sshload_contract.errors import ContractError

MOST_ARRIVALS = 1_000_000
MOST_SECONDS = 8 * 86_400.0
_LONGEST_LINE = 200
_LASTS = "# lasts:"
_TITLE = "# sshload trace"


@dataclass(frozen=True, slots=True)
class Trace:
    """The arrivals of `lasts_s` seconds, in seconds from their beginning, never decreasing."""

    offsets: Sequence[float]
    lasts_s: float

    def busiest(self, stretch_s: float) -> tuple[int, float]:
        """Return the most arrivals that any such stretch of time has, and where it begins."""
        most, at_s = 0, 0.0
        for first, offset in enumerate(self.offsets):
            found = bisect_left(self.offsets, offset + stretch_s, lo=first) - first
            if found > most:
                most, at_s = found, offset
        return most, at_s


def read_trace(lines: Iterable[str]) -> Trace:
    """Return the trace that a text spells; raises ContractError, which names the line but not what is in it."""
    offsets, lasts_s, before = array("d"), inf, 0.0
    for number, line in enumerate(lines, start=1):
        if len(line) > _LONGEST_LINE:
            raise ContractError(f"line {number}", f"has more than {_LONGEST_LINE} characters")
        if line.startswith(_LASTS):
            lasts_s = _seconds(line.removeprefix(_LASTS), number)
            continue
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        offset = _seconds(text, number)
        if offset < before:
            raise ContractError(f"line {number}", "is earlier than the line before: the arrivals must be in order")
        if len(offsets) == MOST_ARRIVALS:
            raise ContractError(f"line {number}", f"is one arrival too many: a trace has at most {MOST_ARRIVALS}")
        offsets.append(offset)
        before = offset
    if not offsets:
        raise ContractError("", "has no arrival: a line is expected for each, with its seconds from the beginning")
    if lasts_s == inf:
        lasts_s = before
    if lasts_s < before:
        raise ContractError("", f"lasts {lasts_s:g} s by its {_LASTS!r} line, and has an arrival after that")
    return Trace(offsets, lasts_s)


def write_trace(trace: Trace, comments: Iterable[str] = ()) -> str:
    """Return the text of a trace, to the microsecond."""
    lines = [_TITLE, *(f"# {comment}" for comment in comments), f"{_LASTS} {_written(trace.lasts_s)}"]
    return "\n".join([*lines, *map(_written, trace.offsets)]) + "\n"


def _seconds(text: str, number: int) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not isfinite(seconds) or not 0 <= seconds <= MOST_SECONDS:
        raise ContractError(f"line {number}", f"must be seconds from 0 to {MOST_SECONDS:.0f}")
    return seconds


def _written(seconds: float) -> str:
    return f"{seconds:.6f}".rstrip("0").rstrip(".")
