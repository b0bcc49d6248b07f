"""A test that an owner made is worked on, though the watch never tells of its creation."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web
from plans import INSTALLATION
from played_api import played_cluster
from sim_comparison import comparison_spec
from specs.small import SMALL
from sshload_operator.api.kinds import COMPARISON, SCHEDULE, Kind
from sshload_operator.control.live.kinds import LiveKinds
from sshload_operator.control.metrics.server import OperatorMetrics

_WITHIN_S = 300.0
LONG_AGO = f"{datetime.now(UTC) - timedelta(days=730):%Y-%m-%dT%H:%M:%SZ}"
METADATA = {
    "namespace": "ns",
    "name": "owner",
    "uid": "u",
    "resourceVersion": "7",
    "generation": 1,
    "creationTimestamp": LONG_AGO,
}
DUE: dict[str, Any] = {
    "metadata": METADATA,
    "spec": {"schedule": "0 0 1 1 *", "testTemplate": {"spec": SMALL}},
    "status": {"lastScheduleTime": LONG_AGO, "observedGeneration": 1},
}
COMPARES: dict[str, Any] = {"metadata": METADATA, "spec": comparison_spec()}


@pytest.mark.parametrize(("kind", "owner"), [(SCHEDULE, DUE), (COMPARISON, COMPARES)], ids=["schedule", "comparison"])
def test_its_run_begins_though_no_event_tells_of_it(kind: Kind, owner: dict[str, Any]) -> None:
    tests: dict[str, Any] = {}

    async def play() -> None:
        begun = asyncio.Event()

        async def answer(request: web.Request) -> web.Response:
            sent = json.loads(await request.read() or "{}")
            collection, _, name = request.path.removesuffix("/status").rpartition("/")
            if request.method == "POST" and request.path.endswith("/sshloadtests"):
                tests[sent["metadata"]["name"]] = {**sent, "metadata": {**METADATA, **sent["metadata"], "uid": "made"}}
                return web.json_response(tests[sent["metadata"]["name"]])
            if request.method == "POST" and request.path.endswith("/secrets"):
                begun.set()
            if request.method == "GET" and collection.endswith("/sshloadtests"):
                return web.json_response(tests[name])
            if request.method == "GET" and name == "owner":
                return web.json_response(owner)
            if request.method == "GET":
                return web.json_response({"items": [*tests.values()], "metadata": {}})
            return web.json_response({**owner, **sent, "metadata": {**METADATA, **sent.get("metadata", {})}})

        async with played_cluster(answer) as cluster:
            kinds = LiveKinds(cluster, INSTALLATION, OperatorMetrics())
            kinds.owner_changed(kind.plural, "ADDED", owner)
            await asyncio.wait_for(begun.wait(), _WITHIN_S)
            await kinds.stop()

    asyncio.run(play())
    assert len(tests) == 1
