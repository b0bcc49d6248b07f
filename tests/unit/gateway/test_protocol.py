"""How long a client of the gateway may take for a head, a body and the next request, over real sockets."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus

import pytest
import uvicorn
from free_ports import free_port
from sshload_contract.front.admission import Limits
from sshload_contract.front.heads import HEAD_BYTES
from sshload_gateway.api.protocol import limited
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

WITHIN_S = 300.0
PATIENCE_S = 60.0
TRIES = 300
LARGE_BYTES = 32 * 1_024 * 1_024  # more than the sockets' buffers take
SHORT = Limits(connections=8, per_address=4, head_s=1.0, answer_s=1.0)
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _parts() -> AsyncIterator[bytes]:
    yield bytes(LARGE_BYTES)
    await asyncio.sleep(WITHIN_S)


async def _echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = await Request(scope, receive).body()
    answer: Response = PlainTextResponse(bytes(LARGE_BYTES) if scope["path"] == "/large" else body or b"none")
    if scope["path"] == "/held":
        await asyncio.sleep(WITHIN_S)
    if scope["path"] == "/parts":
        answer = StreamingResponse(_parts())
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


def get(path: bytes) -> bytes:
    """Return a request for a path."""
    return GET.replace(b"/", path, 1)


async def is_closed(reader: asyncio.StreamReader) -> bool:
    """Wait until the server has closed a connection; return False if it answers, or does neither."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            return not await reader.read(1)
    except ConnectionError:
        return True
    except TimeoutError:
        return False


async def is_answered(connect: Callable[[], Awaitable[Stream]]) -> bool:
    """Tell whether a newcomer is answered, and leave."""
    reader, writer = await connect()
    writer.write(GET)
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        await reader.readuntil(b"none")
        writer.close()
        return True
    return False


async def comes_to_be_answered(connect: Callable[[], Awaitable[Stream]], *, answered: bool) -> bool:
    """Let newcomers ask until one is answered, or until one is not; return whether it came to that."""
    for _ in range(TRIES):
        if await is_answered(connect) is answered:
            return True
        await asyncio.sleep(0.01)
    return False


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
        writer.write(get(b"/slow"))
        assert (await reader.readuntil(b"none")).startswith(b"HTTP/1.1 200")

    served(talk)


def test_an_answer_that_is_not_taken_in_time_is_cut_off() -> None:
    async def talk(connect: Callable[[], Awaitable[Stream]]) -> None:
        reader, writer = await connect()
        writer.write(get(b"/large"))
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(3 * SHORT.answer_s)
        with contextlib.suppress(ConnectionError):
            assert len(await reader.read()) < LARGE_BYTES

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
        held[0][1].write(get(b"/slow"))
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
            writer.write(get(b"/slow") + more)
        await asyncio.sleep(0.1)
        newcomer, writer = await connect()
        writer.write(GET)
        assert (await newcomer.readuntil(b"none")).startswith(b"HTTP/1.1 200")

    served(talk, Limits(connections=8, per_address=4), keeps_served=keeps_served)


def test_requests_without_end_before_the_first_answer_end_the_connection() -> None:
    async def talk(connect: Callable[[], Awaitable[Stream]]) -> None:
        reader, writer = await connect()
        writer.write(get(b"/slow") + GET * 2_000)
        assert await is_closed(reader)

    served(talk)


LIMITS = Limits(connections=8, per_address=4)
HELD = get(b"/held")


def test_who_leaves_before_the_answer_leaves_room() -> None:
    async def talk(connect: Callable[[], Awaitable[Stream]]) -> None:
        held = [await connect() for _ in range(LIMITS.per_address)]
        for _, writer in held:
            writer.write(HELD)
        assert await comes_to_be_answered(connect, answered=False)
        for _, writer in held:
            writer.close()
        assert await comes_to_be_answered(connect, answered=True)

    served(talk, LIMITS)


def test_a_request_that_was_sent_ahead_keeps_its_place_once_it_is_the_last() -> None:
    async def talk(connect: Callable[[], Awaitable[Stream]]) -> None:
        held = [await connect() for _ in range(LIMITS.per_address)]
        for reader, writer in held:
            writer.write(GET + HELD)
            await reader.readuntil(b"none")
        assert await comes_to_be_answered(connect, answered=False)

    served(talk, LIMITS)


@pytest.mark.slow
def test_who_sends_ahead_keeps_no_place_by_taking_a_part_of_the_answer() -> None:
    async def talk(connect: Callable[[], Awaitable[Stream]]) -> None:
        reader, writer = await connect()
        writer.write(get(b"/parts") + GET)
        await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(LARGE_BYTES)
        assert await comes_to_be_answered(connect, answered=True)

    served(talk, Limits(connections=8, per_address=1))
