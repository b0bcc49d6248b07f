"""What a pass does about pods that the status says nothing of."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

from aiohttp import web
from plans import INSTALLATION
from played_api import played_api
from specs.small import SMALL
from sshload_operator.control.api_server.cluster import Cluster
from sshload_operator.control.live.room import Room
from sshload_operator.control.run.judging import Judging
from sshload_operator.control.run.observe import Observations
from sshload_operator.control.run.reconcile import ParsedSpec, Shared, reconcile, subject_of
from sshload_operator.manifests import Part, child_name
from sshload_operator.manifests.labels import role_labels
from sshload_operator.planning.plan import Limits, Plan
from sshload_operator.state import Role

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def a_test(generation: int, **spec: Any) -> dict[str, Any]:
    metadata = {"namespace": "ns", "name": "t", "uid": "u", "generation": generation, "resourceVersion": "1"}
    return {"metadata": metadata, "spec": {**SMALL, **spec}, "status": {}}


def first_run() -> Plan:
    plan = subject_of(a_test(1), INSTALLATION, ParsedSpec(), NOON).plan
    assert isinstance(plan, Plan)
    return plan


def master(plan: Plan) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the master's Job, and its pod."""
    name, labels = child_name(plan, Part.MASTER), role_labels(plan, Role.MASTER)
    test = {"kind": "SSHLoadTest", "name": plan.test.name, "uid": plan.test.uid, "controller": True}
    job = {"metadata": {"name": name, "uid": "job", "labels": labels, "ownerReferences": [test]}}
    maker = {"kind": "Job", "name": name, "uid": "job", "controller": True}
    metadata = {"name": f"{name}-x", "resourceVersion": "1", "labels": labels, "ownerReferences": [maker]}
    return job, {"metadata": metadata, "status": {"phase": "Running"}}


def deleted_in_a_pass(test: dict[str, Any], job: dict[str, Any], pod: dict[str, Any]) -> list[str]:
    """Do a pass over a test whose pod the watch told of; return the names of what it deletes."""
    deleted: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        if request.method == "DELETE":
            deleted.append(request.path.rpartition("/")[2])
        if request.method == "GET":
            items = [pod] if request.path.endswith("/pods") else [job]
            return web.json_response({"items": items, "metadata": {}})
        return web.json_response({**test, **json.loads(await request.text() or "{}")})

    async def play() -> None:
        judging, sight = Judging(), Observations()
        sight.pod_changed("ADDED", pod)
        async with played_api(answer) as client:
            cluster = Cluster(client, lambda *_: None)
            try:
                shared = Shared(cluster, judging, Room(Limits()))
                await reconcile(shared, test, subject_of(test, INSTALLATION, ParsedSpec(), NOON), sight)
            finally:
                await cluster.close()
                judging.stop()

    asyncio.run(play())
    return deleted


def test_a_test_whose_status_was_taken_away_leaves_no_load_behind_when_it_is_suspended() -> None:
    plan = first_run()
    assert child_name(plan, Part.MASTER) in deleted_in_a_pass(a_test(2, suspend=True), *master(plan))
