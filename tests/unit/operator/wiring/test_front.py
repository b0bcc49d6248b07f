"""What the operator's ports take of a connection: one small request, in time."""

import asyncio
import contextlib
import itertools
import time
from collections.abc import Awaitable, Callable, Iterator

import pytest
from aiohttp import web
from free_ports import free_port
from socket_floods import unchecked_tls
from sshload_contract.front.admission import Limits
from sshload_contract.front.heads import HEAD_BYTES, MOST_FIELDS
from sshload_operator.control.front import Front
from sshload_operator.control.metrics.bearer_check import BearerCheck
from sshload_operator.control.metrics.server import Guard, MetricsServer
from sshload_operator.control.metrics.serving_certificate import ServingCertificate
from sshload_operator.control.turns import Turns
from sshload_target.sshd.network import open_peers
from until import until

WITHIN_S = 300.0
SHORT = Limits(connections=16, per_address=16, head_s=0.5, answer_s=0.5)
LONG = Limits(connections=4, per_address=4)
GET = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"
LARGE = 20_000_000  # more than the sockets of both ends hold
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[[], Awaitable[Stream]]


def small() -> Iterator[bytes]:
    return iter([b"x" * 10])


def large() -> Iterator[bytes]:
    return iter([b"x" * LARGE])


def served(
    talk: Callable[[Connect], Awaitable[None]],
    limits: Limits,
    render: Callable[[], Iterator[bytes]] = small,
    guard: Guard | None = None,
) -> None:
    """Talk with the metrics' port, on plain connections."""

    async def serve() -> None:
        port = free_port()
        server = MetricsServer(port, render, limits)
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
        port = writer.get_extra_info("peername")[1]
        await until(lambda: not open_peers(port))
        assert len(await rest(reader)) < LARGE

    served(talk, SHORT, large)


@pytest.mark.slow
def test_no_answer_is_older_than_its_request_however_long_a_page_takes() -> None:
    finished = 0

    def counts() -> Iterator[bytes]:
        now = str(finished).encode()
        compute(0.05)
        yield now

    async def talk(connect: Connect) -> None:
        nonlocal finished
        for finished in range(5):
            reader, writer = await connect()
            writer.write(GET)
            assert (await rest(reader)).endswith(b"\r\n%d\r\n0\r\n\r\n" % finished)

    served(talk, LONG, counts)


def compute(cpu_s: float) -> None:
    until_s = time.thread_time() + cpu_s
    while time.thread_time() < until_s:
        pass


@pytest.mark.slow
def test_a_page_is_made_once_for_all_who_wait_for_it_and_for_a_tenth_of_the_time_though_each_of_them_goes() -> None:
    made_s: list[float] = []

    def slow() -> Iterator[bytes]:
        made_s.append(time.monotonic())
        for _ in range(5):
            compute(0.01)
            yield b"piece"

    async def talk(connect: Connect) -> None:
        while len(made_s) < 4:
            for writer in [(await connect())[1] for _ in range(4)]:
                writer.write(GET)
                await writer.drain()
                await asyncio.sleep(0.01)
                writer.transport.abort()
        reader, writer = await connect()
        writer.write(GET)
        assert b"200 OK" in await rest(reader)

    served(talk, LONG, slow)
    assert all(later - earlier >= 0.45 for earlier, later in itertools.pairwise(made_s))


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


def fronted(
    talk: Callable[[Front, Connect], Awaitable[None]],
    limits: Limits,
    handler: Callable[[web.Request, Front], Awaitable[web.StreamResponse]] | None = None,
    *,
    by_tls: bool = False,
) -> None:
    """Talk with a front before an application that answers a GET by the handler."""

    async def serve() -> None:
        port = free_port()
        front = Front(port, limits)

        async def page(request: web.Request) -> web.StreamResponse:
            assert handler is not None
            return await handler(request, front)

        app = web.Application()
        app.add_routes([web.get("/metrics", page)])
        await front.start(app, ServingCertificate(None) if by_tls else None)
        try:
            async with asyncio.timeout(WITHIN_S):
                await talk(front, lambda: asyncio.open_connection("127.0.0.1", port))
        finally:
            await front.stop()

    asyncio.run(serve())


def test_nobody_goes_for_a_newcomer_who_is_being_served() -> None:
    is_served, may_end = asyncio.Event(), asyncio.Event()

    async def handler(request: web.Request, front: Front) -> web.StreamResponse:
        with front.serving(request.transport):
            is_served.set()
            await may_end.wait()
            return web.Response(text="answer")

    async def talk(_: Front, connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(GET)
        await is_served.wait()
        waiting = [await connect() for _ in range(LONG.per_address)]
        assert await rest(waiting[0][0]) == b""
        may_end.set()
        assert b"answer" in await rest(reader)

    fronted(talk, LONG, handler)


def test_who_has_been_served_and_does_not_take_the_answer_goes_for_a_newcomer() -> None:
    async def handler(request: web.Request, front: Front) -> web.StreamResponse:
        with front.serving(request.transport):
            return web.Response(body=b"x" * (LARGE if "large" in request.query else 10))

    async def talk(_: Front, connect: Connect) -> None:
        taking = [await connect() for _ in range(LONG.per_address)]
        for reader, writer in taking:
            writer.write(GET.replace(b" HTTP", b"?large HTTP"))
            await reader.readuntil(b"200 OK")
        reader, writer = await connect()
        writer.write(GET)
        assert b"200 OK" in await rest(reader)

    fronted(talk, LONG, handler)


def test_who_sends_on_and_on_behind_a_request_is_closed_though_it_is_being_served() -> None:
    async def handler(request: web.Request, front: Front) -> web.StreamResponse:
        with front.serving(request.transport, 2 * WITHIN_S):
            await asyncio.sleep(2 * WITHIN_S)
            return web.Response()

    async def talk(_: Front, connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(GET + bytes(100_000))
        assert await rest(reader) == b""

    fronted(talk, LONG, handler)


def test_nothing_is_kept_of_handshakes_that_failed() -> None:
    async def talk(front: Front, connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(GET)  # no TLS
        await rest(reader)
        while front._connections:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.01)

    fronted(talk, LONG, by_tls=True)


@pytest.mark.slow
def test_an_address_that_has_shaken_hands_rests_and_no_other_one() -> None:
    async def talk(front: Front, connect: Connect) -> None:
        front.handshakes = Turns(1, rest_s=2 * WITHIN_S)
        _, first = await connect()
        await first.start_tls(unchecked_tls())
        _, again = await connect()
        resting = asyncio.create_task(again.start_tls(unchecked_tls()))
        _, other = await asyncio.open_connection(*first.get_extra_info("peername"), local_addr=("127.0.0.2", 0))
        await other.start_tls(unchecked_tls())
        assert not resting.done()
        resting.cancel()

    fronted(talk, LONG, by_tls=True)


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


@pytest.mark.slow
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


def test_a_port_whose_server_was_stopped_takes_no_connection_any_more() -> None:
    async def play() -> None:
        port = free_port()
        server = MetricsServer(port, small, LONG)
        await server.start(None)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await server.stop()
        assert await rest(reader) == b""
        writer.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)

    asyncio.run(play())
