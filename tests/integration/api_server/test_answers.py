"""The form of the API server's answers: one that msgspec refuses is read more slowly."""

import asyncio
import json
import subprocess
from typing import Any

import pytest
from api_server import ApiServer
from live_cluster import LiveCluster, load_test
from sshload_operator.control.api_server import lean_json
from sshload_operator.control.api_server.lean_json import lean_event, read_json, read_page

PODS, TESTS = "api/v1/namespaces/{}/pods", "apis/sshload.dev/v1alpha1/namespaces/{}/sshloadtests"
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "one"},
    "spec": {"containers": [{"name": "one", "image": "one"}]},
}


@pytest.fixture
def cluster(api_server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> LiveCluster:
    """Return a namespace with three pods and three tests; an answer that msgspec refuses raises."""
    found = api_server.namespace()
    names = ("one", "two", "three")
    found.create(*({**POD, "metadata": {"name": name}} for name in names), *(load_test(name) for name in names))

    def refuse(text: bytes, within: int = 0) -> None:
        raise AssertionError((text, within))

    monkeypatch.setattr(lean_json, "_shallow", refuse)
    return found


def answer(cluster: LiveCluster, path: str, query: str) -> bytes:
    """Return what the API server answers, as it writes it."""
    return cluster.kubectl("get", "--raw", f"/{path.format(cluster.namespace)}{query}").encode()


def watched(cluster: LiveCluster, path: str, count: int) -> list[bytes]:
    """Return so many events of a watch, as the API server writes them, however long they take."""
    command = cluster.command("get", "--raw", f"/{path.format(cluster.namespace)}?watch=1")
    with subprocess.Popen(command, stdout=subprocess.PIPE) as watching:
        assert watching.stdout is not None
        lines = [watching.stdout.readline() for _ in range(count)]
        watching.terminate()
    return lines


@pytest.mark.parametrize(("path", "has_spec"), [(PODS, False), (TESTS, True)])
@pytest.mark.parametrize("limit", [2, 5])
def test_a_page_of_a_list_is_read_object_by_object(
    cluster: LiveCluster, path: str, limit: int, *, has_spec: bool
) -> None:
    text = answer(cluster, path, f"?limit={limit}")
    found, whole = asyncio.run(read_page(text)), json.loads(text)
    assert {name: whole["metadata"].get(name) for name in found["metadata"]} == found["metadata"]
    assert found["metadata"].get("continue") == whole["metadata"].get("continue")
    assert [one["metadata"]["name"] for one in found["items"]] == [one["metadata"]["name"] for one in whole["items"]]
    assert {"spec" in one for one in found["items"]} == {has_spec}


@pytest.mark.parametrize(("path", "has_spec"), [(PODS, False), (TESTS, True)])
def test_events_and_objects_are_read_without_what_is_dropped(
    cluster: LiveCluster, path: str, *, has_spec: bool
) -> None:
    events = [json.loads(lean_event(line)[1]) for line in watched(cluster, path, 3)]
    assert [("spec" in event["object"]) for event in events] == [has_spec] * 3
    assert ("spec" in read_json(answer(cluster, path, "/one"))) is has_spec
