"""Reads a gateway's answers (docs/reference/gateway.md): commands, pages of a directory, problems.

A gateway may send anything. Each answer is parsed strictly, and the times that it reports are compared with the time
that the whole answer took: no part can have taken longer. Only a login can, because it may have begun for an earlier
request.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from sshload_contract.shortened import printable, shortened
from sshload_contract.vocabulary import Outcome, Timing

from sshload_worker.clients.gateway.exchange import Answer
from sshload_worker.clients.interface import CommandEnd
from sshload_worker.outcomes import MESSAGE_LIMIT_CHARACTERS, StepFailure

_OK = 200
_BY_STATUS = {
    401: Outcome.AUTH_REJECTED,
    429: Outcome.RATE_LIMITED,
    502: Outcome.BAD_GATEWAY,
    503: Outcome.GATEWAY_BUSY,
    504: Outcome.GATEWAY_TIMEOUT,
}
_PROXY_STATUSES = frozenset({502, 503, 504})
"""Statuses that a proxy may send in place of the gateway. A gateway sends a `kind` with each of them."""
_SERVER_ERRORS = 500
_ENDED_EARLY = {
    "timeout": (Outcome.COMMAND_TIMEOUT, "the gateway ended the command, because it ran too long"),
    "output-limit": (Outcome.OUTPUT_LIMIT, "the gateway ended the command, because its output was too long"),
    "connection-lost": (Outcome.CONNECTION_LOST, "the gateway lost its SSH connection while the command ran"),
}
_MOST_EXIT_CODE = 2**32 - 1
_NS_PER_S = 1_000_000_000
_LONGEST_LOGIN_NS = 86_400 * _NS_PER_S
_CLOCKS_DIFFER = 1.001
_CLOCK_STEP_NS = 1_000_000
_LONGEST_CURSOR = 1_400
_MOST_VALUES = 300_000
"""How many values the JSON of an answer may have: each takes many times the memory of its text.

Commas in strings count as values: a page has at most 1,000 names of 255 characters.
"""


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """A command that ended by itself: its end, its output, and the durations of its parts that the gateway reports."""

    end: CommandEnd
    stdout: bytes
    told_ns: Mapping[Timing, int]


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a directory: the number of its entries, and the cursor of the next page, empty on the last page."""

    entries: int
    after: str


def read_command(answer: Answer) -> CommandAnswer:
    """Return how a command ended; raises StepFailure if it was not run to its end, or the answer is invalid."""
    said = _read_object(answer)
    outcome = _text(said, "outcome")
    stdout, stderr = (_output(said, name) for name in ("stdout", "stderr"))
    if outcome in _ENDED_EARLY:
        kind, message = _ENDED_EARLY[outcome]
        raise StepFailure(kind, message)
    end = CommandEnd(*_end(said, outcome), stderr)
    return CommandAnswer(end, stdout, _reported_durations(said, answer.took_ns))


def read_page(answer: Answer, most_entries: int) -> Page:
    """Return a page; raises StepFailure if there is none, or the answer is invalid."""
    said = _read_object(answer)
    entries, after = said.get("entries"), said.get("next")
    if not isinstance(entries, list) or len(entries) > most_entries:
        _refuse(f"entries is not a list of at most {most_entries}")
    if after is None:
        return Page(len(entries), "")
    if not isinstance(after, str) or not after or len(after) > _LONGEST_CURSOR or not entries:
        _refuse("next is not a valid cursor")
    return Page(len(entries), after)


def read_names(answer: Answer) -> frozenset[str]:
    """Return the names of the caller's credentials; raises StepFailure if the answer has none."""
    listed = _read_object(answer).get("credentials")
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        _refuse("credentials is not a list of objects")
    return frozenset(_text(one, "name") for one in listed)


def _read_object(answer: Answer) -> dict[str, Any]:
    """Return the JSON of an answer of status 200; raises StepFailure for any other."""
    if answer.status != _OK:
        raise _problem(answer)
    said = _parsed(answer.body)
    if not isinstance(said, dict):
        _refuse("it is not a JSON object")
    return said


def _parsed(body: bytes) -> Any:
    """Return the value of a JSON text, or None if it is not JSON or has too many values."""
    if sum(map(body.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _problem(answer: Answer) -> StepFailure:
    other = Outcome.GATEWAY_ERROR if answer.status >= _SERVER_ERRORS else Outcome.REQUEST_REFUSED
    said = _parsed(answer.body)
    found = [said.get(name) for name in ("kind", "detail")] if isinstance(said, dict) else []
    words = [_printable(word) if isinstance(word, str) else "" for word in found]
    later = f" (Retry-After: {_printable(answer.retry_after)})" if answer.retry_after else ""
    status = f"status {answer.status}{later}"
    if answer.status in _PROXY_STATUSES and not any(words[:1]):
        return StepFailure(Outcome.PROXY_ERROR, f"{status} from a proxy, not from the gateway: it has no kind")
    text = ": ".join(filter(None, words))
    return StepFailure(_BY_STATUS.get(answer.status, other), status + (f", {text}" if text else ""))


def _printable(text: str) -> str:
    return printable(shortened(text, MESSAGE_LIMIT_CHARACTERS)).encode("utf-8", "replace").decode()


def _end(said: Mapping[str, Any], outcome: str) -> tuple[int | None, str]:
    """Return the exit code and the signal."""
    code = said.get("exitCode")
    if outcome == "signalled":
        return None, _printable(_text(said, "signal"))[:40]
    if outcome != "exited":
        _refuse("outcome is unknown")
    if code is not None and (type(code) is not int or not 0 <= code <= _MOST_EXIT_CODE):
        _refuse("exitCode is not an exit code")
    return code, ""


def _output(said: Mapping[str, Any], name: str) -> bytes:
    text = _text(said, name)
    if said.get("encoding") != "base64":
        _refuse("encoding is not base64, as requested")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        _refuse(f"{name} is not base64")


def _reported_durations(said: Mapping[str, Any], took_ns: int) -> dict[Timing, int]:
    """Return the durations of the parts. A wait and a command do not overlap."""
    timings = said.get("timings")
    if not isinstance(timings, dict):
        _refuse("it has no timings")
    most_ns = int(took_ns * _CLOCKS_DIFFER) + _CLOCK_STEP_NS
    wait_ns, command_ns = (_nanoseconds(timings.get(name), name, most_ns) for name in ("waitSeconds", "commandSeconds"))
    if wait_ns + command_ns > most_ns:
        _refuse("its parts took longer than the whole answer")
    told = {Timing.GATEWAY_WAIT: wait_ns, Timing.GATEWAY_COMMAND: command_ns}
    login = timings.get("loginSeconds")
    if login is not None:
        told[Timing.GATEWAY_LOGIN] = _nanoseconds(login, "loginSeconds", _LONGEST_LOGIN_NS)
    return told


def _nanoseconds(seconds: object, name: str, most_ns: int) -> int:
    """Return a duration; raises StepFailure if it is NaN, or longer than possible."""
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 <= seconds <= most_ns / _NS_PER_S:
        _refuse(f"{name} is not from 0 to {most_ns / _NS_PER_S:g}")
    return int(seconds * _NS_PER_S)


def _text(said: Mapping[str, Any], name: str) -> str:
    text = said.get(name)
    if not isinstance(text, str):
        _refuse(f"{name} is not a string")
    return text


def _refuse(problem: str) -> NoReturn:
    raise StepFailure(Outcome.BAD_ANSWER, f"the answer is not that of a gateway: {problem}") from None
