"""Heads of HTTP requests: what is one, what is refused, and how little of one is held."""

from http import HTTPStatus

import pytest
from sshload_contract.front.heads import HEAD_BYTES, MOST_FIELDS, Head, HeadError, HeadReader

GET = b"GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n"


def status_of(data: bytes) -> HTTPStatus | None:
    """Return how a head is refused, None for one that is not, or not yet whole."""
    try:
        head = HeadReader().feed(data)
        if head is not None:
            head.body_bytes()
    except HeadError as error:
        return error.status
    return None


def test_a_head_is_the_same_however_it_arrives() -> None:
    whole = HeadReader().feed(GET)
    assert whole == Head(b"GET /metrics?x=1 HTTP/1.1", "GET", "/metrics", [(b"host", b"a"), (b"accept", b"*/*")])
    reader = HeadReader()
    pieces = [reader.feed(GET[at : at + 1]) for at in range(len(GET))]
    assert pieces == [None] * (len(GET) - 1) + [whole]


def test_what_comes_after_a_head_is_left() -> None:
    reader = HeadReader()
    reader.feed(GET + b"more")
    assert reader.rest == b"more"


def test_a_head_may_have_a_token_of_8_kb_and_no_more_than_its_limit() -> None:
    head = b"GET / HTTP/1.1\r\nAuthorization: Bearer " + b"x" * 8_000 + b"\r\n"
    assert status_of(head + b"\r\n") is None
    assert status_of(head + b"Other: " + b"y" * HEAD_BYTES) is HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
    assert status_of(head + b"Other: " + b"y" * HEAD_BYTES + b"\r\n\r\n") is HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
    assert status_of(b"x" * (HEAD_BYTES + 1)) is HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE


def test_a_head_has_a_limited_number_of_fields() -> None:
    def head(fields: int) -> bytes:
        return b"GET / HTTP/1.1\r\n" + b"a:\r\n" * fields + b"\r\n"

    assert status_of(head(MOST_FIELDS)) is None
    assert status_of(head(MOST_FIELDS + 1)) is HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\r\n\r\n",
        b"get / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/2.0\r\n\r\n",
        b"GET  / HTTP/1.1\r\n\r\n",
        b"GET /a b HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nA : b\r\n\r\n",
        b"GET / HTTP/1.1\r\n A: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: b\nB: c\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: b\rB: c\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: \x00\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length:\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 9999999999999\r\n\r\n",
    ],
)
def test_what_another_reader_could_read_otherwise_is_refused(data: bytes) -> None:
    assert status_of(data) is HTTPStatus.BAD_REQUEST


def test_a_body_whose_length_is_not_told_is_refused() -> None:
    assert status_of(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n") is HTTPStatus.LENGTH_REQUIRED
