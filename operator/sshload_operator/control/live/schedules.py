"""The schedules that are worked on: one pass over one of them, and when it is looked at again.

It is parked until the next start, whose time is looked at every minute, because a clock that is set tells nobody.
"""

from datetime import UTC, datetime
from typing import Final

from sshload_operator.api.errors import SpecError
from sshload_operator.api.kinds import SCHEDULE, TEST, Kind
from sshload_operator.api.schedule.spec import ScheduleSpec, parse_schedule
from sshload_operator.api.schedule.words import ScheduleReason
from sshload_operator.api.status.head import remembered
from sshload_operator.api.status.schedule import ScheduleStatus
from sshload_operator.control.api_server.announcement import About, announce
from sshload_operator.control.api_server.cluster import REFUSED, ApiError, Cluster, Object, object_path
from sshload_operator.control.live.objects import Rest
from sshload_operator.control.live.owned_tests import (
    OwnedTests,
    OwnerReconciled,
    delete_owned_test,
    is_controlled_by,
    refresh,
)
from sshload_operator.decision.schedule.decide import ScheduleDecision, decide
from sshload_operator.decision.schedule.facts import (
    SCHEDULE_LABEL,
    Obstacle,
    ScheduledTest,
    ScheduleSituation,
    identity,
    scheduled_test,
)
from sshload_operator.state import Manifest

_LIST_EVERY_S: Final = 300.0
# A pass is short, and holds a body, what was parsed of it, and the answer to its write: 1 MB of the largest.
_PASSES_AT_ONCE: Final = 8
# Before a test is made, what is under way is looked up: the watch may be behind.
_FRESH_S: Final = 2.0
# A look at what is there, the creation, and the status; another look in between takes one more.
_MOST_ROUNDS: Final = 4

Tests = OwnedTests[ScheduledTest]


class ScheduleKind:
    """SSHLoadTestSchedules, as owners of tests."""

    kind: Kind = SCHEDULE
    label: str = SCHEDULE_LABEL
    list_every_s: float = _LIST_EVERY_S
    passes_at_once: int = _PASSES_AT_ONCE

    def facts(self, test: Object) -> ScheduledTest:
        """Return what matters of a test to its schedule."""
        return scheduled_test(test)

    async def reconcile(self, cluster: Cluster, body: Object, tests: Tests) -> OwnerReconciled:
        """Do one pass: observe, decide, make and delete tests, decide anew by what is there, and write the status."""
        now = datetime.now(UTC)
        obstacle: Obstacle | None = None
        for _ in range(_MOST_ROUNDS):
            decision = decide(_situation(body, tests, obstacle, now))
            if decision.create is None:
                return await _write(cluster, body, tests, decision, now)
            if await refresh(cluster, self, body, tests, _FRESH_S):
                continue
            if not await _is_there(cluster, body):
                return OwnerReconciled(None, Rest())
            await _delete(cluster, body, tests, decision.replace)
            obstacle = await _create(cluster, body, tests, decision.create)
            if obstacle is None:
                await _announce(cluster, body, tests, decision, now)
        return OwnerReconciled(body, tests.park(0.0, now))


def _situation(body: Object, tests: Tests, obstacle: Obstacle | None, now: datetime) -> ScheduleSituation:
    return ScheduleSituation(
        schedule=identity(body),
        spec=_spec(body),
        remembered=remembered(ScheduleStatus, body.get("status")),
        tests=tuple(tests.facts.values()),
        obstacle=obstacle,
        now=now,
    )


def _spec(body: Object) -> ScheduleSpec | SpecError:
    try:
        return parse_schedule(body["spec"])
    except SpecError as error:
        return error


async def _is_there(cluster: Cluster, body: Object) -> bool:
    """Tell whether this very schedule is there: the watch may be behind, and its test would have no owner."""
    metadata = body["metadata"]
    found = await cluster.read(SCHEDULE, metadata["namespace"], metadata["name"])
    if found is None or "deletionTimestamp" in found["metadata"]:
        return False
    return bool(found["metadata"]["uid"] == metadata["uid"])


async def _delete(cluster: Cluster, body: Object, tests: Tests, old: tuple[ScheduledTest, ...]) -> None:
    for test in old:
        await delete_owned_test(cluster, body["metadata"]["namespace"], test.name, test.uid)
        tests.drop(test.name)


async def _create(cluster: Cluster, body: Object, tests: Tests, manifest: Manifest) -> Obstacle | None:
    """Create a test, or find that it was made before; return what was in the way, if anything was."""
    namespace, name = manifest["metadata"]["namespace"], manifest["metadata"]["name"]
    try:
        made = await cluster.create_new(object_path(TEST, namespace, name), manifest)
    except ApiError as error:
        if error.status not in REFUSED:
            raise
        return Obstacle(ScheduleReason.CREATE_REFUSED, f"the test {name} was refused: {error}")
    found = made or await cluster.read(TEST, namespace, name)
    if found is None or not is_controlled_by(found, body["metadata"]["uid"]):
        return Obstacle(ScheduleReason.NAME_TAKEN, f"there is a test {name} that is not of this schedule")
    tests.made(found, scheduled_test)
    return None


async def _write(
    cluster: Cluster, body: Object, tests: Tests, decision: ScheduleDecision, now: datetime
) -> OwnerReconciled:
    newest: Object | None = body
    if decision.status is not None:
        newest = await cluster.write_status(SCHEDULE, body, decision.status)
    if newest is not None:
        await _announce(cluster, body, tests, decision, now)
        await _delete(cluster, body, tests, decision.discard)
    return OwnerReconciled(newest, tests.park(decision.requeue_after_s, now))


async def _announce(cluster: Cluster, body: Object, tests: Tests, decision: ScheduleDecision, now: datetime) -> None:
    metadata = body["metadata"]
    for occasion, said in decision.announcements:
        about = About(SCHEDULE, metadata["namespace"], metadata["name"], metadata["uid"], occasion)
        if tests.is_news(about, said):
            await announce(cluster, about, (said,), now)
