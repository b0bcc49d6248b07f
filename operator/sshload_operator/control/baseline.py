"""Where a run's baseline is looked for: the test that its spec names, or those of its schedule."""

from sshload_operator.api.kinds import SCHEDULE, TEST
from sshload_operator.control.cluster import Cluster, Object
from sshload_operator.control.owned_tests import is_controlled_by
from sshload_operator.decision.schedule.facts import SCHEDULE_LABEL
from sshload_operator.planning.plan import Plan
from sshload_operator.state import BaselineSight

_NO_SCHEDULE = (
    "the test belongs to no SSHLoadTestSchedule, so that there is no last one that passed. Name a test in "
    "spec.baseline.testRef, or let a schedule make the test"
)


async def look_for_baseline(cluster: Cluster, plan: Plan, test: Object) -> BaselineSight | None:
    """Return the tests that may be the run's baseline as they are now, None where its spec asks for none."""
    baseline = plan.spec.baseline
    if baseline is None:
        return None
    namespace = plan.test.namespace
    if baseline.test:
        found = await cluster.read(TEST, namespace, baseline.test)
        return BaselineSight(() if found is None else (found,), "")
    schedule = _schedule(test)
    if schedule is None:
        return BaselineSight((), _NO_SCHEDULE)
    tests = await cluster.list_ours(TEST, namespace, f"{SCHEDULE_LABEL}={schedule['name']}")
    return BaselineSight(tuple(one for one in tests if is_controlled_by(one, {"metadata": schedule})), "")


def _schedule(test: Object) -> Object | None:
    """Return the reference to the schedule that controls the test, None where none does."""
    references = test["metadata"].get("ownerReferences", ())
    return next((one for one in references if one.get("controller") and one["kind"] == SCHEDULE.name), None)
