"""What a list of an owner's tests leaves in memory, and what it costs."""

import asyncio
import gc
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from played_api import played_cluster
from specs.small import SMALL
from sshload_operator.api.kinds import API_VERSION
from sshload_operator.control.api_server.cluster import LIST_PAGE, Object
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.control.live import owned_tests
from sshload_operator.control.live.kinds import ScheduleKind
from sshload_operator.control.live.owned_tests import OwnedTests
from sshload_operator.decision.schedule.facts import ScheduledTest
from sshload_operator.manifests.labels import SCHEDULE_LABEL

PAGES = 3
NOON = "2026-11-22T12:00:00Z"
OWNER: Object = {"metadata": {"namespace": "ns", "name": "nightly", "uid": "u"}}
MARK = "preferredDuringSchedulingIgnoredDuringExecution"


def of_schedule(number: int) -> dict[str, Any]:
    """Return a finished test of the schedule, of whose spec the operator reads a part as it is."""
    metadata: dict[str, Any] = {"namespace": "ns", "name": f"n-{number}", "uid": f"u{number}", "generation": 1}
    owner = {"kind": "SSHLoadTestSchedule", "name": "nightly", "uid": "u", "controller": True}
    owned = {"ownerReferences": [owner], "labels": {SCHEDULE_LABEL: "nightly"}, "creationTimestamp": NOON}
    status = {
        "phase": "Finished",
        "verdict": "Passed",
        "completionTime": NOON,
        "specHash": "a",
        "observedGeneration": 1,
    }
    spec = {**SMALL, "workers": {"affinity": {"nodeAffinity": {MARK: []}}}}
    metadata |= {**owned, "resourceVersion": str(number + 1)}
    return {"apiVersion": API_VERSION, "metadata": metadata, "spec": spec, "status": status}


def bodies_held() -> int:
    """Return how many of the tests' bodies are in memory, by a part of each."""
    return sum(type(found) is dict and MARK in found for found in gc.get_objects())


@dataclass
class Pages:
    """A server that lists tests page by page; `held` are the bodies that are in memory when a page is asked for.

    It answers with `refused` from that page on.
    """

    refused: int = PAGES
    held: list[int] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        page = int(request.query.get("continue", "0"))
        self.held.append(bodies_held())
        if page >= self.refused:
            return web.json_response({"message": "too old", "reason": "Expired"}, status=410)
        items = [of_schedule(page * LIST_PAGE + number) for number in range(LIST_PAGE)]
        following = {"continue": str(page + 1)} if page + 1 < PAGES else {}
        listed = {"items": items, "metadata": following}
        return web.Response(text=json.dumps(listed), content_type="application/json")


def refresh(pages: Pages, tests: OwnedTests[ScheduledTest], kind: ScheduleKind, times: int = 1) -> None:
    async def play() -> None:
        async with played_cluster(pages.answer) as cluster:
            for _ in range(times):
                await owned_tests.refresh(cluster, kind, OWNER, tests, older_than_s=-1.0)

    asyncio.run(play())


class Counting(ScheduleKind):
    """A schedule's kind that counts the bodies that it reads."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def facts(self, test: Object) -> ScheduledTest:
        self.read.append(test["metadata"]["name"])
        return super().facts(test)


@pytest.mark.slow
def test_of_the_tests_of_a_schedule_no_more_than_a_page_is_in_memory_at_once() -> None:
    pages, tests = Pages(), OwnedTests[ScheduledTest](lambda _: None)
    gc.collect()  # of what tests before left behind, which may go at any time
    before = bodies_held()
    refresh(pages, tests, ScheduleKind())
    assert len(tests.facts) == PAGES * LIST_PAGE
    assert all(test.measured for test in tests.facts.values())
    assert [held - before for held in pages.held] == [0] * PAGES
    assert bodies_held() == before


def test_a_test_that_is_listed_again_unchanged_is_not_read_again() -> None:
    kind = Counting()
    refresh(Pages(), OwnedTests(lambda _: None), kind, times=2)
    assert len(kind.read) == PAGES * LIST_PAGE


def test_a_list_that_expires_between_two_pages_forgets_no_test() -> None:
    tests = OwnedTests[ScheduledTest](lambda _: None)
    refresh(Pages(), tests, ScheduleKind())
    listed_at_s = tests.listed_at_s
    with pytest.raises(ApiError, match=r"410: GET .*: too old"):
        refresh(Pages(refused=1), tests, ScheduleKind())
    assert len(tests.facts) == PAGES * LIST_PAGE
    assert tests.listed_at_s == listed_at_s


def test_a_test_that_the_watch_told_of_before_a_list_was_asked_for_is_gone_if_the_list_lacks_it() -> None:
    tests, outlived = OwnedTests[ScheduledTest](lambda _: None), of_schedule(PAGES * LIST_PAGE)
    assert tests.changed("ADDED", outlived, ScheduleKind().facts)
    refresh(Pages(), tests, ScheduleKind())
    assert len(tests.facts) == PAGES * LIST_PAGE
    assert outlived["metadata"]["name"] not in tests.facts


def test_tests_are_listed_again_only_where_the_last_list_is_older_than_it_may_be() -> None:
    tests, pages = OwnedTests[ScheduledTest](lambda _: None), Pages()

    async def play() -> list[bool]:
        async with played_cluster(pages.answer) as cluster:
            ages = (3_600.0, 3_600.0, -1.0)
            return [await owned_tests.refresh(cluster, ScheduleKind(), OWNER, tests, older_than_s=age) for age in ages]

    assert asyncio.run(play()) == [True, False, True]
    assert len(pages.held) == 2 * PAGES
