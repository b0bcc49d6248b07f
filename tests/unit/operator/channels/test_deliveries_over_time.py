"""Deliveries over hours, in virtual time: back-off, turns, what is remembered, and what is given back.

`test_deliveries.py` has the same with a real receiver.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from typing import Any

import pytest
from sshload_operator.api.kinds import COMPARISON, TEST, Kind
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.control.channels import deliveries as deliveries_module
from sshload_operator.control.channels.deliveries import Counts, Deliveries
from sshload_operator.control.channels.ends import EndEvent, Notification, notified_annotation
from sshload_operator.control.channels.webhook import Webhook
from sshload_operator.control.posting import Attempt, Posted
from virtual_time import run_at_once

MAX_AGE_S = 3_600.0
POSTS_AT_ONCE = 4
BEGIN = datetime(2026, 11, 28, 12, tzinfo=UTC)


class VirtualNow(datetime):
    """The virtual time as a date."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        assert tz is UTC
        return BEGIN + timedelta(seconds=asyncio.get_running_loop().time() - 1_000)


def end(name: str, namespace: str = "ns") -> dict[str, Any]:
    """Return a test whose run has just ended."""
    metadata = {"namespace": namespace, "name": name, "uid": f"uid-{name}", "annotations": {}}
    now = f"{VirtualNow.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    return {"metadata": metadata, "status": {"phase": "Finished", "run": 1, "verdict": "Passed", "completionTime": now}}


@dataclass
class World:
    """A receiver and an API server: `answers` are those of the next posts (then all is taken), `errors` the notes."""

    origin: str = "https://receiver"
    answers: list[Attempt] = field(default_factory=list)
    takes_s: float = 0.0
    errors: list[ApiError] = field(default_factory=list)
    list_errors: list[ApiError] = field(default_factory=list)
    there: list[dict[str, Any]] = field(default_factory=list)
    posted: list[tuple[float, str]] = field(default_factory=list)
    marked: list[str] = field(default_factory=list)
    listed: list[tuple[str, str]] = field(default_factory=list)
    under_way: int = 0
    most_under_way: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    pending: list[int] = field(default_factory=list)
    uids: dict[str, set[str]] = field(default_factory=dict)
    list_s: float = 0.0
    listed_s: list[float] = field(default_factory=list)
    lists: int = 0
    most_lists: int = 0

    async def post(self, ended: Notification, _now: datetime) -> Attempt:
        self.posted.append((asyncio.get_running_loop().time(), ended.name))
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await asyncio.sleep(self.takes_s)
        finally:
            self.under_way -= 1
        return self.answers.pop(0) if self.answers else Attempt(Posted.DELIVERED)

    async def annotate(self, kind: Kind, metadata: Mapping[str, Any], annotations: Mapping[str, str]) -> bool:
        assert kind is TEST
        assert metadata["uid"] in self.uids.get(metadata["name"], {f"uid-{metadata['name']}"})
        assert list(annotations) == [notified_annotation("webhook")]
        if self.errors:
            raise self.errors.pop(0)
        self.marked.append(metadata["name"])
        return True

    async def list_ours(self, kind: Kind, namespace: str, _selector: str, facts: Callable[[Any], None]) -> list[None]:
        self.listed.append((kind.plural, namespace))
        self.listed_s.append(asyncio.get_running_loop().time() - 1_000)
        self.lists += 1
        self.most_lists = max(self.most_lists, self.lists)
        await asyncio.sleep(self.list_s)
        self.lists -= 1
        if self.list_errors:
            raise self.list_errors.pop(0)
        here = [body for body in self.there if namespace in ("", body["metadata"]["namespace"])]
        return [facts(body) for body in here if kind is TEST]

    def deliveries(self, *namespaces: str, most_pending: int = 1_000) -> Deliveries:
        webhook = Webhook(url="https://receiver/path", events=tuple(EndEvent), max_age_s=MAX_AGE_S)
        counts = Counts(lambda outcome, times: self.outcomes.update({outcome: times}), self.pending.append)
        return Deliveries(self, "webhook", webhook, self, namespaces, counts, most_pending)  # type: ignore[arg-type]

    def pauses(self) -> list[float]:
        at_s = [at for at, _ in self.posted]
        return [later - earlier for earlier, later in pairwise(at_s)]


Claim = Callable[[World], Coroutine[Any, Any, None]]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[[Claim], None]:
    monkeypatch.setattr(deliveries_module, "datetime", VirtualNow)
    monkeypatch.setattr(deliveries_module.random, "random", lambda: 0.0)
    return lambda claim: run_at_once(claim(World()))


Play = Callable[[Claim], None]
NO = Attempt(Posted.REFUSED, "it answered 500")


