"""Where the passes over a comparison do their work, and what they make of the pods of others."""

import asyncio
import json
import threading
from datetime import UTC, datetime
from typing import Any

import pytest
from aiohttp import web
from plans import INSTALLATION
from played_api import played_cluster
from played_objects import PlayedObjects
from sim_comparison import comparison_spec
from specs.small import SMALL
from sshload_operator.control.live.kinds import ComparisonKind
from sshload_operator.control.live.objects import Park, Rest
from sshload_operator.control.live.owned_tests import OwnedTests
from sshload_operator.control.live.owner_pass import OwnerReconciled, reconcile
from sshload_operator.control.run.reconcile import ParsedSpec, subject_of
from sshload_operator.decision.comparison.decide import GOING_PASS_S, REFUSED_PASS_S
from sshload_operator.decision.comparison.facts import ObservedTest
from sshload_operator.manifests.labels import COMPARISON_LABEL, TEST_LABEL, role_labels
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Role

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)


class Watched(dict[str, Any]):
    """A spec that notes which threads read it."""

    readers: set[threading.Thread]

    def keys(self) -> Any:
        self.readers.add(threading.current_thread())
        return super().keys()


def test_a_spec_is_read_beside_the_event_loop_for_a_large_one_would_hold_up_all_tests() -> None:
    base = Watched(SMALL)
    base.readers = set()
    metadata = {"namespace": "ns", "name": "c", "uid": "u", "generation": 1, "resourceVersion": "1"}
    body = {"metadata": metadata, "spec": {"base": base, "variants": [{"name": "a"}, {"name": "a"}]}}

    async def answer(request: web.Request) -> web.Response:
        return web.json_response({**body, **json.loads(await request.text() or "{}")})

    async def play() -> None:
        async with played_cluster(answer) as cluster:
            await reconcile(cluster, ComparisonKind(INSTALLATION), body, OwnedTests(lambda _: None))

    asyncio.run(play())
    assert base.readers
    assert threading.main_thread() not in base.readers


def a_pass(name: str, *pods: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """Return which tests a comparison makes in a pass where these pods are there, and the reason in its status."""
    metadata = {"namespace": "ns", "name": name, "uid": "u", "generation": 1, "resourceVersion": "1"}
    api = PlayedObjects()
    api.put("sshloadtestcomparisons", {"metadata": metadata})
    for pod in pods:
        api.put("pods", pod)

    async def play() -> str:
        async with played_cluster(api.answer) as cluster:
            body = {"metadata": metadata, "spec": comparison_spec()}
            done = await reconcile(cluster, ComparisonKind(INSTALLATION), body, OwnedTests(lambda _: None))
            assert done.body is not None
            return str(done.body["status"]["reason"])

    reason = asyncio.run(play())
    return [body for name, body in api.there.items() if name.startswith("sshloadtests/")], reason


def a_pod(labels: dict[str, str]) -> dict[str, Any]:
    return {"metadata": {"name": "p", "namespace": "ns", "resourceVersion": "1", "labels": labels}, "status": {}}


@pytest.mark.parametrize("name", ["c", "c" * 100, "c.d"], ids=["short", "longer than a label", "with a dot"])
def test_the_pods_of_a_test_that_it_has_made_are_waited_for_though_somebody_deleted_the_test(name: str) -> None:
    (made,), _ = a_pass(name)
    plan = subject_of(made, INSTALLATION, ParsedSpec(), NOON).plan
    assert isinstance(plan, Plan)
    assert a_pass(name, a_pod(role_labels(plan, Role.WORKER))) == ([], "PodsGoing")


def test_the_pods_of_others_are_not_waited_for() -> None:
    others = subject_of(a_pass("other")[0][0], INSTALLATION, ParsedSpec(), NOON).plan
    assert isinstance(others, Plan)
    made, _ = a_pass("c", a_pod(role_labels(others, Role.MASTER)), a_pod({TEST_LABEL: "c"}), a_pod({}))
    assert len(made) == 1


def test_a_pod_with_more_labels_than_are_read_ends_no_comparison() -> None:
    labels = {f"sshload.dev/a{number}": "" for number in range(20)} | {f"x{number}": "" for number in range(100)}
    assert len(a_pass("c", a_pod({**labels, TEST_LABEL: "any"}))[0]) == 1
    assert a_pass("c", a_pod({**labels, COMPARISON_LABEL: "c"})) == ([], "PodsGoing")


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
        async with played_cluster(answer) as cluster:
            kind = ComparisonKind(INSTALLATION)
            tests = OwnedTests[ObservedTest](lambda _: None)
            refused = await reconcile(cluster, kind, {"metadata": metadata, "spec": comparison_spec()}, tests)
            has_room[0] = True
            assert refused.body is not None
            return refused, await reconcile(cluster, kind, refused.body, tests)

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
    api = PlayedObjects()
    if there:
        api.put("sshloadtestcomparisons", {"metadata": {**metadata, **there}})

    async def play() -> OwnerReconciled:
        async with played_cluster(api.answer) as cluster:
            body = {"metadata": metadata, "spec": comparison_spec()}
            return await reconcile(cluster, ComparisonKind(INSTALLATION), body, OwnedTests(lambda _: None))

    assert asyncio.run(play()) == OwnerReconciled(None, Rest())
    assert api.names("POST", "PATCH", "DELETE") == []
