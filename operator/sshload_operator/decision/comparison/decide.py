"""What is to be done about a comparison: a pure function of the plan, what is remembered and seen, and the time.

One test after the other, in the plan's order, each under the one name that its place has. A test that is over is
remembered in the status before the next one is made, and the next one is made only once no pod of the one before is
left. So an operator that is killed anywhere finds in status and names what to do next: it neither makes two tests at
once nor loses one. A test whose generator lagged is deleted and made again under its name, once the status remembers it
by its uid.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from sshload_operator.api.comparison.words import (
    ComparisonCondition,
    ComparisonPhase,
    ComparisonReason,
    ComparisonVerdict,
)
from sshload_operator.api.errors import SpecError
from sshload_operator.api.status.comparison import MOST_REPEATS, ComparisonStatus, TestRun
from sshload_operator.api.status.head import Remembered, written
from sshload_operator.decision.comparison.compare import compare
from sshload_operator.decision.comparison.endings import Ending, ended_conditions, ending, given_up
from sshload_operator.decision.comparison.facts import ObservedTest, test_run
from sshload_operator.decision.comparison.figures import most_of_each
from sshload_operator.decision.comparison.plan import ComparisonPlan, Place, test_manifest
from sshload_operator.decision.comparison.status import Results, results_status
from sshload_operator.decision.findings import MESSAGE_LIMIT_CHARACTERS, Finding, conditions
from sshload_operator.planning.plan import TestIdentity, is_same_spec
from sshload_operator.state import Announcement, ConditionStatus, Manifest

_PODS_NAMED = 5
TEST_PASS_S = 300.0
GOING_PASS_S = 1.0
REFUSED_PASS_S = 30.0


@dataclass(frozen=True, slots=True)
class Refused:
    """Why the next test cannot be made. `may_pass` says that it may be possible later, as once a quota has room."""

    reason: ComparisonReason
    message: str
    may_pass: bool = False


@dataclass(frozen=True, slots=True)
class ObservedComparison:
    """What is seen. `pods` are the names of all pods of the comparison's tests, None where nobody has looked.

    `refused` is why the next test cannot be made, None where nothing is known to be in its way.
    """

    tests: Sequence[ObservedTest]
    pods: Sequence[str] | None
    refused: Refused | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonDecision:
    """What is to be done, in this order: delete, abort, create, write the status, announce.

    `look_for_pods` asks for another decision, with the pods. `create` is the manifest of the next test. `status` is the
    whole status, None where it stands already. `requeue_after_s` None: there is nothing more to wait for.
    """

    look_for_pods: bool = False
    delete: tuple[ObservedTest, ...] = ()
    abort: tuple[ObservedTest, ...] = ()
    create: Manifest | None = None
    status: Mapping[str, Any] | None = None
    announcements: tuple[Announcement, ...] = ()
    requeue_after_s: float | None = None


def current_comparison_run(comparison: TestIdentity, spec_hash: str, past: Remembered[ComparisonStatus]) -> int:
    """Return for which run the plan is to be made: the remembered one while it compares the same, else a new one."""
    if (
        not is_same_spec(spec_hash, comparison.generation, past.status)
        or past.status.verdict is ComparisonVerdict.ABORTED
    ):
        return comparison.generation
    return past.status.run


def looked_for(plan: ComparisonPlan, tests: Sequence[ObservedTest]) -> frozenset[str]:
    """Return the tests whose pods are to be looked for: the plan's, and those of an earlier run by their own names."""
    return plan.names | {test.name for test in tests}


def decide_comparison(
    comparison: TestIdentity,
    plan: ComparisonPlan | SpecError,
    past: Remembered[ComparisonStatus],
    observed: ObservedComparison,
    now: datetime,
) -> ComparisonDecision:
    """Return what is to be done now. Total: every combination of facts has a decision."""
    if isinstance(plan, SpecError):
        seen = past.status.observed_generation
        if past.status.phase is ComparisonPhase.FINISHED and past.status.spec_hash and seen == comparison.generation:
            return ComparisonDecision(abort=_unfinished(observed))  # an older operator's verdict: it read the spec
        return _refuse(comparison, plan, past, observed, now)
    is_same = is_same_spec(plan.spec_hash, comparison.generation, past.status)
    is_over = past.status.phase is ComparisonPhase.FINISHED
    if is_same and is_over and (past.status.verdict is not ComparisonVerdict.ABORTED or plan.spec.abort):
        return _keep(plan, past, observed)
    run = _Run(plan, past, observed, now, resumed=is_same and not is_over)
    if plan.spec.abort:
        message = "spec.abort was set. Set it to false to compare anew"
        return run.finish(Ending(ComparisonVerdict.ABORTED, ComparisonReason.ABORT_REQUESTED, message))
    return run.go_on()


