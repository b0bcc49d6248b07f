"""Turns: who asks for many of them delays only itself."""

import asyncio

import pytest
from sshload_operator.control import turns as module
from sshload_operator.control.turns import Turns


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
