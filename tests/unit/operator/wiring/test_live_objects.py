"""What is known of an object at rest, and how many objects are worked on at once."""

import asyncio
from typing import Any

from sshload_operator.control.live_objects import Key, Live, LiveObjects, Next, Rest


def body(version: int, generation: int = 1, name: str = "one") -> dict[str, Any]:
    metadata = {"namespace": "a", "name": name, "uid": "u", "generation": generation}
    return {"metadata": {**metadata, "resourceVersion": str(version)}}


class Writing:
    """Passes that write the object once, and then have nothing more to do."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def first_sight(self, _body: Any) -> None:
        return None

    async def do(self, _key: Key, live: Live[None]) -> Next:
        assert live.body is not None
        self.seen.append(live.body["metadata"]["resourceVersion"])
        live.offer(body(7))
        return Rest()


def passes_over(*versions: int) -> list[str]:
    """Return the versions that passes saw, when the watch told of these one after the other."""

    async def play() -> list[str]:
        passes = Writing()
        live = LiveObjects(passes, lambda: None)
        for version in versions:
            live.object_changed("MODIFIED", body(version))
            await asyncio.sleep(0.2)
        await live.stop()
        return passes.seen

    return asyncio.run(play())


def test_a_watch_that_is_behind_our_own_write_wakes_nothing_that_rests() -> None:
    assert passes_over(3, 5, 6) == ["3"]


def test_what_is_as_new_as_our_own_write_or_newer_is_looked_at() -> None:
    assert passes_over(3, 7, 8) == ["3", "7", "8"]


class Counting:
    """Passes that count how many are under way at most, until so many were done."""

    def __init__(self, until: int) -> None:
        self.most = self._now = 0
        self._left = until
        self.all_done = asyncio.Event()

    def first_sight(self, _body: Any) -> None:
        return None

    async def do(self, _key: Key, _live: Live[None]) -> Next:
        self._now += 1
        self.most = max(self.most, self._now)
        await asyncio.sleep(0.01)
        self._now -= 1
        self._left -= 1
        if not self._left:
            self.all_done.set()
        return Rest()


def test_of_many_objects_each_gets_its_turn_and_few_are_worked_on_at_once() -> None:
    many = 200

    async def play() -> int:
        passes = Counting(until=many)
        live = LiveObjects(passes, lambda: None)
        for number in range(many):
            live.object_changed("ADDED", body(3, name=f"{number}"))
        await passes.all_done.wait()
        await live.stop()
        return passes.most

    assert asyncio.run(play()) < many / 4
