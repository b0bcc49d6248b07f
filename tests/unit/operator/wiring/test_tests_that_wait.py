"""Tests that only wait: what the operator keeps of them, what it asks about them, and what wakes them."""

import asyncio
import gc
import json
import tracemalloc
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from aiohttp import web
from passes import START
from plans import INSTALLATION
from played_api import played_cluster
from specs.large import on_nodes
from specs.small import SMALL
from sshload_operator.control.api_server.lean_json import read_json
from sshload_operator.control.live import room as room_module
from sshload_operator.control.live import tests as live_tests
from sshload_operator.control.live.objects import Key
from sshload_operator.control.live.room import Room
from sshload_operator.control.live.tests import LiveTests
from sshload_operator.control.run.reconcile import ParsedSpec, subject_of
from sshload_operator.manifests import child_name
from sshload_operator.manifests.labels import role_labels
from sshload_operator.planning.installation import Installation, Limits
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Role
from until import until

KEY = ("ns", "t")
SUSPENDED = {**SMALL, "suspend": True}
ONE_AT_ONCE = replace(INSTALLATION, limits=Limits(tests=1))
_RUNS = {"namespace": "ns", "name": "runs", "uid": "r", "generation": 1, "resourceVersion": "1"}
# A test that was deleted with --cascade=orphan: its load runs on and takes room, and nothing is done about it.
RUNS = {
    "metadata": {**_RUNS, "deletionTimestamp": "2026-11-22T12:00:00Z", "finalizers": ["orphan"]},
    "status": {"phase": "Running"},
}


@dataclass
class Served:
    """The tests that an API server has, as JSON, and what it lists: it answers reads and writes of the tests.

    `asked` are the methods and paths of all requests but those for Events.
    """

    tests: dict[str, str] = field(default_factory=dict)
    lists: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def put(self, name: str, spec: Mapping[str, Any], generation: int = 1) -> Any:
        """Create or edit a test, and return it as the watch tells of it."""
        before = json.loads(self.tests[name]) if name in self.tests else {"metadata": {"resourceVersion": "1"}}
        metadata = {"namespace": "ns", "name": name, "uid": f"uid-{name}", "generation": generation}
        times = {"creationTimestamp": "2026-11-22T12:00:00Z", "resourceVersion": _next(before)}
        kind = {"apiVersion": "sshload.dev/v1alpha1", "kind": "SSHLoadTest"}
        body = {**kind, "metadata": {**metadata, **times}, "spec": spec, "status": before.get("status", {})}
        self.tests[name] = json.dumps(body)
        return self.told(name)

    def told(self, name: str) -> Any:
        """Return a test as the watch tells of it."""
        return read_json(self.tests[name].encode())

    async def answer(self, request: web.Request) -> web.Response:
        """Answer as an API server does."""
        if not request.path.endswith("/events"):
            self.asked.append(f"{request.method} {request.path.partition('/ns/')[2]}")
        names = [part for part in request.path.split("/") if part in self.tests]
        if request.method == "PATCH" and request.path.endswith("/status"):
            body = json.loads(self.tests[names[0]])
            body["metadata"]["resourceVersion"] = _next(body)
            body["status"] = json.loads(await request.read())["status"]
            self.tests[names[0]] = json.dumps(body)
        if names:
            return web.Response(text=self.tests[names[0]], content_type="application/json")
        found = self.lists.get(request.path.rpartition("/")[2])
        return web.json_response({"items": [] if found is None else [found], "metadata": {}})


def _next(body: Mapping[str, Any]) -> str:
    return str(int(body["metadata"]["resourceVersion"]) + 1)


@asynccontextmanager
async def operator(served: Served, installation: Installation = INSTALLATION) -> AsyncIterator[LiveTests]:
    """Run an operator's tests against that server."""
    async with played_cluster(served.answer) as cluster:
        failed = list[None]()
        live = LiveTests(cluster, installation, lambda: failed.append(None), lambda: None)
        try:
            yield live
        finally:
            await live.stop()
        assert not failed


async def waits(live: LiveTests, served: Served, name: str = "t") -> None:
    """Wait until a test has a status, no pass goes on, and the watch has told of it."""
    await until(lambda: bool(served.told(name)["status"]) and live.find(("ns", name)) is None)
    live.object_changed("MODIFIED", served.told(name))


@pytest.fixture(autouse=True)
def _has_heard_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room_module, "_HEARD_OF_ALL_S", 0.0)


