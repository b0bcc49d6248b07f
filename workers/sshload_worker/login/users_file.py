"""A file of users, in CSV or YAML, compressed with gzip or not: a line or an item for each user.

Its author may have been given it by others, so its size after decompression, its lines, fields and users are bounded.
What is wrong with it is told by line and field, never by content, which may be a credential. Fields are only measured
here: a key is read at the first login of its user.
"""

import csv
import gzip
import re
import zlib
from array import array
from base64 import b32decode
from binascii import Error as NotBase32Error
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import gevent
from sshload_contract.error_text import reason_of
from sshload_contract.population import MOST_USERS
from sshload_contract.users import USER_CHARACTERS, USER_PATTERN

from sshload_worker.outcomes import GeneratorFaultError

USER, PASSWORD, KEY, CERTIFICATE, TOTP, WEIGHT, SOURCE_ADDRESS = FIELDS = (
    "user",
    "password",
    "key",
    "certificate",
    "totp",
    "weight",
    "sourceAddress",
)
"""The fields of a user. All but the first may be absent or empty."""

_MOST_BYTES: Final = 64 * 2**20
"""Of the file, decompressed. A user with an Ed25519 key takes about 450."""

_LONGEST_LINE_BYTES: Final = 65_536
_LONGEST_FIELD: Final = 16_384
_LONGEST_PASSWORD: Final = 1_024
_MOST_WEIGHT: Final = 1_000_000
_MOST_LINES: Final = 2_000_000
_MOST_MARKS: Final = 1_000
_ADDRESS: Final = re.compile(r"[0-9A-Za-z.:%_-]{1,64}")
"""ip_address takes any text as the scope of an IPv6 address."""

_AROUND_USERS: Final = ("StreamStart", "DocumentStart", "SequenceStart", "SequenceEnd", "DocumentEnd", "StreamEnd")
_ROWS_IN_A_TURN: Final = 2_000
"""How many users are read before other greenlets get their turn of the event loop."""

_GZIP: Final = b"\x1f\x8b"
_BYTE_ORDER_MARK: Final = "\ufeff"
_NAME: Final = re.compile(USER_PATTERN)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_IN_YAML: Final = re.compile(r"\s*(-(\s|$)|\[|%|---)")
_BLANK_OR_REMARK: Final = re.compile(r"\s*(#.*)?$")


class _Row(NamedTuple):
    """What the file has of one user, and the line where it begins."""

    line: int
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class UsersOfFile:
    """The users of a file, by their place in it, from 0. `role` calls the file in messages. A weight is 1 if absent."""

    role: str
    columns: Mapping[str, int]
    rows: Sequence[Sequence[str]]
    lines: Sequence[int]
    weights: Sequence[float]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.rows)

    def field(self, place: int, name: str) -> str:
        """Return a field of a user, empty if it is absent."""
        column = self.columns.get(name)
        return "" if column is None else self.rows[place][column]

    def where(self, place: int) -> str:
        """Return in which line a user is, for a message."""
        return f"{self.role}, line {self.lines[place]}"


class _FileFault(Exception):  # noqa: N818 - it leaves this module as a GeneratorFaultError
    """What is wrong, and in which line; 0 for the whole file."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line, self.problem = line, problem


def read_users(path: str, role: str) -> UsersOfFile:
    """Return the users in a file; raises GeneratorFaultError, which calls it `role`."""
    try:
        with Path(path).open("rb") as file:
            is_packed = file.peek(len(_GZIP))[: len(_GZIP)] == _GZIP
            lines = _Lines(gzip.GzipFile(fileobj=file) if is_packed else file)  # type: ignore[arg-type]
            return _read(lines, role)
    except OSError as error:
        why = "it is damaged" if isinstance(error, gzip.BadGzipFile) else reason_of(error)
        raise GeneratorFaultError(f"{role} cannot be read: {why}") from None
    except (EOFError, zlib.error):
        raise GeneratorFaultError(f"{role} cannot be read: it is damaged or incomplete") from None
    except _FileFault as fault:
        raise GeneratorFaultError(f"{role}{f', line {fault.line}' if fault.line else ''}: {fault.problem}") from None


class _Lines:
    """The lines of a file as texts, within its bounds. `number` is that of the last one."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size_bytes = 0
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        """Yield each line with its end."""
        while line := self._file.readline(_LONGEST_LINE_BYTES + 1):
            self.number += 1
            self._size_bytes += len(line)
            if len(line) > _LONGEST_LINE_BYTES:
                raise _FileFault(self.number, f"is longer than {_LONGEST_LINE_BYTES:,} bytes")
            if self.number > _MOST_LINES:
                raise _FileFault(self.number, f"the file has more than {_MOST_LINES:,} lines")
            if self._size_bytes > _MOST_BYTES:
                raise _FileFault(self.number, f"the file has more than {_MOST_BYTES >> 20} MiB without compression")
            try:
                text = line.decode()
            except UnicodeDecodeError:
                raise _FileFault(self.number, "is not UTF-8: save the file with that encoding") from None
            yield text.removeprefix(_BYTE_ORDER_MARK) if self.number == 1 else text


