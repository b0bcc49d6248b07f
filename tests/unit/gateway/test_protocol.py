"""How long a client of the gateway may take for a head, a body and the next request, over real sockets."""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable
from http import HTTPStatus

import pytest
import uvicorn
from free_ports import free_port
from sshload_contract.front.admission import Limits
from sshload_contract.front.heads import HEAD_BYTES
from sshload_gateway.api.protocol import limited
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

WITHIN_S = 300.0
SHORT = Limits(connections=8, per_address=4, head_s=1.0, answer_s=1.0)
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = await Request(scope, receive).body()
    answer: Response = PlainTextResponse(body or b"none")
    if scope["path"] == "/slow":
        await asyncio.sleep(2.0)  # longer than what a client may take
    await answer(scope, receive, send)


def served(
    talk: Callable[[Callable[[], Awaitable[Stream]]], Awaitable[None]],
    limits: Limits = SHORT,
    *,
    keeps_served: bool = True,
) -> None:
    """Talk with a server of these limits."""

    async def serve() -> None:
        port = free_port()
        listening = socket.create_server(("127.0.0.1", port))
        config = uvicorn.Config(
            _echo,
            http=limited(limits, keeps_served=keeps_served),
            ws="none",
            log_config=None,
            lifespan="off",
            h11_max_incomplete_event_size=HEAD_BYTES,
        )
        server = uvicorn.Server(config)
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        serving = asyncio.create_task(server.serve([listening]))
        async with asyncio.timeout(WITHIN_S):
            await talk(lambda: asyncio.open_connection("127.0.0.1", port))
        server.should_exit = server.force_exit = True
        await serving

    asyncio.run(serve())


async def is_closed(reader: asyncio.StreamReader) -> bool:
    """Wait until the server has closed a connection; return False if it answers."""
    with contextlib.suppress(ConnectionError):
        return not await reader.read(1)
    return True


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: a\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf",
    ],
)
def test_a_request_that_is_not_whole_in_time_ends_the_connection(begun: bytes) -> None:
    async def talk(connect: Callable[[], Awaitable[Stream]]) -> None:
        reader, writer = await connect()
        writer.write(begun)
        assert await is_closed(reader)

    served(talk)


def test_a_second_head_has_as_long_as_the_first_one_and_a_pause_between_them_is_none() -> None:
    async def talk(connect: Callable[[], Awaitable[Stream]]) -> None:
        reader, writer = await connect()
        for _ in range(2):
            writer.write(GET)
            assert (await reader.readuntil(b"none")).startswith(b"HTTP/1.1 200")
            await asyncio.sleep(2 * SHORT.head_s)
        writer.write(GET[:10])
        assert await is_closed(reader)

    served(talk)


def test_an_answer_may_take_longer_than_a_client() -> None:
    async def talk(connect: Callable[[], Awaitable[Stream]]) -> None:
        reader, writer = await connect()
        writer.write(GET.replace(b"/", b"/slow", 1))
        assert (await reader.readuntil(b"none")).startswith(b"HTTP/1.1 200")

    served(talk)


def test_heads_are_small() -> None:
    async def talk(connect: Callable[[], Awaitable[Stream]]) -> None:
        reader, writer = await connect()
        writer.write(b"GET / HTTP/1.1\r\nX: " + b"x" * 3 * HEAD_BYTES)
        status = HTTPStatus.BAD_REQUEST
        with contextlib.suppress(ConnectionError):
            assert (await reader.read(12)) in {b"", f"HTTP/1.1 {status.value}".encode()}

    served(talk)


def test_a_newcomer_takes_the_place_of_who_has_waited_longest_at_its_address() -> None:
    limits = Limits(connections=8, per_address=4)

    async def talk(connect: Callable[[], Awaitable[Stream]]) -> None:
        held = [await connect() for _ in range(4)]
        held[0][1].write(GET.replace(b"/", b"/slow", 1))
        newcomer, writer = await connect()
        writer.write(GET)
        assert (await newcomer.readuntil(b"none")).startswith(b"HTTP/1.1 200")
        closed = [asyncio.create_task(is_closed(reader)) for reader, _ in held[1:]]
        await asyncio.wait(closed, return_when=asyncio.FIRST_COMPLETED)
        assert [one.done() for one in closed] == [True, False, False]
        assert (await held[0][0].readuntil(b"none")).startswith(b"HTTP/1.1 200")
        for one in closed:
            one.cancel()

    served(talk, limits)


@pytest.mark.parametrize(
    ("more", "keeps_served"),
    [pytest.param(GET, True, id="pipelined"), pytest.param(b"", False, id="a port that keeps none")],
)
def test_who_has_all_connections_answered_slowly_shuts_nobody_out(more: bytes, keeps_served: bool) -> None:  # noqa: FBT001
    async def talk(connect: Callable[[], Awaitable[Stream]]) -> None:
        held = [await connect() for _ in range(4)]
        for _, writer in held:
            writer.write(GET.replace(b"/", b"/slow", 1) + more)
        await asyncio.sleep(0.1)
        newcomer, writer = await connect()
        writer.write(GET)
        assert (await newcomer.readuntil(b"none")).startswith(b"HTTP/1.1 200")

    served(talk, Limits(connections=8, per_address=4), keeps_served=keeps_served)


def test_requests_without_end_before_the_first_answer_end_the_connection() -> None:
    async def talk(connect: Callable[[], Awaitable[Stream]]) -> None:
        reader, writer = await connect()
        writer.write(GET.replace(b"/", b"/slow", 1) + GET * 2_000)
        assert await is_closed(reader)

    served(talk)
