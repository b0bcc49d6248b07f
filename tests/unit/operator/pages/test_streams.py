"""Streams of events: nobody waits for a reader that does not read, and its stream ends."""

import asyncio
from math import inf
from typing import cast

import finished_runs
import pytest
from aiohttp import web
from sshload_operator.api.kinds import TEST
from sshload_operator.control.pages import streams
from sshload_operator.control.pages.index import Index
from sshload_operator.control.pages.streams import MOST_OF_A_USER, Streams
from until import until

KEY = ("ns", "one")
REQUEST = cast("web.Request", None)  # an answer that is played does not look at it


class Answer(web.StreamResponse):
    """An answer without a connection. What is written stays in `text`; one that is `stuck` is never written out."""

    def __init__(self, *, stuck: bool = False) -> None:
        super().__init__()
        self.text = ""
        self.begun = asyncio.Event()
        self._stuck = stuck

    async def prepare(self, request: web.BaseRequest) -> None:
        del request

    async def write(self, data: bytes | bytearray | memoryview) -> None:
        self.text += bytes(data).decode()
        self.begun.set()
        if self._stuck:
            await asyncio.Event().wait()


def told(index: Index, phase: str, version: int) -> None:
    """Tell the index of a test that is in this phase."""
    metadata = {"namespace": "ns", "name": "one", "uid": "uid-of-one", "resourceVersion": str(version)}
    body = {"metadata": metadata, "spec": finished_runs.a_test().spec, "status": {"phase": phase, "run": 1}}
    index.changed(TEST.plural, "MODIFIED", body)


def test_nobody_waits_for_a_reader_that_does_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_WRITTEN_WITHIN_S", inf)

    async def follow() -> None:
        index = Index()
        told(index, "Running", 1)
        all_streams, stuck, reading = Streams(index), Answer(stuck=True), Answer()
        waiting = asyncio.create_task(all_streams.send(REQUEST, stuck, KEY, "anna"))
        await until(stuck.begun.is_set)
        following = asyncio.create_task(all_streams.send(REQUEST, reading, KEY, "anna"))
        await until(reading.begun.is_set)
        told(index, "Finished", 2)
        await until(following.done)
        assert reading.text.endswith("event: end\ndata: {}\n\n")
        assert not waiting.done()
        waiting.cancel()

    asyncio.run(follow())


def test_the_stream_of_a_reader_that_does_not_read_ends_and_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_WRITTEN_WITHIN_S", 0.01)

    async def follow() -> None:
        index = Index()
        told(index, "Running", 1)
        all_streams = Streams(index)
        sent = asyncio.gather(
            *(all_streams.send(REQUEST, Answer(stuck=True), KEY, "anna") for _ in range(MOST_OF_A_USER))
        )
        await asyncio.sleep(0)  # each begins
        assert all_streams.are_too_many("anna")
        await until(sent.done)
        assert sent.exception() is None
        assert not all_streams.are_too_many("anna")

    asyncio.run(follow())
