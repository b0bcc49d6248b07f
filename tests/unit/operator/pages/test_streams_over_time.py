"""Streams of events over minutes, of several users: what each is told, when a stream ends, and whom its room goes to.

In virtual time.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any, cast

from aiohttp import web
from sshload_operator.api.kinds import TEST
from sshload_operator.control.pages.index import Index
from sshload_operator.control.pages.streams import LASTS_S, MOST_OF_A_USER, MOST_STREAMS, Streams
from statuses import progress_after
from virtual_time import run_at_once

KEY = ("ns", "one")
REQUEST = cast("web.Request", None)  # an answer that is played does not look at it


class Answer(web.StreamResponse):
    """An answer without a connection. A reader that has `gone` is told by an error."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.gone = False
        self.is_prepared = False

    async def prepare(self, request: web.BaseRequest) -> None:
        del request
        self.is_prepared = True

    async def write(self, data: bytes | bytearray | memoryview) -> None:
        if self.gone:
            raise ConnectionResetError
        self.text += bytes(data).decode()

    def events(self) -> list[tuple[str, Any]]:
        """Return the events so far, each with its data."""
        found = [block for block in self.text.split("\n\n") if block.startswith("event: ")]
        pairs = [block.removeprefix("event: ").split("\ndata: ") for block in found]
        return [(name, json.loads(data)) for name, data in pairs]


def told(index: Index, phase: str, version: int, elapsed_s: float = 0.0, name: str = "one") -> None:
    """Tell the index of a test in this phase."""
    metadata = {"namespace": "ns", "name": name, "uid": f"uid-of-{name}", "resourceVersion": str(version)}
    status = {"phase": phase, "run": 1, **({"progress": progress_after(elapsed_s)} if elapsed_s else {})}
    index.changed(TEST.plural, "MODIFIED", {"metadata": metadata, "spec": {}, "status": status})


def played(claim: Callable[[Index, Streams], Coroutine[Any, Any, None]]) -> None:
    async def play() -> None:
        index = Index()
        told(index, "Running", 1)
        streams = Streams(index)
        await claim(index, streams)
        assert not index._followers
        assert not streams._open

    run_at_once(play())


def sent(streams: Streams, answer: Answer, user: str = "anna", key: tuple[str, str] = KEY) -> "asyncio.Task[None]":
    return asyncio.ensure_future(streams.send(REQUEST, answer, key, user))


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_a_stream_tells_all_points_first_then_the_newest_one_of_each_change_and_then_the_end() -> None:
    async def claim(index: Index, streams: Streams) -> None:
        for second in (1, 2):
            told(index, "Running", 1 + second, float(second))
        answer = Answer()
        following = sent(streams, answer)
        await settle()
        told(index, "Running", 4, 3.0)
        await settle()
        told(index, "Finished", 5)
        await following
        (whole, first), (update, second), (end, last) = answer.events()
        assert [whole, update, end] == ["whole", "update", "end"]
        assert [point[0] for point in first["points"]] == [1.0, 2.0]
        assert (second["point"][0], "points" in second, last) == (3.0, False, {})
        assert (first["standing"]["phase"], first["standing"]["elapsedSeconds"]) == ("Running", 2.0)
        assert answer.is_prepared

    played(claim)


def test_nothing_is_told_of_other_tests() -> None:
    async def claim(index: Index, streams: Streams) -> None:
        answer = Answer()
        following = sent(streams, answer)
        await settle()
        told(index, "Running", 3, 1.0, name="other")
        await settle()
        assert len(answer.events()) == 1
        index.changed(TEST.plural, "DELETED", {"metadata": {"namespace": "ns", "name": "one", "uid": "uid-of-one"}})
        await following
        assert answer.events()[-1] == ("end", {})

    played(claim)


def test_a_stream_in_which_nothing_happens_is_kept_open_by_comments_and_ends_when_it_is_old() -> None:
    async def claim(_index: Index, streams: Streams) -> None:
        began_s, answer = asyncio.get_running_loop().time(), Answer()
        await streams.send(REQUEST, answer, KEY, "anna")
        assert asyncio.get_running_loop().time() - began_s == LASTS_S
        assert answer.text.count(":\n\n") >= LASTS_S / 15 - 1
        assert [name for name, _ in answer.events()] == ["whole"]

    played(claim)


def test_the_stream_of_a_reader_that_is_gone_ends_with_the_next_thing_that_is_written() -> None:
    async def claim(_index: Index, streams: Streams) -> None:
        answer = Answer()
        following = sent(streams, answer)
        await settle()
        answer.gone = True
        await asyncio.sleep(16)
        assert following.done()
        assert following.exception() is None

    played(claim)


def test_streams_that_are_to_end_do_so_before_their_next_event() -> None:
    async def claim(index: Index, streams: Streams) -> None:
        answer = Answer()
        following = sent(streams, answer)
        await settle()
        streams.end()
        told(index, "Running", 3, 1.0)
        await following
        assert [name for name, _ in answer.events()] == ["whole"]

    played(claim)


def test_a_user_with_as_many_streams_as_one_may_have_keeps_no_other_user_out() -> None:
    async def claim(index: Index, streams: Streams) -> None:
        following = [sent(streams, Answer()) for _ in range(MOST_OF_A_USER)]
        await settle()
        assert (streams.are_too_many("anna"), streams.are_too_many("berta")) == (True, False)
        following.append(sent(streams, Answer(), "berta"))
        following[0].cancel()
        await settle()
        assert (streams.are_too_many("anna"), streams.are_too_many("berta")) == (False, False)
        told(index, "Finished", 9)
        await asyncio.wait(following)

    played(claim)


def test_no_more_streams_are_open_than_may_be_whoever_has_them_and_each_that_ends_makes_room() -> None:
    async def claim(index: Index, streams: Streams) -> None:
        users = [f"user {number}" for number in range(MOST_STREAMS // MOST_OF_A_USER)]
        following = [sent(streams, Answer(), user) for user in users for _ in range(MOST_OF_A_USER)]
        await settle()
        assert streams.are_too_many("somebody else")
        following[-1].cancel()
        await settle()
        assert (streams.are_too_many("somebody else"), streams.are_too_many(users[0])) == (False, True)
        told(index, "Finished", 9)
        await asyncio.wait(following)
        assert not any(streams.are_too_many(user) for user in users)

    played(claim)
