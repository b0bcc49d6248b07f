import asyncio
from collections.abc import Callable
from typing import Any

from sshload_contract.front.admission import Limits
from sshload_gateway.api.protocol import API, HttpProtocol, limited
from sshload_gateway.gathering import GatheringTransport
from starlette.responses import PlainTextResponse
from uvicorn import Config
from uvicorn.server import ServerState


class _Wire(asyncio.Transport):
    """Keeps what is written, as it is written."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.is_closed = False

    def write(self, data: Any) -> None:
        self.writes.append(bytes(data))

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed

    def resume_reading(self) -> None:
        """Go on."""

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Tell of all that is not sent yet."""
        assert (high, low) == (0, None)


async def _nobody(scope: Any, receive: Any, send: Any) -> None:
    raise AssertionError((scope, receive, send))


def _protocol(app: Any, wire: _Wire, limits: Limits = API) -> HttpProtocol:
    """Return a connection of a client, whose requests go to an app."""
    config = Config(app, log_config=None, lifespan="off")
    config.load()
    protocol = limited(limits, keeps_served=True)(config, ServerState(), {})
    protocol.connection_made(wire)
    return protocol


def _after_a_turn(write: Callable[[GatheringTransport], None]) -> tuple[list[bytes], _Wire]:
    """Return what was sent at once, and the wire after a turn of the event loop."""

    async def turn() -> tuple[list[bytes], _Wire]:
        wire = _Wire()
        write(GatheringTransport(wire))
        at_once = list(wire.writes)
        await asyncio.sleep(0)
        return at_once, wire

    return asyncio.run(turn())


def test_what_is_written_in_a_turn_is_sent_once_at_its_end() -> None:
    def write(transport: GatheringTransport) -> None:
        for piece in (b"one ", bytearray(b"two "), memoryview(b"three")):
            transport.write(piece)

    at_once, wire = _after_a_turn(write)
    assert (at_once, wire.writes) == ([], [b"one two three"])


def test_much_is_sent_at_once() -> None:
    much = bytes(65_536)

    def write(transport: GatheringTransport) -> None:
        transport.write(b"little")
        transport.write(much)
        assert transport.get_write_buffer_size() == 0
        transport.write(b"little")

    at_once, wire = _after_a_turn(write)
    assert (at_once, wire.writes) == ([b"little" + much], [b"little" + much, b"little"])


def test_what_is_written_before_a_close_is_sent() -> None:
    def write(transport: GatheringTransport) -> None:
        transport.write(b"goodbye")
        transport.close()

    at_once, wire = _after_a_turn(write)
    assert (at_once, wire.writes, wire.is_closed) == ([b"goodbye"], [b"goodbye"], True)


def test_what_is_written_before_an_abort_is_lost() -> None:
    def write(transport: GatheringTransport) -> None:
        transport.write(b"goodbye")
        transport.abort()

    _, wire = _after_a_turn(write)
    assert (wire.writes, wire.is_closed) == ([], True)


def test_what_is_written_in_the_turn_in_which_the_connection_ends_is_lost() -> None:
    def write(transport: GatheringTransport) -> None:
        transport.write(b"too late")
        transport._inner.close()

    _, wire = _after_a_turn(write)
    assert (wire.writes, wire.is_closed) == ([], True)


def test_a_client_that_takes_no_answer_is_given_up_in_time() -> None:
    async def claim(*, takes: bool) -> bool:
        wire = _Wire()
        protocol = _protocol(_nobody, wire, Limits(1, 1, answer_s=0))
        protocol.pause_writing()
        if takes:
            protocol.resume_writing()
        await asyncio.sleep(0.01)
        return wire.is_closed

    assert asyncio.run(claim(takes=False))
    assert not asyncio.run(claim(takes=True))


def test_an_answer_is_sent_at_once_in_one_write() -> None:
    sent: list[list[bytes]] = []

    async def answer() -> None:
        wire = _Wire()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await PlainTextResponse("the body")(scope, receive, send)
            sent.append(list(wire.writes))

        protocol = _protocol(app, wire)
        protocol.data_received(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        await asyncio.gather(*protocol.tasks)
        protocol.connection_lost(None)

    asyncio.run(answer())
    ((whole,),) = sent
    assert whole.startswith(b"HTTP/1.1 200 OK\r\n")
    assert whole.endswith(b"\r\n\r\nthe body")
