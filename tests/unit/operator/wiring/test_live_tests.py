"""When a test is looked at again after its end."""

import asyncio
from typing import Any

import pytest
from plans import INSTALLATION
from played_api import played_cluster
from played_objects import PlayedObjects
from specs.small import SMALL
from sshload_operator.api.kinds import API_VERSION, TEST
from sshload_operator.control.live import tests as live_tests
from sshload_operator.control.live.tests import LiveTests
from until import until

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

    api = PlayedObjects()
    api.put("sshloadtests", test)

    async def play() -> None:
        async with played_cluster(api.answer) as cluster:
            tests = LiveTests(cluster, INSTALLATION, lambda: None, lambda: None)
            tests.object_changed("ADDED", test)
            await until(lambda: "sshloadtests/short" in api.names("DELETE"))
            await tests.stop()

    asyncio.run(play())