def _read(lines: _Lines, role: str) -> UsersOfFile:
    texts = iter(lines)
    first = next((text for text in texts if not _BLANK_OR_REMARK.match(text)), None)
    if first is None:
        raise _FileFault(0, "is empty")
    if _IN_YAML.match(first):
        columns, rows = _yaml_rows(first, texts, lines.number)
    else:
        columns, rows = _csv_rows(first, texts, lines)
    return _checked(role, columns, rows)


def _csv_rows(head: str, texts: Iterator[str], lines: _Lines) -> tuple[Mapping[str, int], Iterator[_Row]]:
    try:
        names = [name.strip() for name in next(csv.reader([head]), [])]
    except csv.Error as error:
        raise _FileFault(lines.number, f"is not CSV: {error}") from None
    for name in names:
        if name not in FIELDS:
            raise _FileFault(
                lines.number,
                f"the first line of CSV must name the fields, of {', '.join(FIELDS)}, with commas between them; YAML is"
                " a list of users",
            )
    if len(set(names)) < len(names) or USER not in names:
        raise _FileFault(lines.number, "the first line must name the field user, and each field once")

    def rows() -> Iterator[_Row]:
        reader, line = csv.reader(texts, strict=True), lines.number + 1
        try:
            for values in reader:
                if values:
                    if len(values) != len(names):
                        raise _FileFault(line, f"has {len(values)} fields, and the first line names {len(names)}")
                    yield _Row(line, values)
                line = lines.number + 1
        except csv.Error as error:
            raise _FileFault(line, f"is not CSV: {error}") from None

    return {name: column for column, name in enumerate(names)}, rows()


def _yaml_rows(head: str, texts: Iterator[str], first_line: int) -> tuple[Mapping[str, int], Iterator[_Row]]:
    """Return the users of a list of mappings, by YAML's events: nothing is built of what is not such a list."""
    import yaml  # noqa: PLC0415 - few runs need it

    def rows() -> Iterator[_Row]:
        text = _TextOfYaml(head, texts, first_line)
        events: Iterator[Any] = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        kinds = ((type(text.note(event)).__name__.removesuffix("Event"), event) for event in events)
        try:
            yield from _users_of_events(kinds, first_line)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            raise _FileFault(0 if mark is None else first_line + mark.line, "is not YAML") from None

    return {name: column for column, name in enumerate(FIELDS)}, rows()


class _TextOfYaml:
    """Lines as a file that YAML's parser reads, which makes events of them.

    The parser's time grows with the square of the brackets that are open, and of the directives (%TAG) that it has
    read, before it makes an event.
    """

    def __init__(self, head: str, texts: Iterator[str], first_line: int) -> None:
        self._texts = chain((head,), texts)
        self._line = first_line - 1
        self._marks = 0

    def read(self, size: int = -1) -> str:
        """Return the next line, empty at the end."""
        del size
        text = next(self._texts, "")
        self._line += 1
        self._marks += text.count("[") + text.count("{") + text.startswith("%")
        if self._marks > _MOST_MARKS:
            problem = f"has more than {_MOST_MARKS:,} brackets and directives, with what is before it"
            raise _FileFault(self._line, problem)
        return text

    def note(self, event: Any) -> Any:
        """Return an event that was made."""
        self._marks = 0
        return event