def test_the_pauses_of_one_delivery_grow_and_those_of_the_next_begin_anew(play: Play) -> None:
    async def claim(world: World) -> None:
        deliveries = world.deliveries()
        world.answers = [NO] * 5
        deliveries.object_changed(TEST, end("first"))
        await asyncio.sleep(100)
        assert world.pauses() == [1, 2, 4, 8, 16]
        world.posted.clear()
        world.answers = [NO] * 2
        deliveries.object_changed(TEST, end("second"))
        await asyncio.sleep(100)
        assert world.pauses() == [1, 2]
        assert (world.marked, world.outcomes["delivered"], world.pending[-1]) == (["first", "second"], 2, 0)
        await deliveries.stop()

    play(claim)


def test_each_outcome_is_known_before_there_was_any_and_what_is_pending_is_counted_up_and_down(play: Play) -> None:
    async def claim(world: World) -> None:
        deliveries = world.deliveries()
        assert world.outcomes == dict.fromkeys(set(Posted) - {Posted.PARTIAL}, 0)
        world.takes_s = 1
        for name in ("one", "two"):
            deliveries.object_changed(TEST, end(name))
        assert world.pending == [0, 1, 2]
        await asyncio.sleep(10)
        assert world.pending == [0, 1, 2, 1, 0]
        await deliveries.stop()

    play(claim)


def test_what_is_under_way_is_not_begun_again(play: Play) -> None:
    async def claim(world: World) -> None:
        deliveries = world.deliveries()
        world.takes_s = 5
        body = end("one")
        for _ in range(3):
            deliveries.object_changed(TEST, body)
            await asyncio.sleep(1)
        await asyncio.sleep(20)
        assert [name for _, name in world.posted] == ["one"]
        await deliveries.stop()

    play(claim)


def test_a_test_made_anew_under_the_same_name_has_an_end_of_its_own(play: Play) -> None:
    async def claim(world: World) -> None:
        deliveries = world.deliveries()
        former, anew = end("one"), end("one")
        anew["metadata"]["uid"] = "uid-one-anew"
        deliveries.object_changed(TEST, former)
        world.uids = {"one": {"uid-one", "uid-one-anew"}}
        deliveries.object_changed(TEST, anew)
        await asyncio.sleep(10)
        assert [name for _, name in world.posted] == ["one", "one"]
        await deliveries.stop()

    play(claim)


def test_a_delivery_is_given_up_when_it_is_too_old_and_is_pending_no_more(play: Play) -> None:
    async def claim(world: World) -> None:
        deliveries = world.deliveries()
        world.answers = [NO] * 1_000
        deliveries.object_changed(TEST, end("late"))
        await asyncio.sleep(2 * MAX_AGE_S)
        assert (world.outcomes["given_up"], world.pending[-1], world.marked) == (1, 0, [])
        assert world.posted[-1][0] - 1_000 < MAX_AGE_S
        assert len(deliveries._tasks) == 0
        await deliveries.stop()

    play(claim)


def test_few_posts_are_under_way_at_once_and_one_that_fails_gives_its_turn_back_while_it_pauses(play: Play) -> None:
    async def claim(world: World) -> None:
        deliveries = world.deliveries()
        world.takes_s = 1
        world.answers = [NO] * POSTS_AT_ONCE
        for number in range(20):
            deliveries.object_changed(TEST, end(f"t{number}"))
        await asyncio.sleep(2.5)
        assert {name for _, name in world.posted} >= {f"t{number}" for number in range(2 * POSTS_AT_ONCE)}
        await asyncio.sleep(60)
        assert (world.most_under_way, len(world.marked), world.outcomes["delivered"]) == (POSTS_AT_ONCE, 20, 20)
        await deliveries.stop()

    play(claim)


