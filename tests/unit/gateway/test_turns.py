import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from sshload_gateway.ssh.floods import Floods, Pace
from sshload_gateway.ssh.turns import ReadInTurns, read_in_turns

_MUCH = 100_000
_OF_A_TURN = 8_192


class _Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.is_paused = False
        self.is_closed = False

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def is_closing(self) -> bool:
        return self.is_closed


class _Connection(asyncio.Protocol):
    """What is used of asyncssh's connections."""

    _transport: asyncio.Transport | None = None
    _recv_seq = 0

    def data_received(self, data: bytes) -> None:
        pass


class _Heard(asyncio.Protocol):
    """Keeps what it is given, with the end as the last of it."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        self.parts.append(data)

    def connection_lost(self, exc: Exception | None) -> None:
        assert exc is None
        self.parts.append(b"end")


def _play(claim: Callable[[ReadInTurns, _Transport, _Heard], Any]) -> None:
    async def play() -> None:
        transport, heard = _Transport(), _Heard()
        await claim(ReadInTurns(heard, transport), transport, heard)

    asyncio.run(play())


def test_much_is_given_in_parts_of_which_each_has_its_turn_and_nothing_is_read_meanwhile() -> None:
    async def claim(reader: ReadInTurns, transport: _Transport, heard: _Heard) -> None:
        data = bytes(range(250)) * (_MUCH // 250)
        reader.data_received(data)
        turns = 1
        while transport.is_paused:
            assert len(heard.parts) <= turns
            await asyncio.sleep(0)
            turns += 1
        assert max(map(len, heard.parts)) == _OF_A_TURN
        assert b"".join(heard.parts) == data

    _play(claim)


def test_little_is_given_at_once() -> None:
    async def claim(reader: ReadInTurns, transport: _Transport, heard: _Heard) -> None:
        reader.data_received(b"little")
        assert (heard.parts, transport.is_paused) == ([b"little"], False)

    _play(claim)


def test_an_end_comes_behind_all_that_came_before() -> None:
    async def claim(reader: ReadInTurns, transport: _Transport, heard: _Heard) -> None:
        reader.data_received(bytes(_MUCH))
        transport.is_closed = True
        reader.connection_lost(None)
        await asyncio.sleep(0)
        assert heard.parts.pop() == b"end"
        assert sum(map(len, heard.parts)) == _MUCH

    _play(claim)


def test_nothing_is_given_any_more_once_the_connection_closes() -> None:
    async def claim(reader: ReadInTurns, transport: _Transport, heard: _Heard) -> None:
        reader.data_received(bytes(_MUCH))
        transport.is_closed = True
        await asyncio.sleep(0)
        given = len(heard.parts)
        await asyncio.sleep(0)
        assert len(heard.parts) == given

    _play(claim)


async def _until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - the transport is played, and tells nobody
        await asyncio.sleep(0)


def test_a_part_is_the_smaller_the_more_packets_the_ones_before_it_had() -> None:
    async def claim(_: ReadInTurns, transport: _Transport, heard: _Heard) -> None:
        reader = ReadInTurns(heard, transport, lambda: sum(map(len, heard.parts)) // 32)
        reader.data_received(bytes(_MUCH))
        await _until(lambda: not transport.is_paused)
        assert sum(map(len, heard.parts)) == _MUCH
        assert max(map(len, heard.parts[5:])) // 32 <= 64

    _play(claim)


def test_parts_have_a_least_size_and_grow_again_once_there_are_few_packets() -> None:
    async def claim(_: ReadInTurns, transport: _Transport, heard: _Heard) -> None:
        reader = ReadInTurns(heard, transport, lambda: 1_000 * min(len(heard.parts), 20))
        reader.data_received(bytes(_MUCH))
        await _until(lambda: not transport.is_paused or len(heard.parts) > _MUCH)
        sizes = [len(part) for part in heard.parts[:-1]]
        assert sizes[10:20] == [512] * 10
        assert max(sizes[20:]) == _OF_A_TURN

    _play(claim)


def test_packets_are_counted_from_0_again_after_a_key_exchange() -> None:
    async def claim(_: ReadInTurns, transport: _Transport, heard: _Heard) -> None:
        taken: list[int] = []

        def pause_s(packets: int) -> float:
            taken.append(packets)
            return 0.0

        numbers = iter((100, 107, 107, 3))
        reader = ReadInTurns(heard, transport, lambda: next(numbers), pause_s)
        reader.data_received(b"before")
        reader.data_received(b"after")
        assert taken == [7, 3]

    _play(claim)


@pytest.mark.parametrize(("unsent_bytes", "is_aborted"), [(16 * 1024 * 1024, False), (16 * 1024 * 1024 + 1, True)])
def test_a_connection_is_closed_on_which_too_much_waits_that_nobody_reads(
    unsent_bytes: int,
    is_aborted: bool,  # noqa: FBT001 - of a table
) -> None:
    class Unread(_Transport):
        def get_write_buffer_size(self) -> int:
            return unsent_bytes

        def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
            self.protocol = protocol

        def abort(self) -> None:
            self.is_closed = True

    async def play() -> None:
        transport, connection = Unread(), _Connection()
        connection._transport = transport
        read_in_turns(connection, Floods(Pace()))  # type: ignore[arg-type]  # what it uses of one
        assert isinstance(transport.protocol, asyncio.Protocol)
        transport.protocol.data_received(b"a packet that is answered")
        assert transport.is_closed is is_aborted

    asyncio.run(play())


def test_nothing_is_read_as_long_as_a_pause_lasts() -> None:
    async def claim(_: ReadInTurns, transport: _Transport, heard: _Heard) -> None:
        pauses = [0.2, 0.0]
        reader = ReadInTurns(heard, transport, pause_s=lambda _: pauses.pop(0))
        reader.data_received(b"little")
        assert (heard.parts, transport.is_paused) == ([b"little"], True)
        await _until(lambda: not transport.is_paused)
        assert pauses == [0.0]

    _play(claim)