def _refuse(
    comparison: TestIdentity,
    error: SpecError,
    past: Remembered[ComparisonStatus],
    observed: ObservedComparison,
    now: datetime,
) -> ComparisonDecision:
    """Finish a comparison whose spec cannot be read. Its hash is forgotten, so that any readable spec is a new run."""
    end = Ending(ComparisonVerdict.ERROR, ComparisonReason.INVALID_SPEC, str(error))
    was_refused = (
        past.status.phase is ComparisonPhase.FINISHED
        and not past.status.spec_hash
        and past.status.run == comparison.generation
    )
    standing = ComparisonStatus(
        observed_generation=comparison.generation,
        run=comparison.generation,
        spec_hash="",
        phase=ComparisonPhase.FINISHED,
        verdict=end.verdict,
        reason=end.reason,
        message=end.message,
        conditions=ended_conditions(end, past.status, now),
        completion_time=past.status.completion_time if was_refused else now,
    )
    return _write(past, standing, ComparisonDecision(abort=_unfinished(observed)))


def _keep(plan: ComparisonPlan, past: Remembered[ComparisonStatus], observed: ObservedComparison) -> ComparisonDecision:
    """Leave what was found as it stands, and let no test run on."""
    whole = past.seen_at(plan.comparison.generation)
    return ComparisonDecision(abort=_unfinished(observed), status=None if whole == past.written else whole)


def _unfinished(observed: ObservedComparison) -> tuple[ObservedTest, ...]:
    return tuple(test for test in observed.tests if test.verdict is None and not test.aborting and not test.deleting)


