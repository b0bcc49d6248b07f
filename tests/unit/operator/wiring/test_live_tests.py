"""When a test is looked at again after its end."""

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web
from plans import INSTALLATION
from played_api import played_cluster
from specs.small import SMALL
from sshload_operator.api.kinds import API_VERSION, TEST
from sshload_operator.control.live import tests as live_tests
from sshload_operator.control.live.tests import LiveTests

_WITHIN_S = 300.0


def test_a_test_without_time_to_live_is_deleted_with_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pods, which would have it looked at again some time later, have nothing to do with that."""
    monkeypatch.setattr(live_tests, "_PODS_GO_WITHIN_S", 3_600.0)
    metadata = {
        "namespace": "ns",
        "name": "short",
        "uid": "u",
        "generation": 1,
        "resourceVersion": "1",
        "creationTimestamp": "2026-11-22T12:00:00Z",
    }
    spec = {**SMALL, "abort": True, "ttlAfterFinished": {"failed": "0s"}}
    test: dict[str, Any] = {"apiVersion": API_VERSION, "kind": TEST.name, "metadata": metadata, "spec": spec}

    async def play() -> None:
        deleted = asyncio.Event()

        async def answer(request: web.Request) -> web.Response:
            sent = json.loads(await request.read() or "{}")
            if request.method == "DELETE" and request.path.endswith("/sshloadtests/short"):
                deleted.set()
            if request.method == "PATCH" and request.path.endswith("/status"):
                test.update(status=sent["status"], metadata={**metadata, "resourceVersion": "2"})
            if request.path.removesuffix("/status").endswith("/sshloadtests/short"):
                return web.json_response(test)
            return web.json_response({"items": [], "metadata": {}})

        async with played_cluster(answer) as cluster:
            tests = LiveTests(cluster, INSTALLATION, lambda: None, lambda: None)
            tests.object_changed("ADDED", test)
            await asyncio.wait_for(deleted.wait(), _WITHIN_S)
            await tests.stop()

    asyncio.run(play())