@pytest.mark.parametrize(
    ("installation", "spec", "reason"),
    [
        (INSTALLATION, SUSPENDED, "Suspended"),
        (replace(INSTALLATION, paused=True), SMALL, "InstallationPaused"),
        (ONE_AT_ONCE, SMALL, "Queued"),
    ],
)
def test_of_a_test_that_is_held_back_no_body_is_kept_and_its_own_status_wakes_it_not(
    installation: Installation, spec: Mapping[str, Any], reason: str
) -> None:
    async def play() -> None:
        served = Served()
        async with operator(served, installation) as live:
            live.object_changed("ADDED", RUNS)
            live.object_changed("ADDED", served.put("t", spec))
            await waits(live, served)
            assert live.find(KEY) is None
            assert live.known(KEY) is not None
        assert served.told("t")["status"]["reason"] == reason
        assert served.asked.count("PATCH sshloadtests/t/status") == len([one for one in served.asked if "/t" in one])

    asyncio.run(play())


def test_a_refused_test_rests_at_once() -> None:
    async def play() -> None:
        served = Served()
        async with operator(served) as live:
            live.object_changed("ADDED", served.put("t", {**SMALL, "load": {}}))
            await waits(live, served)
            assert live.known(KEY) is None
        assert served.asked == ["PATCH sshloadtests/t/status"]

    asyncio.run(play())


def test_a_suspended_test_begins_by_the_event_of_its_edit_and_asks_for_nothing_before() -> None:
    async def play() -> None:
        served = Served()
        async with operator(served) as live:
            live.object_changed("ADDED", served.put("t", SUSPENDED))
            await waits(live, served)
            served.asked.clear()
            live.object_changed("MODIFIED", served.put("t", SMALL, generation=2))
            await until(lambda: served.told("t")["status"]["phase"] != "Pending")
        begun = served.asked.index("PATCH sshloadtests/t/status")
        assert not [one for one in served.asked[:begun] if one.startswith("GET")]

    asyncio.run(play())


def test_a_queued_test_asks_for_nothing_until_there_is_room_and_then_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    looks, look = [], Room.stay_queued_s

    def counted(room: Room, key: Key) -> float | None:
        looks.append(look(room, key))
        return looks[-1]

    monkeypatch.setattr(Room, "stay_queued_s", counted)

    async def play() -> None:
        served = Served()
        async with operator(served, ONE_AT_ONCE) as live:
            live.object_changed("ADDED", RUNS)
            live.object_changed("ADDED", served.put("t", SMALL))
            await waits(live, served)
            served.asked.clear()
            await until(lambda: len(looks) > 1)
            assert served.asked == []
            live.object_changed("DELETED", RUNS)
            await until(lambda: served.told("t")["status"]["phase"] != "Pending")
        assert next(one for one in served.asked if "/t" in one) == "GET sshloadtests/t"

    asyncio.run(play())


def test_a_queued_test_that_is_aborted_or_deleted_leaves_the_queue() -> None:
    async def play() -> None:
        served = Served()
        async with operator(served, ONE_AT_ONCE) as live:
            live.object_changed("ADDED", RUNS)
            for name in ("a", "b", "c"):
                live.object_changed("ADDED", served.put(name, SMALL))
            for name in ("a", "b", "c"):
                await waits(live, served, name)
            live.object_changed("MODIFIED", served.put("a", {**SMALL, "abort": True}, generation=2))
            live.object_changed("DELETED", served.told("b"))
            await until(lambda: served.told("a")["status"]["phase"] == "Finished")
            assert live.known(("ns", "b")) is None
            live.object_changed("DELETED", RUNS)
            await until(lambda: served.told("c")["status"]["phase"] != "Pending")

    asyncio.run(play())


def master_of(test: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the Job of a test's master, and its pod."""
    plan = subject_of(test, INSTALLATION, ParsedSpec(), START).plan
    assert isinstance(plan, Plan)
    name, labels = child_name(plan, Role.MASTER), role_labels(plan, Role.MASTER)
    owner = {"kind": "SSHLoadTest", "name": "t", "uid": "uid-t", "controller": True}
    maker = {"kind": "Job", "name": name, "uid": "job", "controller": True}
    ours = {"namespace": "ns", "labels": labels, "resourceVersion": "1"}
    job = {"metadata": {**ours, "name": name, "uid": "job", "ownerReferences": [owner]}}
    pod = {"metadata": {**ours, "name": f"{name}-x", "ownerReferences": [maker]}, "status": {"phase": "Running"}}
    return job, pod


def test_a_pod_that_is_left_of_the_run_of_a_test_that_is_held_back_is_swept() -> None:
    async def play() -> None:
        served = Served()
        async with operator(served) as live:
            live.object_changed("ADDED", served.put("t", SUSPENDED))
            await waits(live, served)
            job, pod = master_of(served.told("t"))
            served.lists = {"jobs": job, "pods": pod}
            live.pod_changed("ADDED", pod)
            await until(lambda: f"DELETE jobs/{job['metadata']['name']}" in served.asked)

    asyncio.run(play())


ABORTED = {**SMALL, "abort": True}


def test_a_pod_or_job_wakes_its_test_at_rest_unless_it_is_going_or_no_run_has_made_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live_tests, "_PODS_GO_WITHIN_S", 0.1)

    async def play() -> None:
        served = Served()
        async with operator(served) as live:
            live.object_changed("ADDED", served.put("t", ABORTED))
            await waits(live, served)
            job, pod = master_of(served.told("t"))
            for tell, child in ((live.pod_changed, pod), (live.job_changed, job)):
                going = {**child, "metadata": {**child["metadata"], "deletionTimestamp": "2026-11-22T12:00:00Z"}}
                for event, seen in (
                    ("DELETED", child),
                    ("MODIFIED", going),
                    ("ADDED", {**child, "metadata": {**child["metadata"], "labels": {}}}),
                ):
                    tell(event, seen)
                    assert live.find(KEY) is None
                tell("ADDED", child)
                assert live.find(KEY) is not None
                live.pod_changed("DELETED", pod)
                await until(lambda: live.find(KEY) is None)
        assert served.asked.count("GET sshloadtests/t") == 2

    asyncio.run(play())