@dataclass(frozen=True)
class _Run:
    """The arguments of one decision about a run, kept together, and what follows from them."""

    plan: ComparisonPlan
    past: Remembered[ComparisonStatus]
    observed: ObservedComparison
    now: datetime
    resumed: bool

    def go_on(self) -> ComparisonDecision:
        """Return what is to be done about a run that nobody has asked to end."""
        old = [test for test in self.observed.tests if test.run_id != self.plan.run_id]
        if old:
            return self.make_room(old)
        no_use = given_up(self.plan, self.ended)
        if no_use is not None:
            return self.finish(no_use)
        over = {run.test for run in self.ended if not run.is_repeated}
        place = next((place for place in self.plan.places if place.test not in over), None)
        return self.test(place) if place is not None else self.finish(ending(self.plan, self.ended, self.results))

    def make_room(self, old: Sequence[ObservedTest]) -> ComparisonDecision:
        """End the tests of an earlier run, and delete them once their pods are gone: no others know of these pods."""
        running = [test for test in old if test.verdict is None and not test.deleting]
        if not running and self.observed.pods is None:
            return ComparisonDecision(look_for_pods=True)
        abort = tuple(test for test in running if not test.aborting)
        delete: tuple[ObservedTest, ...] = ()
        if running:
            what = f"{running[0].name} is of an earlier run, and is being ended"
        elif self.observed.pods:
            what = f"the tests of an earlier run are deleted once their pods are gone: {self.pod_names}"
        else:
            what = f"{len(old)} tests of an earlier run are being deleted: their names are needed"
            delete = tuple(test for test in old if not test.deleting)
        standing = self.under_way(ComparisonReason.OLD_TESTS_GOING, what)
        deeds = ComparisonDecision(abort=abort, delete=delete, requeue_after_s=GOING_PASS_S)
        return _write(self.past, standing, deeds)

    def test(self, place: Place) -> ComparisonDecision:
        """Wait for the test of a place, or make it once no pod is left of those before."""
        seen = next((test for test in self.observed.tests if test.name == place.test), None)
        lagged = next((run for run in self.ended if run.test == place.test), None)
        if seen is not None and lagged is not None and seen.uid == lagged.uid:
            return self.make_way(place, seen, lagged)
        if seen is not None:
            what = "is being deleted, and will be made anew" if seen.deleting else "is under way"
            standing = self.under_way(ComparisonReason.TEST_RUNNING, f"{place.test} {what}", place)
            return _write(self.past, standing, ComparisonDecision(requeue_after_s=TEST_PASS_S))
        if self.observed.refused is not None:
            return self.refused(self.observed.refused, place)
        if self.observed.pods is None:
            return ComparisonDecision(look_for_pods=True)
        if self.observed.pods:
            what = f"{place.test} is not made before the pods of the last test are gone: {self.pod_names}"
            standing = self.under_way(ComparisonReason.PODS_GOING, what, place)
            return _write(self.past, standing, ComparisonDecision(requeue_after_s=GOING_PASS_S))
        standing = self.under_way(ComparisonReason.TEST_STARTING, f"{place.test} is being made", place)
        create = test_manifest(self.plan, place)
        return _write(self.past, standing, ComparisonDecision(create=create, requeue_after_s=GOING_PASS_S))

    def refused(self, why: Refused, place: Place) -> ComparisonDecision:
        """Wait where the next test may be let in later, else end."""
        if not why.may_pass:
            return self.finish(Ending(ComparisonVerdict.ERROR, why.reason, why.message))
        standing = self.under_way(why.reason, why.message, place)
        return _write(self.past, standing, ComparisonDecision(requeue_after_s=REFUSED_PASS_S))

    def make_way(self, place: Place, seen: ObservedTest, lagged: TestRun) -> ComparisonDecision:
        """Delete a test whose generator lagged, once it is remembered, so that another takes its place."""
        what = f"{place.test} is made again ({lagged.repeats + 1} of {MOST_REPEATS} times at most): {lagged.problem}"
        standing = self.under_way(ComparisonReason.TEST_STARTING, what, place)
        delete = (seen,) if lagged in self.past.status.tests and not seen.deleting else ()
        return _write(self.past, standing, ComparisonDecision(delete=delete, requeue_after_s=GOING_PASS_S))

    def finish(self, end: Ending) -> ComparisonDecision:
        """Return the end of the run. Of what was measured by then, all figures are kept."""
        standing = replace(
            self.standing(),
            phase=ComparisonPhase.FINISHED,
            verdict=end.verdict,
            reason=end.reason,
            message=end.message,
            conditions=ended_conditions(end, self.past.status, self.now),
            completion_time=self.now,
            round=max((run.round for run in self.ended), default=0),
        )
        return _write(self.past, standing, ComparisonDecision(abort=_unfinished(self.observed)))

    @property
    def pod_names(self) -> str:
        """The first of the pods that are seen."""
        return ", ".join(sorted(self.observed.pods or ())[:_PODS_NAMED])

    @cached_property
    def ended(self) -> tuple[TestRun, ...]:
        """The last test of each place that is over, in their order: those remembered, or seen to have ended since."""
        known = {run.test: run for run in self.past.status.tests} if self.resumed else {}
        seen = {test.name: test for test in self.observed.tests if test.run_id == self.plan.run_id}
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
        """All figures by variant."""
        first = self.plan.spec.variants[0].name
        seed = int(self.plan.run_id, 16)
        measured = [run for run in self.ended if not run.problem]
        return {variant.name: compare(measured, first, variant.name, seed) for variant in self.plan.spec.variants}

    def under_way(self, reason: ComparisonReason, message: str, place: Place | None = None) -> ComparisonStatus:
        """Return what the status says of a run that goes on."""
        says = Finding(ConditionStatus.UNKNOWN, reason, message)
        findings = {
            ComparisonCondition.COMPLETE: replace(says, status=ConditionStatus.FALSE),
            ComparisonCondition.READY: says,
            ComparisonCondition.RECONCILING: replace(says, status=ConditionStatus.TRUE),
            ComparisonCondition.STALLED: replace(says, status=ConditionStatus.FALSE, message="the tests go on"),
        }
        return replace(
            self.standing(),
            phase=ComparisonPhase.RUNNING if place is not None else ComparisonPhase.PENDING,
            reason=reason,
            message=message,
            conditions=conditions(findings, self.past.status.conditions, self.now),
            round=place.round if place is not None else 0,
            test=place.test if place is not None else "",
        )

    def standing(self) -> ComparisonStatus:
        """Return what every status of the run says. Results are computed only where a test has ended since."""
        body = self.past.status.results
        if not self.resumed or self.ended != self.past.status.tests:
            body = results_status(self.results, self.ended) if self.ended else None
        done, planned = sum(not run.is_repeated for run in self.ended), len(self.plan.places)
        return ComparisonStatus(
            observed_generation=self.plan.comparison.generation,
            run=self.plan.run,
            spec_hash=self.plan.spec_hash,
            phase=ComparisonPhase.RUNNING,
            reason=ComparisonReason.TEST_RUNNING,
            message="",
            conditions=(),
            start_time=(self.past.status.start_time if self.resumed else None) or self.now,
            progress=f"{done}/{planned}",
            tests=self.ended,
            results=body,
        )


def _write(
    past: Remembered[ComparisonStatus], status: ComparisonStatus, decision: ComparisonDecision
) -> ComparisonDecision:
    """Return the decision with the status, and with an Event where the run or its phase is news."""
    whole = written(replace(status, message=status.message[:MESSAGE_LIMIT_CHARACTERS]))
    before, after = ((said.run, said.phase, said.verdict) for said in (past.status, status))
    is_good = status.verdict in (None, ComparisonVerdict.CONCLUSIVE, ComparisonVerdict.ABORTED)
    reason = ComparisonReason(status.reason)
    news = (Announcement(reason, status.message, warning=not is_good),) if before != after else ()
    return replace(decision, status=None if whole == past.written else whole, announcements=news)
