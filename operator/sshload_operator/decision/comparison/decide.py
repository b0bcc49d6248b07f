"""What must be done for a comparison: a pure function of the plan, what is remembered and observed, and the time.

Tests run one after the other, in the plan's order, each with the fixed name of its place. A test that is over is
recorded in the status before the next one is created, and the next one is created only when no pod of the previous one
is left. So an operator that was killed at any point knows from the status and the names what to do next: it neither
creates two tests at once nor loses one. A test whose generator lagged is deleted and created again under its name, once
its uid is recorded in the status.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.status.compared import most_of_each
from sshload_operator.api.status.comparison import (
    MOST_REPEATS,
    ComparisonCondition,
    ComparisonPhase,
    ComparisonReason,
    ComparisonStatus,
    ComparisonVerdict,
    TestRun,
)
from sshload_operator.api.status.head import Condition, Remembered
from sshload_operator.decision.comparison.compare import Results, compare, results_status
from sshload_operator.decision.comparison.endings import Ending, ending, given_up
from sshload_operator.decision.comparison.facts import ObservedTest, test_run
from sshload_operator.decision.comparison.plan import ComparisonPlan, Place, refusal, test_manifest
from sshload_operator.decision.life_cycle import (
    Finding,
    changed_generation,
    changed_status,
    conditions,
    in_progress,
    is_over,
    is_over_unread,
    is_resumed,
    refused_at,
    settled,
)
from sshload_operator.decision.owner import Cause, OwnerDecision, OwnerSubject
from sshload_operator.planning.installation import Installation
from sshload_operator.planning.plan import TestIdentity
from sshload_operator.state import Announcement, ConditionStatus

_PODS_NAMED: Final = 5
TEST_PASS_S: Final = 300.0
GOING_PASS_S: Final = 1.0
REFUSED_PASS_S: Final = 30.0
_CAUSES = {Cause.REFUSED: ComparisonReason.TEST_REFUSED, Cause.NAME_TAKEN: ComparisonReason.NAME_TAKEN}


@dataclass(frozen=True, kw_only=True)
class ComparisonSubject(OwnerSubject[ObservedTest]):
    """A comparison with all facts of one decision about it."""

    comparison: TestIdentity
    plan: ComparisonPlan | SpecError
    remembered: Remembered[ComparisonStatus]
    installation: Installation

    def keep(self) -> OwnerDecision | None:
        """Keep the results, and end tests that still run. An older operator may have read the spec differently."""
        generation, past = self.comparison.generation, self.remembered.status
        if isinstance(self.plan, SpecError):
            return OwnerDecision(abort=self._unfinished, rests=True) if is_over_unread(generation, past) else None
        if not is_over(self.plan.spec_hash, generation, past, abort=self.plan.spec.abort or self.deleting):
            return None
        status = changed_generation(self.remembered, generation)
        return OwnerDecision(abort=self._unfinished, status=status, rests=True)

    def refuse(self) -> OwnerDecision | None:
        """Finish a comparison whose spec cannot be read. Its hash is dropped, so any readable spec is a new run."""
        if not isinstance(self.plan, SpecError):
            return None
        generation = self.comparison.generation
        end = Ending(ComparisonVerdict.ERROR, ComparisonReason.INVALID_SPEC, str(self.plan))
        status = ComparisonStatus(
            observed_generation=generation,
            run=generation,
            phase=ComparisonPhase.FINISHED,
            verdict=end.verdict,
            reason=end.reason,
            message=end.message,
            conditions=self._ended_conditions(end),
            completion_time=refused_at(generation, self.remembered.status, self.now),
        )
        return self._write(status, OwnerDecision(abort=self._unfinished, rests=True))

    def end_at_once(self) -> OwnerDecision | None:
        """End a comparison on request."""
        if self.deleting:
            message = "the comparison was deleted. The object remains until its finalizers are removed"
            return self._finish(Ending(ComparisonVerdict.ABORTED, ComparisonReason.DELETED, message))
        if not self._run.plan.spec.abort:
            return None
        message = "spec.abort was set. Set it to false to compare again"
        return self._finish(Ending(ComparisonVerdict.ABORTED, ComparisonReason.ABORT_REQUESTED, message))

    def hold_back(self) -> OwnerDecision | None:
        """Wait before a new run: the tests of an earlier one are ended, and deleted once their pods are gone."""
        run = self._run
        old = [test for test in self.tests if test.run_id != run.plan.run_id]
        if not old:
            return None
        running = [test for test in old if test.verdict is None and not test.deleting]
        if not running and self.pods is None:
            return OwnerDecision(look_for_pods=True)
        abort = tuple(test for test in running if not test.aborting)
        delete: tuple[ObservedTest, ...] = ()
        if running:
            what = f"{running[0].name} is of an earlier run, and is being ended"
        elif self.pods:
            what = f"the tests of an earlier run are deleted once their pods are gone: {self._pod_names}"
        else:
            what = f"{len(old)} tests of an earlier run are being deleted: their names are needed"
            delete = tuple(test for test in old if not test.deleting)
        status = self._under_way(ComparisonReason.OLD_TESTS_GOING, what)
        return self._write(status, OwnerDecision(abort=abort, delete=delete, requeue_after_s=GOING_PASS_S))

    def end(self) -> OwnerDecision | None:
        """End the run if all tests are over, or if more of them would be useless."""
        run = self._run
        found = given_up(run.plan, run.ended)
        if found is None and run.next_place is None:
            found = ending(run.plan, run.ended, run.results)
        return None if found is None else self._finish(found)

    def go_on(self) -> OwnerDecision:
        """Wait for the test of the next place, or create it once no pod of the previous ones is left."""
        run, place = self._run, self._run.next_place
        assert place is not None  # noqa: S101 - else the run has ended
        seen = next((test for test in self.tests if test.name == place.test), None)
        lagged = next((one for one in run.ended if one.test == place.test), None)
        if seen is not None and lagged is not None and seen.uid == lagged.uid:
            return self._make_again(place, seen, lagged)
        if seen is not None:
            what = "is being deleted, and will be made again" if seen.deleting else "is under way"
            status = self._under_way(ComparisonReason.TEST_RUNNING, f"{place.test} {what}", place)
            return self._write(status, OwnerDecision(requeue_after_s=TEST_PASS_S))
        return self._make(place)

    def _make(self, place: Place) -> OwnerDecision:
        if self.obstacle is not None:
            reason = _CAUSES[self.obstacle.cause]
            return self._refused(place, reason, self.obstacle.message, may_pass=self.obstacle.may_pass)
        if self.pods is None:
            return OwnerDecision(look_for_pods=True)
        refused = refusal(self._run.plan, self.installation)
        if refused is not None:
            return self._refused(place, ComparisonReason(refused[0].value), refused[1], may_pass=False)
        if self.pods:
            what = f"{place.test} is not made before the pods of the last test are gone: {self._pod_names}"
            status = self._under_way(ComparisonReason.PODS_GOING, what, place)
            return self._write(status, OwnerDecision(requeue_after_s=GOING_PASS_S))
        status = self._under_way(ComparisonReason.TEST_STARTING, f"{place.test} is being made", place)
        create = test_manifest(self._run.plan, place)
        return self._write(status, OwnerDecision(create=create, requeue_after_s=GOING_PASS_S))

    def _refused(self, place: Place, reason: ComparisonReason, message: str, *, may_pass: bool) -> OwnerDecision:
        """Wait if the next test may be admitted later, else end."""
        if not may_pass:
            return self._finish(Ending(ComparisonVerdict.ERROR, reason, message))
        return self._write(self._under_way(reason, message, place), OwnerDecision(requeue_after_s=REFUSED_PASS_S))

    def _make_again(self, place: Place, seen: ObservedTest, lagged: TestRun) -> OwnerDecision:
        """Delete a test whose generator lagged, once it is recorded, so that another one takes its place."""
        what = f"{place.test} is made again ({lagged.repeats + 1} of {MOST_REPEATS} times at most): {lagged.problem}"
        status = self._under_way(ComparisonReason.TEST_STARTING, what, place)
        delete = (seen,) if lagged in self.remembered.status.tests and not seen.deleting else ()
        return self._write(status, OwnerDecision(delete=delete, requeue_after_s=GOING_PASS_S))

    def _finish(self, end: Ending) -> OwnerDecision:
        """Return the end of the run, with all figures that were measured by then."""
        status = replace(
            self._measured(),
            phase=ComparisonPhase.FINISHED,
            verdict=end.verdict,
            reason=end.reason,
            message=end.message,
            conditions=self._ended_conditions(end),
            completion_time=self.now,
            round=max((run.round for run in self._run.ended), default=0),
        )
        return self._write(status, OwnerDecision(abort=self._unfinished, rests=True))

    @property
    def _pod_names(self) -> str:
        """The names of the first observed pods."""
        return ", ".join(sorted(self.pods or ())[:_PODS_NAMED])

    @property
    def _unfinished(self) -> tuple[ObservedTest, ...]:
        """The tests that must end with the comparison."""
        return tuple(test for test in self.tests if test.verdict is None and not test.aborting and not test.deleting)

    @cached_property
    def _run(self) -> "_Run":
        """The run in progress, or the next one. Raises SpecError if the spec cannot be read."""
        if isinstance(self.plan, SpecError):
            raise self.plan
        resumed = is_resumed(self.plan.spec_hash, self.comparison.generation, self.remembered.status)
        return _Run(self.plan, self.remembered.status, self.tests, resumed)

    def _ended_conditions(self, end: Ending) -> tuple[Condition[ComparisonCondition], ...]:
        """Return the conditions of a comparison that has ended: Ready only if it is conclusive."""
        findings = {
            ComparisonCondition.COMPLETE: Finding(ConditionStatus.TRUE, end.reason, end.message),
            **settled(ComparisonCondition, end.reason, end.message, ready=end.verdict is ComparisonVerdict.CONCLUSIVE),
        }
        return conditions(findings, self.remembered.status.conditions, self.now)

    def _under_way(self, reason: ComparisonReason, message: str, place: Place | None = None) -> ComparisonStatus:
        """Return the status of a run that continues."""
        findings = {
            ComparisonCondition.COMPLETE: Finding(ConditionStatus.FALSE, reason, message),
            **in_progress(ComparisonCondition, reason, message),
        }
        return replace(
            self._measured(),
            phase=ComparisonPhase.RUNNING if place is not None else ComparisonPhase.PENDING,
            reason=reason,
            message=message,
            conditions=conditions(findings, self.remembered.status.conditions, self.now),
            round=place.round if place is not None else 0,
            test=place.test if place is not None else "",
        )

    def _measured(self) -> ComparisonStatus:
        """Return the common part of all statuses of the run. Results are computed only if a test has ended since."""
        run, past = self._run, self.remembered.status
        results = past.results
        if not run.resumed or run.ended != past.tests:
            results = results_status(run.plan.spec, run.results, run.ended) if run.ended else None
        done, planned = sum(not one.is_repeated for one in run.ended), len(run.plan.places)
        return ComparisonStatus(
            observed_generation=self.comparison.generation,
            run=run.plan.run,
            spec_hash=run.plan.spec_hash,
            start_time=(past.start_time if run.resumed else None) or self.now,
            progress=f"{done}/{planned}",
            tests=run.ended,
            results=results,
        )

    def _write(self, status: ComparisonStatus, decision: OwnerDecision) -> OwnerDecision:
        """Return the decision with the status, and with an Event if the run or its phase is new."""
        before, after = ((said.run, said.phase, said.verdict) for said in (self.remembered.status, status))
        is_good = status.verdict in (None, ComparisonVerdict.CONCLUSIVE, ComparisonVerdict.ABORTED)
        said = Announcement(
            ComparisonReason(status.reason), status.message, warning=not is_good, occasion=str(status.run)
        )
        news = (said,) if before != after else ()
        return replace(decision, status=changed_status(self.remembered, status), announcements=news)


@dataclass(frozen=True)
class _Run:
    """One run of a comparison: which of its tests are over, and their results. `past` is what is remembered."""

    plan: ComparisonPlan
    past: ComparisonStatus
    tests: Sequence[ObservedTest]
    resumed: bool

    @cached_property
    def next_place(self) -> Place | None:
        """The first place whose test is not over."""
        over = {run.test for run in self.ended if not run.is_repeated}
        return next((place for place in self.plan.places if place.test not in over), None)

    @cached_property
    def ended(self) -> tuple[TestRun, ...]:
        """The last test of each place that is over, in order: those remembered, or observed to have ended since."""
        known = {run.test: run for run in self.past.tests} if self.resumed else {}
        seen = {test.name: test for test in self.tests if test.run_id == self.plan.run_id}
        most_figures = most_of_each(len(self.plan.places))
        for place in self.plan.places:
            test, before = seen.get(place.test), known.get(place.test)
            if test is None or test.verdict is None:
                continue
            if before is None or (before.is_repeated and test.uid != before.uid):
                repeats = 0 if before is None else before.repeats + 1
                known[place.test] = test_run(place, test, test.verdict, most_figures, repeats)
        return tuple(known[place.test] for place in self.plan.places if place.test in known)

    @cached_property
    def results(self) -> Results:
        """All figures by variant; a test with a problem has none."""
        spec, seed = self.plan.spec, int(self.plan.run_id, 16)
        return {one.name: compare(self.ended, spec.reference_of(one), one.name, seed) for one in spec.variants}
