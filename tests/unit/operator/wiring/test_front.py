"""What the operator's ports take of a connection: one small request, in time."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator

import pytest
from free_ports import free_port
from socket_floods import unchecked_tls
from sshload_contract.front.admission import Limits
from sshload_contract.front.heads import HEAD_BYTES, MOST_FIELDS
from sshload_operator.control.metrics.bearer_check import BearerCheck
from sshload_operator.control.metrics.server import Guard, MetricsServer
from sshload_operator.control.metrics.serving_certificate import ServingCertificate

WITHIN_S = 300.0
SHORT = Limits(connections=16, per_address=16, head_s=0.5, answer_s=0.5)
LONG = Limits(connections=4, per_address=4)
GET = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"
LARGE = 20_000_000  # more than the sockets of both ends hold
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[[], Awaitable[Stream]]


def pages(size: int = 10) -> Callable[[], Iterator[bytes]]:
    return lambda: iter([b"x" * size])


def served(
    talk: Callable[[Connect], Awaitable[None]], limits: Limits, size: int = 10, guard: Guard | None = None
) -> None:
    """Talk with the metrics' port, on plain connections."""

    async def serve() -> None:
        port = free_port()
        server = MetricsServer(port, pages(size), limits)
        await server.start(guard)
        try:
            async with asyncio.timeout(WITHIN_S):
                await talk(lambda: asyncio.open_connection("127.0.0.1", port))
        finally:
            await server.stop()

    asyncio.run(serve())


async def rest(reader: asyncio.StreamReader) -> bytes:
    """Return all that the server sends until it closes the connection."""
    content = b""
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(1_000_000):
            content += data
    return content


@pytest.mark.parametrize("begun", [b"", GET[:-2], b"POST /metrics HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf"])
def test_a_request_that_is_not_whole_in_time_ends_the_connection(begun: bytes) -> None:
    async def talk(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(begun)
        assert b"200 OK" not in await rest(reader)

    served(talk, SHORT)


def test_a_tls_handshake_that_is_not_whole_in_time_ends_the_connection() -> None:
    guard = Guard(BearerCheck(Nobody()), ServingCertificate(None))

    async def talk(connect: Connect) -> None:
        for begun in (b"", b"\x16\x03\x01\x02\x00\x01"):
            reader, writer = await connect()
            writer.write(begun)
            assert await rest(reader) == b""

    served(talk, SHORT, guard=guard)


class Nobody:
    """An API server that is not asked."""

    async def user_of(self, token: str) -> None:
        raise AssertionError(token)

    async def may(self, *asked: object) -> bool:
        raise AssertionError(asked)


def test_who_does_not_take_the_answer_in_time_does_not_get_it() -> None:
    async def talk(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(GET)
        await asyncio.sleep(2.0)  # longer than the limit
        assert len(await rest(reader)) < LARGE

    served(talk, SHORT, LARGE)


def test_a_connection_is_for_one_request() -> None:
    async def talk(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(GET * 100)
        answers = await rest(reader)
        assert (answers.count(b"HTTP/1.1"), b"Connection: close" in answers) == (1, True)

    served(talk, LONG)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"X: " + b"x" * HEAD_BYTES, 431),
        (b"x:\r\n" * MOST_FIELDS * 2, 431),
        (b"Transfer-Encoding: chunked\r\n", 411),
        (b"Content-Length: 100000000\r\n", 413),
        (b"Content-Length: 1\r\nContent-Length: 2\r\n", 400),
    ],
)
def test_a_request_that_is_too_much_is_refused(head: bytes, status: int) -> None:
    async def talk(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(b"POST /metrics HTTP/1.1\r\nHost: a\r\n" + head + b"\r\n")
        assert (await reader.readline()).split()[1] == str(status).encode()

    served(talk, LONG)


def test_a_newcomer_takes_the_place_of_who_has_waited_longest() -> None:
    async def talk(connect: Connect) -> None:
        held = [await connect() for _ in range(LONG.per_address)]
        reader, writer = await connect()
        writer.write(GET)
        assert b"200 OK" in await rest(reader)
        assert await rest(held[0][0]) == b""
        held[1][1].write(GET)
        assert b"200 OK" in await rest(held[1][0])

    served(talk, LONG)


def test_a_handshake_that_fails_and_one_after_it_leave_all_room() -> None:
    guard = Guard(BearerCheck(Nobody()), ServingCertificate(None))

    async def talk(connect: Connect) -> None:
        for _ in range(3 * LONG.connections):
            reader, writer = await connect()
            writer.write(GET)  # no TLS
            await rest(reader)
        streams = [await connect() for _ in range(LONG.connections)]
        for _, writer in streams:
            await writer.start_tls(unchecked_tls())
        streams[0][1].write(GET)
        assert b"401" in await rest(streams[0][0])

    served(talk, LONG, guard=guard)
