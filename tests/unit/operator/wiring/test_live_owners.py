"""Owners of tests at work: a change of one is worked on, however late the watch tells of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from played_api import played_api
from sshload_operator.api.kinds import SCHEDULE, Kind
from sshload_operator.control.cluster import Cluster, Object
from sshload_operator.control.live_objects import Wait
from sshload_operator.control.owned_tests import LiveOwners, OwnedTests, OwnerPass

_WITHIN_S = 30.0


def owner(version: int, generation: int) -> Object:
    """Return a schedule as the API server shows it."""
    metadata = {"namespace": "ns", "name": "nightly", "uid": "u", "resourceVersion": str(version)}
    return {"metadata": {**metadata, "generation": generation}, "spec": {}}


@dataclass
class Writes:
    """A kind whose passes write a status and wait for an event; `answers` are what the API server answers to them."""

    answers: list[Object]
    passes: list[int] = field(default_factory=list)
    passed: asyncio.Event = field(default_factory=asyncio.Event)
    kind: Kind = SCHEDULE
    label: str = "sshload.dev/schedule"
    list_every_s: float = 300.0

    def facts(self, test: Object) -> Object:
        return test

    async def reconcile(self, _cluster: Cluster, body: Object, _tests: OwnedTests[Object]) -> OwnerPass:
        self.passes.append(body["metadata"]["generation"])
        self.passed.set()
        return OwnerPass(self.answers.pop(0) if self.answers else body, Wait(None))

    async def one_more_pass(self) -> None:
        """Wait for a pass after those that were waited for."""
        await asyncio.wait_for(self.passed.wait(), _WITHIN_S)
        self.passed.clear()


@dataclass
class Reads:
    """A server that has one owner and no tests; it answers for the owner when it is told to."""

    owner: Object = field(default_factory=dict)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: web.Request) -> web.Response:
        if not request.path.endswith("/nightly"):
            return web.json_response({"items": [], "metadata": {}})
        self.asked.set()
        await asyncio.wait_for(self.may_answer.wait(), _WITHIN_S)
        return web.json_response(self.owner)


@asynccontextmanager
async def cluster_of(reads: Reads) -> AsyncIterator[Cluster]:
    """Run the server, and return what asks it."""
    async with played_api(reads.answer) as access:
        cluster = Cluster(access, lambda *_: None)
        try:
            yield cluster
        finally:
            await cluster.close()


async def passes_over(answer: Object, *events: Object) -> list[int]:
    """Return the generations worked on: a first one, whose status write is answered so, and one that events ask for."""
    async with cluster_of(Reads()) as cluster:
        kind = Writes(answers=[answer])
        owners = LiveOwners(cluster, kind, lambda: None)
        owners.object_changed("ADDED", owner(version=10, generation=1))
        await kind.one_more_pass()
        for event in events:
            owners.object_changed("MODIFIED", event)
        await kind.one_more_pass()
        await owners.stop()
        return kind.passes


def test_a_change_that_the_answer_to_the_own_write_shows_first_is_worked_on() -> None:
    """The spec is edited in mid-pass; the status write's answer has it already, so the event that follows is old."""
    answer = owner(version=12, generation=2)
    events = owner(version=11, generation=2), owner(version=12, generation=2)
    assert asyncio.run(passes_over(answer, *events)) == [1, 2]


def test_the_answer_to_the_own_write_alone_asks_for_no_pass() -> None:
    answer = owner(version=11, generation=1)
    events = owner(version=11, generation=1), owner(version=12, generation=2)
    assert asyncio.run(passes_over(answer, *events)) == [1, 2]


def test_an_edit_that_comes_while_the_owner_is_read_is_worked_on() -> None:
    """The answer to the read is older than the event, and comes after it."""

    async def play() -> list[int]:
        reads = Reads(owner(version=10, generation=1))
        async with cluster_of(reads) as cluster:
            kind = Writes(answers=[])
            owners = LiveOwners(cluster, kind, lambda: None)
            owners.wake(("ns", "nightly"))
            await asyncio.wait_for(reads.asked.wait(), _WITHIN_S)
            owners.object_changed("MODIFIED", owner(version=11, generation=2))
            reads.may_answer.set()
            await kind.one_more_pass()
            await kind.one_more_pass()
            await owners.stop()
            return kind.passes

    assert asyncio.run(play())[-1] == 2
