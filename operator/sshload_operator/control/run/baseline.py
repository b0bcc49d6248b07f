"""Looks for a run's baseline: the test that its spec names, or a test of its schedule."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final

from sshload_operator.api.kinds import SCHEDULE, TEST
from sshload_operator.api.names import label_value
from sshload_operator.control.api_server.cluster import Cluster, Object
from sshload_operator.control.live.owned_tests import is_controlled_by
from sshload_operator.control.run.judging import Judging
from sshload_operator.decision.baseline.find import (
    Candidate,
    EarlierTest,
    Found,
    Unusable,
    best_first,
    candidate,
    judge_candidate,
)
from sshload_operator.manifests.labels import SCHEDULE_LABEL
from sshload_operator.planning.plan import Plan
from sshload_operator.state import ObservedBaseline, Reason

# Each costs a request and, for a spec of 300 kB, some 20 ms in the one thread that all tests share. Other tests of a
# spec that was found to measure something else are not read: the limit is one of different specs.
_MOST_READ: Final = 20

_NO_SCHEDULE = (
    "the test belongs to no SSHLoadTestSchedule, so there is no earlier test that passed. Name a test in "
    "spec.baseline.testRef, or let a schedule make the test"
)


async def look_for_baseline(
    cluster: Cluster, judging: Judging, plan: Plan, test: Object, start_time: datetime
) -> ObservedBaseline | None:
    """Return the tests that may be the baseline of a run that started at this time, None if it asks for none.

    At most 20 tests of a schedule are read whole: the best candidates, and the oldest ones.
    """
    baseline = plan.spec.baseline
    if baseline is None:
        return None
    if baseline.test:
        found = await cluster.read(TEST, plan.test.namespace, baseline.test)
        return ObservedBaseline(() if found is None else (found,), "")
    schedule = _schedule(test)
    if schedule is None:
        return ObservedBaseline((), _NO_SCHEDULE)
    return ObservedBaseline(await _Look(cluster, judging, plan, schedule).of_schedule(start_time), "")


@dataclass(slots=True)
class _Look:
    """A look at the tests of a schedule. `others` has what was measured by tests that measured something else."""

    cluster: Cluster
    judging: Judging
    plan: Plan
    schedule: Object
    reads_left: int = _MOST_READ
    others: set[str] = field(default_factory=set)

    async def of_schedule(self, start_time: datetime) -> tuple[Object, ...]:
        """Return the last test that fits and the oldest one that does, or the best candidate if none fits."""
        selector = f"{SCHEDULE_LABEL}={label_value(self.schedule['name'])}"
        facts = partial(self._candidate, start_time)
        listed = await self.cluster.list_ours(TEST, self.plan.test.namespace, selector, facts)
        candidates = best_first(filter(None, listed))
        last = await self._first_that_fits(candidates)
        if last is None:
            best = await self._read(candidates[0]) if candidates else None
            return () if best is None else (best,)
        fit, body = last
        older = sorted((one for one in candidates if one.age < fit.age), key=lambda one: one.age)
        oldest = await self._first_that_fits(older)
        return (body,) if oldest is None else (body, oldest[1])

    def _candidate(self, start_time: datetime, test: Object) -> Candidate | None:
        return candidate(self.plan, EarlierTest.of(test), start_time) if self._is_of_schedule(test) else None

    def _is_of_schedule(self, test: Object) -> bool:
        return is_controlled_by(test, self.schedule["uid"])

    async def _first_that_fits(self, candidates: Iterable[Candidate]) -> tuple[Candidate, Object] | None:
        """Return the first candidate that the run can be compared with, None if there is none within the reads left."""
        for one in candidates:
            if not one.clean or one.measured in self.others:
                continue
            if not self.reads_left:
                return None
            self.reads_left -= 1
            test = await self._read(one)
            if test is not None and await self._fits(one, test):
                return one, test
        return None

    async def _fits(self, one: Candidate, test: Object) -> bool:
        judge = partial(judge_candidate, self.plan, EarlierTest.of(test))
        judged = await self.judging.run(self.plan.test.namespace, judge)
        if isinstance(judged, Unusable) and judged.reason is Reason.BASELINE_DIFFERS:
            self.others.add(one.measured)
        return isinstance(judged, Found)

    async def _read(self, one: Candidate) -> Object | None:
        """Return the whole test, None if it is gone or has been replaced by another one."""
        found = await self.cluster.read(TEST, self.plan.test.namespace, one.ref.test)
        if found is None or found["metadata"]["uid"] != one.ref.uid or not self._is_of_schedule(found):
            return None
        return found


def _schedule(test: Object) -> Object | None:
    """Return the reference to the schedule that controls the test, None if none does."""
    references = test["metadata"].get("ownerReferences", ())
    return next((one for one in references if one.get("controller") and one["kind"] == SCHEDULE.name), None)