def _users_of_events(events: Iterator[tuple[str, Any]], first_line: int) -> Iterator[_Row]:
    has_begun = False
    for kind, event in events:
        line = first_line + event.start_mark.line
        if kind == "MappingStart":
            has_begun = True
            yield _Row(line, _user_of_events(events, first_line))
        elif kind not in _AROUND_USERS or (kind == "SequenceStart" and has_begun):
            raise _FileFault(line, "must be a list of users, each with its fields")


def _user_of_events(events: Iterator[tuple[str, Any]], first_line: int) -> Sequence[str]:
    values, name = [""] * len(FIELDS), ""
    for kind, event in events:
        line = first_line + event.start_mark.line
        if kind == "MappingEnd":
            break
        if kind != "Scalar":
            raise _FileFault(line, "must be a text")
        if not name:
            name = event.value
            if name not in FIELDS:
                raise _FileFault(line, f"a user has only the fields {', '.join(FIELDS)}")
        else:
            values[FIELDS.index(name)], name = event.value, ""
    return values


def _checked(role: str, columns: Mapping[str, int], rows: Iterator[_Row]) -> UsersOfFile:
    checks = [(name, columns[name], check) for name, check in _CHECKS.items() if name in columns]
    user, weight = columns[USER], columns.get(WEIGHT)
    seen: dict[str, int] = {}
    kept: list[Sequence[str]] = []
    lines, weights = array("L"), array("d")
    for line, values in rows:
        for name, column, check in checks:
            value = values[column]
            if (value or name == USER) and (problem := check(value)):
                raise _FileFault(line, f"the field {name} {problem}")
        if values[user] in seen:
            raise _FileFault(line, f"the field user is that of line {seen[values[user]]}: each user may be there once")
        seen[values[user]] = line
        kept.append(tuple(values))
        lines.append(line)
        weights.append(float(values[weight]) if weight is not None and values[weight] else 1.0)
        if len(kept) > MOST_USERS:
            raise _FileFault(line, f"the file has more than {MOST_USERS:,} users")
        if len(kept) % _ROWS_IN_A_TURN == 0:
            gevent.sleep(0)
    if not kept:
        raise _FileFault(0, "has no users")
    return UsersOfFile(role, columns, kept, lines, weights)


def _user_problem(value: str) -> str:
    if len(value) > USER_CHARACTERS or _NAME.fullmatch(value) is None:
        return (
            f"must be a name of 1 to {USER_CHARACTERS} letters, digits and _ . @ + - \\, and begin with a letter, digit"
            " or _"
        )
    return ""


def _password_problem(value: str) -> str:
    if len(value) > _LONGEST_PASSWORD:
        return f"is longer than {_LONGEST_PASSWORD:,} characters"
    return "has a control character" if _CONTROL.search(value) else ""


def _length_problem(value: str) -> str:
    return f"is longer than {_LONGEST_FIELD:,} characters" if len(value) > _LONGEST_FIELD else ""


def _totp_problem(value: str) -> str:
    text = value.replace(" ", "").rstrip("=").upper()
    try:
        secret = b32decode(text + "=" * (-len(text) % 8))
    except NotBase32Error:
        return "is not base32 (RFC 4648)"
    return "" if secret and len(value) <= _LONGEST_PASSWORD else "is empty or too long"


def _weight_problem(value: str) -> str:
    try:
        weight = float(value)
    except ValueError:
        weight = 0.0
    return (
        "" if isfinite(weight) and 0 < weight <= _MOST_WEIGHT else f"must be a number above 0, at most {_MOST_WEIGHT:,}"
    )


@lru_cache(maxsize=1024)
def _is_address(value: str) -> bool:
    try:
        return bool(ip_address(value))
    except ValueError:
        return False


def _address_problem(value: str) -> str:
    return "" if _ADDRESS.fullmatch(value) and _is_address(value) else "is not an IP address"


_CHECKS: Final[Mapping[str, Callable[[str], str]]] = {
    USER: _user_problem,
    PASSWORD: _password_problem,
    KEY: _length_problem,
    CERTIFICATE: _length_problem,
    TOTP: _totp_problem,
    WEIGHT: _weight_problem,
    SOURCE_ADDRESS: _address_problem,
}
