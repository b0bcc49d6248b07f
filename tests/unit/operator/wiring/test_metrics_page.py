"""How the page of the operator's metrics is made: one at a time, piece by piece, and for each who asks anew."""

import asyncio
from collections.abc import Iterator

from sshload_operator.control.metrics.server import _Page

PIECES = 1_000


class Rendering:
    """Notes how many pages are being made at once, and how many were begun."""

    def __init__(self) -> None:
        self.at_once = self.most_at_once = self.begun = self.pieces = 0

    def __call__(self) -> Iterator[bytes]:
        self.begun += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        for _ in range(PIECES):
            self.pieces += 1
            yield b"%d" % self.begun
        self.at_once -= 1


def test_who_asks_while_a_page_is_made_gets_the_next_one_which_is_begun_after_it() -> None:
    rendering = Rendering()

    async def play() -> None:
        page = _Page(rendering)
        first = asyncio.create_task(page.pieces())
        while not rendering.pieces:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0)
        late = [asyncio.create_task(page.pieces()) for _ in range(3)]
        assert set(await first) == {b"1"}
        assert [set(pieces) for pieces in await asyncio.gather(*late)] == [{b"2"}] * 3

    asyncio.run(play())
    assert (rendering.begun, rendering.most_at_once) == (2, 1)


def test_all_else_goes_on_between_two_pieces() -> None:
    rendering = Rendering()

    async def play() -> None:
        making = asyncio.create_task(_Page(rendering).pieces())
        seen = set()
        while not making.done():
            seen.add(rendering.pieces)
            await asyncio.sleep(0)
        assert seen >= set(range(1, PIECES))

    asyncio.run(play())


def test_who_goes_takes_the_page_from_nobody_else() -> None:
    async def play() -> None:
        page = _Page(Rendering())
        gone, stays = (asyncio.create_task(page.pieces()) for _ in range(2))
        await asyncio.sleep(0)
        gone.cancel()
        assert len(await stays) == PIECES
        assert gone.cancelled()

    asyncio.run(play())