def test_the_children_of_a_test_ask_for_a_pass_unless_it_was_just_swept_and_are_noted_in_any_case() -> None:
    async def play() -> None:
        served = Served()
        async with operator(served) as live:
            live.object_changed("ADDED", served.put("t", SMALL))
            found = live.find(KEY)
            assert found is not None
            job, pod = master_of(served.told("t"))
            for is_ending in (False, True):
                for tell, child in ((live.pod_changed, pod), (live.job_changed, job)):
                    found.state.is_ending, found.state.has_children = is_ending, False
                    found.dirty.clear()
                    tell("ADDED", child)
                    assert (found.dirty.is_set(), found.state.has_children) == (not is_ending, not is_ending)
                    found.dirty.clear()
                noted = found.state.children
                assert (list(noted.pods), noted.owner_of_job) == ([pod["metadata"]["name"]], {"job": "uid-t"})
                noted.pods.clear()
                noted.versions.clear()
                noted.owner_of_job.clear()

    asyncio.run(play())


def test_a_test_that_a_list_lacks_leaves_its_room_to_the_next() -> None:
    async def play() -> None:
        served = Served()
        async with operator(served, ONE_AT_ONCE) as live:
            live.object_changed("ADDED", RUNS)
            live.object_changed("ADDED", served.put("t", SMALL))
            await waits(live, served)
            live.forget(lambda key: key == ("ns", "runs"))
            await until(lambda: served.told("t")["status"]["phase"] != "Pending")

    asyncio.run(play())


@pytest.mark.slow
def test_a_run_is_counted_when_it_begins_and_one_that_is_refused_is_not() -> None:
    async def play(status: int) -> int:
        served, begun = Served(), list[None]()

        async def answer(request: web.Request) -> web.StreamResponse:
            if request.method == "POST" and request.path.endswith("/jobs") and status:
                return web.json_response({"message": "exceeded quota"}, status=status)
            return await served.answer(request)

        async with played_cluster(answer) as cluster:
            live = LiveTests(cluster, INSTALLATION, lambda: None, lambda: begun.append(None))
            live.object_changed("ADDED", served.put("t", SMALL))
            await until(lambda: bool(begun) or served.told("t")["status"].get("phase") == "Finished")
            await live.stop()
        return len(begun)

    assert [asyncio.run(play(status)) for status in (0, 403)] == [1, 0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("installation", "spec"),
    [
        pytest.param(INSTALLATION, {**on_nodes(300), "suspend": True}, id="suspended"),
        pytest.param(ONE_AT_ONCE, on_nodes(300), id="queued"),
        pytest.param(INSTALLATION, {**on_nodes(300), "load": {}}, id="refused"),
    ],
)
def test_a_test_that_only_waits_takes_few_bytes_however_large_its_spec_is(
    installation: Installation, spec: Mapping[str, Any]
) -> None:
    many, most_bytes = 8, 12_000  # its body takes 50,000

    async def held_bytes(served: Served, live: LiveTests, *names: str) -> int:
        gc.collect()
        before = tracemalloc.get_traced_memory()[0] - sum(map(len, served.tests.values()))
        for name in names:
            live.object_changed("ADDED", served.put(name, spec))
            await asyncio.sleep(0)
        for name in names:
            await waits(live, served, name)
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - sum(map(len, served.tests.values())) - before

    async def play() -> int:
        served = Served()
        async with operator(served, installation) as live:
            live.object_changed("ADDED", RUNS)
            await held_bytes(served, live, *(f"first{number}" for number in range(many)))
            return await held_bytes(served, live, *(f"t{number}" for number in range(many)))

    tracemalloc.start()
    try:
        assert asyncio.run(play()) / many < most_bytes
    finally:
        tracemalloc.stop()
