"""Where the passes over a comparison do their work, and what they make of the pods of others."""

import asyncio
import json
import threading
from typing import Any

import pytest
from aiohttp import web
from plans import INSTALLATION
from played_api import played_api
from sim_comparison import comparison_spec
from specs.small import SMALL
from sshload_operator.control.api_server.cluster import Cluster
from sshload_operator.control.live.kinds import ComparisonKind
from sshload_operator.control.live.objects import Park, Rest
from sshload_operator.control.live.owned_tests import OwnedTests
from sshload_operator.control.live.owner_pass import OwnerReconciled, reconcile
from sshload_operator.decision.comparison.decide import GOING_PASS_S, REFUSED_PASS_S
from sshload_operator.decision.comparison.facts import ObservedTest
from sshload_operator.manifests.labels import TEST_LABEL


class Watched(dict[str, Any]):
    """A spec that notes which threads read it."""

    readers: set[threading.Thread]

    def get(self, key: str, default: Any = None) -> Any:
        self.readers.add(threading.current_thread())
        return super().get(key, default)


def test_a_spec_is_read_beside_the_event_loop_for_a_large_one_would_hold_up_all_tests() -> None:
    base = Watched(SMALL)
    base.readers = set()
    metadata = {"namespace": "ns", "name": "c", "uid": "u", "generation": 1, "resourceVersion": "1"}
    body = {"metadata": metadata, "spec": {"base": base, "variants": [{"name": "a"}, {"name": "a"}]}}

    async def answer(request: web.Request) -> web.Response:
        return web.json_response({**body, **json.loads(await request.text() or "{}")})

    async def play() -> None:
        async with played_api(answer) as client:
            cluster = Cluster(client, lambda *_: None)
            try:
                await reconcile(cluster, ComparisonKind(INSTALLATION), body, OwnedTests(lambda _: None))
            finally:
                await cluster.close()

    asyncio.run(play())
    assert base.readers
    assert threading.main_thread() not in base.readers


def test_a_pod_of_which_too_many_labels_are_left_out_ends_no_comparison() -> None:
    own = {f"sshload.dev/a{number}": "" for number in range(20)}
    labels = {**{f"x{number}": "" for number in range(100)}, **own, TEST_LABEL: "any"}
    pod = {"metadata": {"name": "p", "namespace": "ns", "resourceVersion": "1", "labels": labels}, "status": {}}
    metadata = {"namespace": "ns", "name": "c", "uid": "u", "generation": 1, "resourceVersion": "1"}
    made = []

    async def answer(request: web.Request) -> web.Response:
        if request.method == "GET" and request.path.endswith(("/pods", "/sshloadtests")):
            items = [pod] if request.path.endswith("/pods") else []
            return web.json_response({"items": items, "metadata": {}})
        if request.method == "GET":
            return web.json_response({"metadata": metadata})
        sent = json.loads(await request.read())
        if request.path.endswith("/sshloadtests"):
            made.append(sent["metadata"]["name"])
        return web.json_response({**sent, "metadata": {**metadata, **sent["metadata"]}})

    async def play() -> None:
        async with played_api(answer) as client:
            cluster = Cluster(client, lambda *_: None)
            try:
                body = {"metadata": metadata, "spec": comparison_spec()}
                await reconcile(cluster, ComparisonKind(INSTALLATION), body, OwnedTests(lambda _: None))
            finally:
                await cluster.close()

    asyncio.run(play())
    assert len(made) == 1


def test_a_test_that_a_quota_refuses_is_waited_for_with_the_reason_and_made_once_there_is_room() -> None:
    metadata = {"namespace": "ns", "name": "c", "uid": "u", "generation": 1, "resourceVersion": "1"}
    says = 'sshloadtests "c-1-a" is forbidden: exceeded quota: tests, used: 3, limited: 3'
    has_room, made = [False], []

    async def answer(request: web.Request) -> web.Response:
        sent = json.loads(await request.read() or "{}")
        if request.method == "GET":
            return web.json_response({"items": [], "metadata": metadata})
        if request.path.endswith("/sshloadtests"):
            if not has_room[0]:
                return web.json_response({"message": says, "reason": "Forbidden"}, status=403)
            made.append(sent["metadata"]["name"])
        return web.json_response({**sent, "spec": comparison_spec(), "metadata": {**metadata, **sent["metadata"]}})

    async def play() -> tuple[OwnerReconciled, OwnerReconciled]:
        async with played_api(answer) as client:
            cluster, kind = Cluster(client, lambda *_: None), ComparisonKind(INSTALLATION)
            try:
                tests = OwnedTests[ObservedTest](lambda _: None)
                refused = await reconcile(cluster, kind, {"metadata": metadata, "spec": comparison_spec()}, tests)
                has_room[0] = True
                assert refused.body is not None
                return refused, await reconcile(cluster, kind, refused.body, tests)
            finally:
                await cluster.close()

    refused, let_in = asyncio.run(play())
    assert refused.body is not None
    assert let_in.body is not None
    status = refused.body["status"]
    assert refused.following == Park(REFUSED_PASS_S)
    assert (status["phase"], status["reason"], "verdict" in status) == ("Running", "TestRefused", False)
    assert says in status["message"]
    assert len(made) == 1
    assert let_in.body["status"]["reason"] == "TestStarting"
    assert let_in.following == Park(GOING_PASS_S), "any number of comparisons may wait with a large spec"


@pytest.mark.parametrize(
    "there",
    [
        pytest.param({}, id="deleted"),
        pytest.param({"uid": "another"}, id="made again"),
        pytest.param({"uid": "u", "deletionTimestamp": "2026-11-23T12:00:00Z"}, id="being deleted"),
    ],
)
def test_a_comparison_that_is_gone_makes_no_test(there: dict[str, str]) -> None:
    metadata = {"namespace": "ns", "name": "c", "uid": "u", "generation": 1, "resourceVersion": "1"}
    made: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        if request.method != "GET":
            made.append(request.path)
        if request.path.endswith("/c"):
            return web.json_response({"metadata": {**metadata, **there}}, status=200 if there else 404)
        return web.json_response({"items": [], "metadata": {}})

    async def play() -> OwnerReconciled:
        async with played_api(answer) as client:
            cluster = Cluster(client, lambda *_: None)
            try:
                body = {"metadata": metadata, "spec": comparison_spec()}
                return await reconcile(cluster, ComparisonKind(INSTALLATION), body, OwnedTests(lambda _: None))
            finally:
                await cluster.close()

    assert asyncio.run(play()) == OwnerReconciled(None, Rest())
    assert made == []