def test_what_cannot_be_noted_is_noted_later_after_pauses_that_grow_and_not_posted_again(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    async def claim(world: World) -> None:
        deliveries = world.deliveries()
        world.errors = [ApiError(500, "no")] * 4
        body = end("noted")
        for _ in range(3):
            deliveries.object_changed(TEST, body)
            await asyncio.sleep(1)
        assert world.marked == []
        await asyncio.sleep(20)
        deliveries.object_changed(TEST, body)
        await asyncio.sleep(20)
        assert (world.marked, len(world.posted)) == (["noted"], 1)
        await deliveries.stop()

    play(claim)
    assert len([one for one in caplog.messages if "cannot note" in one]) == 1


def test_what_is_never_noted_is_given_back_in_the_end(play: Play) -> None:
    async def claim(world: World) -> None:
        deliveries = world.deliveries()
        world.errors = [ApiError(403, "no")] * 1_000
        deliveries.object_changed(TEST, end("one"))
        await asyncio.sleep(2 * MAX_AGE_S)
        assert (deliveries._tasks, world.pending[-1], len(world.posted)) == ({}, 0, 1)
        await deliveries.stop()

    play(claim)


def test_of_what_was_delivered_the_newest_are_remembered(play: Play) -> None:
    async def claim(world: World) -> None:
        deliveries = world.deliveries(most_pending=5_000)
        bodies = [end(f"t{number}") for number in range(1_100)]
        for body in bodies:
            deliveries.object_changed(TEST, body)
        await asyncio.sleep(60)
        assert (len(world.posted), len(deliveries._done)) == (1_100, 1_000)
        deliveries.object_changed(TEST, bodies[-1])
        deliveries.object_changed(TEST, bodies[0])
        await asyncio.sleep(60)
        assert [name for _, name in world.posted[1_100:]] == ["t0"]
        await deliveries.stop()

    play(claim)


def test_what_found_no_room_is_looked_for_in_each_namespace_and_kind_once_half_of_the_room_is_free(play: Play) -> None:
    async def claim(world: World) -> None:
        deliveries = world.deliveries("a", "b", most_pending=4)
        world.there = [end(f"t{number}", "ab"[number % 2]) for number in range(10)]
        world.takes_s = 1
        for body in world.there:
            deliveries.object_changed(TEST, body)
        assert (len(deliveries._tasks), world.listed) == (4, [])
        world.list_errors = [ApiError(500, "no")]
        await asyncio.sleep(120)
        assert set(world.marked) == {f"t{number}" for number in range(10)}
        assert len(world.posted) == 10
        tests, comparisons = TEST.plural, COMPARISON.plural
        assert world.listed[:5] == [(tests, "a"), (tests, "a"), (tests, "b"), (comparisons, "a"), (comparisons, "b")]
        looked = len(world.listed)
        deliveries.object_changed(TEST, end("later"))
        await asyncio.sleep(60)
        assert (len(world.listed), world.marked[-1]) == (looked, "later")
        await deliveries.stop()

    play(claim)


def test_what_finds_no_room_while_it_is_looked_for_is_looked_for_after_that(play: Play) -> None:
    """One list at a time, which takes long. What is left out meanwhile is in none of it."""

    async def claim(world: World) -> None:
        deliveries = world.deliveries(most_pending=1)
        world.takes_s, world.list_s = 1, 100
        first, second = end("first"), end("second")
        world.there = [second]
        for body in (first, second):
            deliveries.object_changed(TEST, body)
        await asyncio.sleep(10)
        assert world.listed_s == [1.0]
        third, fourth = end("third"), end("fourth")
        for body in (third, fourth):
            deliveries.object_changed(TEST, body)
        await asyncio.sleep(140)
        world.there = [fourth]
        await asyncio.sleep(300)
        assert world.marked == ["first", "third", "second", "fourth"]
        assert world.most_lists == 1
        await deliveries.stop()

    play(claim)


def test_a_list_that_is_refused_is_tried_again_after_pauses_that_grow(play: Play) -> None:
    async def claim(world: World) -> None:
        deliveries = world.deliveries(most_pending=1)
        world.there = [end("one"), end("two")]
        world.list_errors = [ApiError(500, "no")] * 4
        for body in world.there:
            deliveries.object_changed(TEST, body)
        await asyncio.sleep(60)
        assert [later - earlier for earlier, later in pairwise(world.listed_s)][:4] == [1, 2, 4, 8]
        assert set(world.marked) == {"one", "two"}
        await deliveries.stop()

    play(claim)


def test_one_namespace_of_all_is_asked_for_where_all_are_watched(play: Play) -> None:
    async def claim(world: World) -> None:
        deliveries = world.deliveries(most_pending=1)
        world.there = [end("one"), end("two")]
        for body in world.there:
            deliveries.object_changed(TEST, body)
        await asyncio.sleep(60)
        assert set(world.marked) == {"one", "two"}
        assert set(world.listed) == {(TEST.plural, ""), (COMPARISON.plural, "")}
        await deliveries.stop()

    play(claim)


def test_after_the_end_nothing_is_posted_noted_or_looked_for(play: Play) -> None:
    async def claim(world: World) -> None:
        deliveries = world.deliveries(most_pending=2)
        world.there = [end(f"t{number}") for number in range(5)]
        world.takes_s = 5
        for body in world.there:
            deliveries.object_changed(TEST, body)
        await asyncio.sleep(1)
        await deliveries.stop()
        assert (deliveries._tasks, world.pending[-1], world.under_way) == ({}, 0, 0)
        posted = len(world.posted)
        await asyncio.sleep(600)
        assert (len(world.posted), world.marked, world.listed) == (posted, [], [])

    play(claim)


def test_a_problem_is_logged_once_and_so_is_its_end(play: Play, caplog: pytest.LogCaptureFixture) -> None:
    async def claim(world: World) -> None:
        deliveries = world.deliveries()
        world.answers = [NO, NO, Attempt(Posted.UNREACHABLE, "no answer"), Attempt(Posted.DELIVERED), NO]
        for name in ("one", "two", "three"):
            deliveries.object_changed(TEST, end(name))
            await asyncio.sleep(60)
        assert world.listed == []
        await deliveries.stop()

    caplog.set_level(logging.INFO)
    play(claim)
    refused, away = "ns/{}: https://receiver did not accept the end of its run, and it is sent again: {}", "no answer"
    accepts = "https://receiver accepts events again"
    assert caplog.messages == [
        refused.format("one", NO.message),
        refused.format("one", away),
        accepts,
        refused.format("two", NO.message),
        accepts,
    ]
