"""A schedule that is due, and whose object is another one by now than the watch has told of."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from played_api import played_cluster
from played_objects import PlayedObjects
from specs.small import SMALL
from sshload_operator.control.live.kinds import ScheduleKind
from sshload_operator.control.live.objects import Rest
from sshload_operator.control.live.owned_tests import OwnedTests
from sshload_operator.control.live.owner_pass import OwnerReconciled, reconcile

DUE_SINCE = f"{datetime.now(UTC) - timedelta(days=730):%Y-%m-%dT%H:%M:%SZ}"
METADATA = {
    "namespace": "ns",
    "name": "nightly",
    "uid": "u",
    "resourceVersion": "7",
    "generation": 1,
    "creationTimestamp": DUE_SINCE,
}
SCHEDULE: dict[str, Any] = {
    "metadata": METADATA,
    "spec": {"schedule": "0 0 1 1 *", "testTemplate": {"spec": SMALL}},
    "status": {"lastScheduleTime": DUE_SINCE, "observedGeneration": 1},
}


def a_pass(there: dict[str, Any] | None) -> tuple[OwnerReconciled, list[str]]:
    """Do a pass over the schedule, in whose place this one is there now; return what came of it, and what was made."""
    api = PlayedObjects(refuses={("POST", "sshloadtests"): [403], ("POST", "events"): [403]})
    if there is not None:
        api.put("sshloadtestschedules", there)

    async def play() -> OwnerReconciled:
        async with played_cluster(api.answer) as cluster:
            return await reconcile(cluster, ScheduleKind(), SCHEDULE, OwnedTests(lambda _: None))

    return asyncio.run(play()), [name.partition("/")[0] for name in api.names("POST")]


@pytest.mark.parametrize(
    "there",
    [
        pytest.param(None, id="deleted"),
        pytest.param({"metadata": {**METADATA, "uid": "another"}}, id="made again"),
        pytest.param({"metadata": {**METADATA, "deletionTimestamp": DUE_SINCE}}, id="being deleted"),
    ],
)
def test_a_schedule_that_is_gone_makes_no_test(there: dict[str, Any] | None) -> None:
    assert a_pass(there) == (OwnerReconciled(None, Rest()), [])


def test_a_schedule_that_is_there_makes_its_test() -> None:
    assert a_pass(SCHEDULE)[1][0] == "sshloadtests"
