"""A test that an owner made is worked on, though the watch never tells of its creation."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from plans import INSTALLATION
from played_api import played_cluster
from played_objects import PlayedObjects
from sim_comparison import comparison_spec
from specs.small import SMALL
from sshload_operator.api.kinds import COMPARISON, SCHEDULE, Kind
from sshload_operator.control.live.kinds import LiveKinds
from sshload_operator.control.metrics.server import OperatorMetrics
from until import until

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
    api = PlayedObjects()
    api.put(kind.plural, owner)

    async def play() -> None:
        async with played_cluster(api.answer) as cluster:
            kinds = LiveKinds(cluster, INSTALLATION, OperatorMetrics())
            kinds.owner_changed(kind.plural, "ADDED", owner)
            await until(lambda: api.was_asked("POST", "secrets"))
            await kinds.stop()

    asyncio.run(play())
    assert len([name for name in api.there if name.startswith("sshloadtests/")]) == 1
