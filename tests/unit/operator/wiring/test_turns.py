"""Turns: who asks for many of them delays only itself."""

import asyncio
from contextlib import suppress
from types import SimpleNamespace

import pytest
from sshload_operator.control import turns as module
from sshload_operator.control.turns import SharedRoom, Turns
from until import until
from virtual_time import run_at_once


def test_a_party_of_one_waits_for_one_turn_of_each_other_party_only() -> None:
    order: list[str] = []

    async def play() -> None:
        turns = Turns(1)

        async def have(party: str) -> None:
            async with turns.turn(party):
                order.append(party)
                await asyncio.sleep(0)

        many = [asyncio.create_task(have("many")) for _ in range(50)]
        await asyncio.sleep(0)
        await have("one")
        await asyncio.gather(*many)
        assert turns.waiting("many") == turns.waiting("one") == 0

    asyncio.run(play())
    assert order.index("one") <= 2


def test_a_party_that_rests_keeps_nobody_else() -> None:
    async def play() -> None:
        turns = Turns(1, rest_s=3_600)
        async with turns.turn("many"):
            pass
        waiting = asyncio.create_task(turns.turn("many").__aenter__())
        async with turns.turn("one"):
            assert turns.waiting("many") == 1
        waiting.cancel()
        await asyncio.wait([waiting])
        assert turns.waiting("many") == 0

    asyncio.run(play())


def test_a_party_that_waits_is_not_forgotten_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LINES_KEPT", 0)

    async def play() -> None:
        turns = Turns(2)
        async with turns.turn("many"), turns.turn("one"):
            assert turns.waiting("many") == 1

    asyncio.run(play())


def test_parties_that_are_gone_are_forgotten() -> None:
    async def play() -> None:
        turns = Turns(1)
        for number in range(3 * module._LINES_KEPT):
            async with turns.turn(number):
                pass
        assert len(turns._lines) <= module._LINES_KEPT

    asyncio.run(play())


def test_a_room_goes_from_party_to_party_and_within_each_in_order() -> None:
    order: list[str] = []

    async def play() -> None:
        room = SharedRoom(2)

        async def enter(name: str) -> None:
            async with room.place(name[0]):
                order.append(name)
                await asyncio.sleep(0)

        await asyncio.gather(*map(enter, ("a1", "a2", "a3", "a4", "a5", "b1", "b2", "c1")))
        assert not room.is_full

    asyncio.run(play())
    assert order == ["a1", "a2", "a3", "b1", "c1", "a4", "b2", "a5"]


@pytest.mark.parametrize("is_given", [True, False], ids=["given", "not given"])
def test_a_place_that_nobody_takes_any_more_is_the_next_ones(*, is_given: bool) -> None:
    async def play() -> None:
        room = SharedRoom(1)
        places = [room.place(party) for party in ("gone", "left")]
        async with room.place("first"):
            gone, left = (asyncio.create_task(place.__aenter__()) for place in places)
            await asyncio.sleep(0)
            if not is_given:
                gone.cancel()
        gone.cancel()
        await until(lambda: gone.done() and left.done())
        assert gone.cancelled()
        assert room.is_full
        await places[1].__aexit__(None, None, None)
        assert not room.is_full

    asyncio.run(play())


def test_nothing_is_kept_of_parties_that_are_gone() -> None:
    async def play() -> None:
        room = SharedRoom(1)
        async with room.place("first"):
            waiting = [asyncio.create_task(room.place(number).__aenter__()) for number in range(100)]
            await asyncio.sleep(0)
            for one in waiting:
                one.cancel()
            await asyncio.wait(waiting)
        assert not room.is_full
        assert not room._lines

    asyncio.run(play())


def test_a_party_rests_after_its_turn_and_not_before_its_first_however_that_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def play() -> list[float]:
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=loop.time))
        turns, at_s = Turns(1, rest_s=60), []
        for _ in range(3):
            with suppress(ValueError):
                async with turns.turn("many"):
                    at_s.append(loop.time() - 1_000)
                    raise ValueError
        async with turns.turn("one"):
            at_s.append(loop.time() - 1_000)
        return at_s

    assert run_at_once(play()) == [0, 60, 120, 120]


def test_nobody_waits_of_a_party_that_never_came() -> None:
    assert Turns(1).waiting("nobody") == 0


def test_a_party_that_still_rests_is_not_forgotten_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> float:
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=loop.time))
        monkeypatch.setattr(module, "_LINES_KEPT", 1)
        turns = Turns(1, rest_s=60)
        for party in ("many", "one", "many"):
            async with turns.turn(party):
                last_s = loop.time() - 1_000
        await asyncio.sleep(60)
        async with turns.turn("another"):
            assert list(turns._lines) == ["another"]
        return last_s

    assert run_at_once(play()) == 60


def test_a_room_has_as_many_places_after_a_wait_as_before() -> None:
    async def play() -> None:
        room = SharedRoom(2)
        for _ in range(3):
            async with room.place("a"):
                assert not room.is_full
                async with room.place("b"):
                    assert room.is_full
                    waiting = asyncio.ensure_future(room.place("c").__aenter__())
                    await asyncio.sleep(0)
                    waiting.cancel()
                    await asyncio.wait([waiting])
                assert not room.is_full
            assert room._free == 2

    asyncio.run(play())
