"""The head of an HTTP/1.1 request: bounded, and read strictly, so that no other reader finds another request in it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

HEAD_BYTES: Final = 16_384
"""A bearer token may have 8 kB."""
MOST_FIELDS: Final = 64
_END: Final = b"\r\n\r\n"
_REQUEST: Final = re.compile(rb"([A-Z]{1,16}) ([!-~]{1,4096}) HTTP/1\.[01]")
_FIELD: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}):[ \t]*([\t -~\x80-\xff]*)")
_LENGTH: Final = re.compile(rb"[0-9]{1,12}")


class HeadError(Exception):
    """What came is no head of a request that may be answered. `status` is that of the answer."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


@dataclass(frozen=True, slots=True)
class Head:
    """The head of one request; names of fields are in lower case."""

    line: bytes
    method: str
    path: str
    fields: Sequence[tuple[bytes, bytes]]

    def body_bytes(self) -> int:
        """Return how long the body is; raises HeadError where that is not told once, and beforehand."""
        names = [name for name, _ in self.fields]
        lengths = [value for name, value in self.fields if name == b"content-length"]
        if b"transfer-encoding" in names:
            raise HeadError(HTTPStatus.LENGTH_REQUIRED)
        if len(lengths) > 1 or not all(_LENGTH.fullmatch(length) for length in lengths):
            raise HeadError(HTTPStatus.BAD_REQUEST)
        return int(lengths[0]) if lengths else 0


class HeadReader:
    """Collects the bytes of a connection until they are a head."""

    def __init__(self) -> None:
        self._collected = bytearray()
        self.rest = b""

    def feed(self, data: bytes) -> Head | None:
        """Return the head if it is whole, and leave in `rest` what came after it; None before. Raises HeadError."""
        # The end of the head may be split between two pieces.
        begin = max(0, len(self._collected) - len(_END) + 1)
        self._collected += data
        end = self._collected.find(_END, begin)
        if len(self._collected) > HEAD_BYTES and not 0 <= end <= HEAD_BYTES:
            raise HeadError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        if end < 0:
            return None
        self.rest = bytes(self._collected[end + len(_END) :])
        head = bytes(self._collected[:end])
        self._collected.clear()
        return _read(head)


def refusal(error: HeadError) -> bytes:
    """Return the answer to what is no request, after which the connection is closed."""
    status = error.status
    return f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()


def _read(head: bytes) -> Head:
    if head.count(b"\r\n") > MOST_FIELDS:
        raise HeadError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
    first, *lines = head.split(b"\r\n")
    request, fields = _REQUEST.fullmatch(first), [_FIELD.fullmatch(line) for line in lines]
    if request is None or None in fields:
        raise HeadError(HTTPStatus.BAD_REQUEST)
    named = [(field[1].lower(), field[2].rstrip(b" \t")) for field in fields if field is not None]
    path, _, _ = request[2].decode("ascii").partition("?")
    return Head(first, request[1].decode("ascii"), path, named)
