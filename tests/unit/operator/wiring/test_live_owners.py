"""Owners of tests at work: a change of one is worked on, however late the watch tells of it."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web
from played_api import played_cluster
from sshload_operator.api.kinds import SCHEDULE, Kind
from sshload_operator.control.api_server.cluster import Cluster, Object
from sshload_operator.control.live.objects import Wait
from sshload_operator.control.live.owned_tests import OwnedTests
from sshload_operator.control.live.owner_pass import OwnerReconciled
from sshload_operator.control.live.owners import LiveOwners, _OwnerReconciler
from sshload_operator.control.logs import _about
from until import until

_WITHIN_S = 300.0
OWNER = {"kind": "SSHLoadTestSchedule", "name": "nightly", "uid": "u", "controller": True}


def owned(name: str, version: int) -> dict[str, Any]:
    """Return a test of the schedule as the API server shows it."""
    metadata = {"namespace": "ns", "name": name, "resourceVersion": str(version)}
    labels = {"labels": {"sshload.dev/schedule": "nightly"}}
    return {"metadata": {**metadata, **labels, "ownerReferences": [OWNER]}}


def owner(version: int, generation: int) -> Object:
    """Return a schedule as the API server shows it."""
    metadata = {"namespace": "ns", "name": "nightly", "uid": "u", "resourceVersion": str(version)}
    return {"metadata": {**metadata, "generation": generation}, "spec": {}}


@dataclass
class Writes:
    """A kind whose passes write a status and wait for an event; `answers` are what the API server answers to them.

    `seen` are the tests of each pass, with their versions. With `parks` they park the owner, the first one until it is
    due where it says when.
    """

    answers: list[Object]
    passes: list[int] = field(default_factory=list)
    seen: list[dict[str, str]] = field(default_factory=list)
    due_s: float | None = None
    parks: bool = False
    about: dict[str, str] = field(default_factory=dict)
    passed: asyncio.Event = field(default_factory=asyncio.Event)
    kind: Kind = SCHEDULE
    label: str = "sshload.dev/schedule"
    list_every_s: float = 300.0
    fresh_s: float = 2.0
    passes_at_once: int = 8

    def facts(self, test: Object) -> Object:
        return test

    async def reconcile(
        self, _cluster: Cluster, _kind: object, body: Object, tests: OwnedTests[Object]
    ) -> OwnerReconciled:
        self.about = dict(_about.get())
        self.seen.append({name: test["metadata"]["resourceVersion"] for name, test in tests.facts.items()})
        self.passes.append(body["metadata"]["generation"])
        self.passed.set()
        due_s, self.due_s = self.due_s, None
        following = tests.park(due_s, datetime.now(UTC)) if self.parks else Wait(None)
        return OwnerReconciled(self.answers.pop(0) if self.answers else body, following)

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
        return web.json_response(self.owner, status=200 if self.owner else 404)


async def passes_over(answer: Object, *events: Object) -> list[int]:
    """Return the generations worked on: a first one, whose status write is answered so, and one that events ask for."""
    async with played_cluster(Reads().answer) as cluster:
        kind = Writes(answers=[answer])
        owners = LiveOwners(cluster, kind, lambda _: None, lambda: None, kind.reconcile)
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
        async with played_cluster(reads.answer) as cluster:
            kind = Writes(answers=[])
            owners = LiveOwners(cluster, kind, lambda _: None, lambda: None, kind.reconcile)
            owners.wake(("ns", "nightly"))
            await asyncio.wait_for(reads.asked.wait(), _WITHIN_S)
            owners.object_changed("MODIFIED", owner(version=11, generation=2))
            reads.may_answer.set()
            await kind.one_more_pass()
            await kind.one_more_pass()
            await owners.stop()
            return kind.passes

    assert asyncio.run(play())[-1] == 2


@dataclass
class Lists:
    """A server that lists these tests, when it is told to."""

    tests: list[Object]
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, _: web.Request) -> web.Response:
        answer = web.json_response({"items": self.tests, "metadata": {}})
        self.asked.set()
        await asyncio.wait_for(self.may_answer.wait(), _WITHIN_S)
        return answer


async def seen_in_first_pass(listed: list[Object], *events: tuple[str, Object]) -> dict[str, str]:
    """Return the tests, with their versions, that a first pass sees whose list the watch overtakes with `events`."""
    lists = Lists(listed)
    async with played_cluster(lists.answer) as cluster:
        kind = Writes(answers=[])
        owners = LiveOwners(cluster, kind, lambda _: None, lambda: None, kind.reconcile)
        owners.object_changed("ADDED", owner(version=10, generation=1))
        await asyncio.wait_for(lists.asked.wait(), _WITHIN_S)
        for event_type, test in events:
            owners.test_changed(event_type, test)
        lists.may_answer.set()
        await kind.one_more_pass()
        await owners.stop()
        return kind.seen[0]


def test_what_the_watch_told_of_tests_while_a_list_was_under_way_is_not_forgotten_for_it() -> None:
    listed = [owned("changed", 5), owned("gone", 6), owned("known", 7)]
    events = ("MODIFIED", owned("changed", 11)), ("DELETED", owned("gone", 12)), ("ADDED", owned("made", 13))
    assert asyncio.run(seen_in_first_pass(listed, *events)) == {"changed": "11", "known": "7", "made": "13"}


def test_a_list_that_is_newer_than_what_the_watch_told_of_a_test_counts() -> None:
    """The watch is behind: the test of that name was deleted and made again before it was listed."""
    listed = [owned("again", 9)]
    assert asyncio.run(seen_in_first_pass(listed, ("DELETED", owned("again", 8)))) == {"again": "9"}


@asynccontextmanager
async def parked_owner(reads: Reads, due_s: float | None = None) -> AsyncIterator[tuple[LiveOwners[Object], Writes]]:
    """Run a pass over an owner that parks it."""
    reads.owner = owner(version=10, generation=1)
    reads.may_answer.set()
    async with played_cluster(reads.answer) as cluster:
        kind = Writes(answers=[], parks=True, due_s=due_s)
        owners = LiveOwners(cluster, kind, lambda _: None, lambda: None, kind.reconcile)
        owners.object_changed("ADDED", owner(version=10, generation=1))
        await kind.one_more_pass()
        await until(lambda: owners.find(("ns", "nightly")) is None)
        yield owners, kind
        await owners.stop()


def test_a_parked_owner_is_read_once_there_is_news_of_a_test_of_its_and_what_was_seen_of_the_others_is_kept() -> None:
    async def play() -> None:
        reads = Reads()
        async with parked_owner(reads) as (owners, kind):
            owners.test_changed("ADDED", owned("first", 11))
            await kind.one_more_pass()
            owners.test_changed(
                "ADDED", {**owned("other", 12), "metadata": {**owned("other", 12)["metadata"], "ownerReferences": []}}
            )
            owners.test_changed("ADDED", owned("second", 13))
            await kind.one_more_pass()
        assert kind.seen == [{}, {"first": "11"}, {"first": "11", "second": "13"}]

    asyncio.run(play())


def test_what_a_pass_over_an_owner_logs_names_it() -> None:
    async def play() -> dict[str, str]:
        async with parked_owner(Reads()) as (_, kind):
            return kind.about

    assert asyncio.run(play()) == {"namespace": "ns", "schedule": "nightly"}


def test_a_parked_owner_is_read_when_it_is_due() -> None:
    async def play() -> int:
        reads = Reads()
        async with parked_owner(reads, due_s=0.2) as (_, kind):
            await kind.one_more_pass()
        return len(kind.seen)

    assert asyncio.run(play()) == 2


def test_a_parked_owner_is_looked_at_every_minute_and_needs_a_pass_once_it_is_due_or_its_list_is_old() -> None:
    async def play() -> None:
        async with played_cluster(Reads().answer) as cluster:
            passes = _OwnerReconciler(cluster, Writes(answers=[]), lambda _: None, Writes([]).reconcile)
            tests = OwnedTests[Object](lambda _: None, listed_at_s=time.monotonic())
            now = datetime.now(UTC)
            assert passes.stay_parked_s(("ns", "nightly"), tests) == 60.0
            tests.due_at = now + timedelta(seconds=40)
            assert 30.0 < (passes.stay_parked_s(("ns", "nightly"), tests) or 0.0) <= 40.0
            tests.due_at = now
            assert passes.stay_parked_s(("ns", "nightly"), tests) is None
            tests.due_at, tests.listed_at_s = None, time.monotonic() - 300.0
            assert passes.stay_parked_s(("ns", "nightly"), tests) is None

    asyncio.run(play())


def test_a_test_of_nobody_of_an_unknown_owner_of_one_not_read_yet_or_of_a_former_one_asks_for_nothing() -> None:
    async def play() -> None:
        former = owned("former", 12)
        former["metadata"]["ownerReferences"] = [{**OWNER, "uid": "former"}]
        async with parked_owner(Reads()) as (owners, kind):
            owners.test_changed("ADDED", former)
            assert owners.find(("ns", "nightly")) is None
            elsewhere = owned("elsewhere", 13)
            elsewhere["metadata"]["namespace"] = "other"
            owners.test_changed("ADDED", elsewhere)
            nobodys = owned("nobodys", 14)
            nobodys["metadata"]["ownerReferences"] = []
            owners.test_changed("ADDED", nobodys)
            labelled_otherwise = owned("labelled-otherwise", 15)
            labelled_otherwise["metadata"]["labels"] = {"sshload.dev/schedule": "another"}
            owners.test_changed("ADDED", labelled_otherwise)
            owners.wake(("other", "nightly"))
            owners.test_changed("ADDED", elsewhere)
            assert owners.find(("ns", "nightly")) is None
            assert len(kind.seen) == 1

    asyncio.run(play())


@pytest.mark.parametrize("marks", [None, {"deletionTimestamp": "2026-11-28T12:00:00Z", "finalizers": ["orphan"]}])
def test_an_owner_that_is_gone_when_it_is_read_or_keeps_its_tests_has_no_pass(marks: dict[str, Any] | None) -> None:
    async def play() -> int:
        reads = Reads()
        async with parked_owner(reads) as (owners, kind):
            there = owner(version=11, generation=1)
            reads.owner = {} if marks is None else {**there, "metadata": {**there["metadata"], **marks}}
            owners.wake(("ns", "nightly"))
            await until(lambda: owners.known(("ns", "nightly")) is None)
            return len(kind.seen)

    assert asyncio.run(play()) == 1
