"""What must be done for a test: a pure function of the plan, what is remembered, what is observed, and the time.

A new run begins for a spec that was not run before, and after a change of what is measured. A finished run keeps its
verdict, and its remaining objects are deleted.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from sshload_contract.vocabulary import Verdict

from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.status.head import Remembered
from sshload_operator.api.status.load_test import Progress, TestHead, TestStatus
from sshload_operator.decision.capacity.status import capacity_status
from sshload_operator.decision.judgement import Judgement
from sshload_operator.decision.life_cycle import (
    Decision,
    Subject,
    changed_generation,
    changed_status,
    conditions,
    is_over,
    is_over_unread,
    is_resumed,
    is_run_of,
    refused_at,
)
from sshload_operator.decision.load_test.blockers import target_blocker, workers_blocker
from sshload_operator.decision.load_test.conditions import finished, held_back, under_way
from sshload_operator.decision.load_test.endings import ending
from sshload_operator.decision.load_test.results import progress, results_status
from sshload_operator.decision.load_test.situation import Situation
from sshload_operator.decision.load_test.thresholds import threshold_status
from sshload_operator.decision.turns import next_look_at_queue_s
from sshload_operator.manifests import Part, child_name, results_config_map
from sshload_operator.planning.admitted import as_admitted
from sshload_operator.planning.cautions import cautions
from sshload_operator.planning.plan import Plan, TestIdentity, as_begun, run_id
from sshload_operator.planning.preflight import preflight
from sshload_operator.state import Announcement, Manifest, Observed, Phase, Reason

STARTING_PASS_S = 1.0
RUNNING_PASS_S = 5.0
COLLECTING_PASS_S = 0.5
_AFTER_LOAD_S = 0.3
# Sweeping a run takes ten requests. Anyone who may create pods can label them with any number of runs.
_LEFTOVERS_AT_ONCE = 10
_SHORTEST_PASS_S = 0.05
_SUSPENDED = "spec.suspend holds the test back. Set it to false to run it"
_REMAINS = "The object remains until its finalizers are removed (metadata.finalizers)"
_PAUSED = "this installation begins no runs at present (chart value paused)"
_NOT_WARNED_OF = (
    Reason.SUSPENDED,
    Reason.INSTALLATION_PAUSED,
    Reason.QUEUED,
    Reason.TARGET_STARTING,
    Reason.WORKERS_STARTING,
    Reason.LOAD_RUNNING,
    Reason.COLLECTING_RESULTS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestDecision(Decision):
    """What must be done for a test. world/execute.py has the order.

    `start`: apply the children of a new run (`manifests.children(plan)`). `replaced` are the run ids whose results must
    be deleted because a new run begins, `store` is the results ConfigMap to apply, `sweep` are the run ids whose other
    children must be deleted. `delete_self`: delete the test, because its TTL is over.
    """

    __test__ = False  # not a pytest class

    start: bool = False
    replaced: tuple[str, ...] = ()
    store: Manifest | None = None
    sweep: tuple[str, ...] = ()
    delete_self: bool = False


@dataclass(frozen=True)
class TestSubject(Subject[TestDecision]):
    """A test with all facts of one decision about it."""

    __test__ = False  # not a pytest class

    test: TestIdentity
    plan: Plan | SpecError
    remembered: Remembered[TestHead]
    observed: Observed
    now: datetime
    deleting: bool = False

    @property
    def is_finished(self) -> bool:
        """Whether the status is the end of a run, of this spec or of another."""
        return self.remembered.status.is_finished

    @property
    def may_begin(self) -> bool:
        """Whether only other tests prevent a run from beginning now. Only such tests are queued."""
        if isinstance(self.plan, SpecError):
            return False
        spec, generation, past = self.plan.spec, self.test.generation, self.remembered.status
        if self.deleting or spec.abort or spec.suspend or self.plan.installation.paused:
            return False
        has_run = is_resumed(self.plan.spec_hash, generation, past)
        has_run = has_run or is_over(self.plan.spec_hash, generation, past, abort=False)
        return not has_run and preflight(self.plan) is None

    @cached_property
    def situation(self) -> Situation:
        """The run in progress, or the next one. Raises SpecError if the spec cannot be read."""
        plan, past = self.plan, self.remembered.status
        if isinstance(plan, SpecError):
            raise plan
        resumed = is_resumed(plan.spec_hash, self.test.generation, past)
        plan = as_begun(plan, past) if resumed and past.start_time is not None else plan
        plan = as_admitted(plan, self.observed.pods)
        return Situation(plan, self.remembered, self.observed, resumed, self.now)

    def keep(self) -> TestDecision | None:
        """Keep a verdict, delete the remaining objects of its run, and the test itself when its TTL is over.

        The verdict of an older operator is kept even if this one cannot read its spec.
        """
        generation, past = self.test.generation, self.remembered.status
        if isinstance(self.plan, SpecError):
            return TestDecision(sweep=self._leftovers()) if is_over_unread(generation, past) else None
        if not is_over(self.plan.spec_hash, generation, past, abort=self.plan.spec.abort or self.deleting):
            return None
        left_s = self._time_left_s(self.plan)
        if left_s is not None and left_s <= 0:
            return TestDecision(sweep=self._leftovers(), delete_self=True)
        return TestDecision(
            status=changed_generation(self.remembered, generation),
            sweep=self._leftovers(),
            requeue_after_s=None if left_s is None else max(_SHORTEST_PASS_S, left_s),
        )

    def refuse(self) -> TestDecision | None:
        """Finish a test whose spec cannot be read. Its hash is dropped, so that any readable spec is a new run."""
        if not isinstance(self.plan, SpecError):
            return None
        found, past = Judgement(Verdict.ERROR, Reason.INVALID_SPEC, str(self.plan)), self.remembered.status
        status = TestStatus(
            observed_generation=self.test.generation,
            run=self.test.generation,
            spec_hash="",
            phase=Phase.FINISHED,
            reason=found.reason,
            message=found.message,
            conditions=conditions(finished(found), past.conditions, self.now),
            verdict=found.verdict,
            completion_time=refused_at(self.test.generation, past, self.now),
        )
        is_edited = past.run not in (0, self.test.generation)
        return TestDecision(
            status=changed_status(self.remembered, status),
            replaced=(self._remembered_run_id,) if is_edited and self._remembered_run_id else (),
            sweep=_in_order(*self._leftovers(), self._unfinished_run_id),
            announcements=self._news(status),
        )

    def end_at_once(self) -> TestDecision | None:
        """End a run on request, or one that is refused before it begins."""
        resumed, plan = self.situation.resumed, self.situation.plan
        when = "while it was under way" if resumed else "before it began"
        if self.deleting:
            return self._finish(Judgement(Verdict.ABORTED, Reason.DELETED, f"the test was deleted {when}. {_REMAINS}"))
        if plan.spec.abort:
            message = f"spec.abort was set {when}. Set it to false to run the test again"
            return self._finish(Judgement(Verdict.ABORTED, Reason.ABORT_REQUESTED, message))
        refusal = None if resumed else preflight(plan)
        return None if refusal is None else self._finish(Judgement(Verdict.ERROR, *refusal))

    def hold_back(self) -> TestDecision | None:
        """Do not start a run. A run in progress that is suspended ends without a verdict."""
        situation = self.situation
        if situation.plan.spec.suspend:
            return self._hold_back(Reason.SUSPENDED, _SUSPENDED)
        if situation.resumed:
            return None
        if situation.plan.installation.paused:
            return self._hold_back(Reason.INSTALLATION_PAUSED, _PAUSED)
        return self._hold_back(Reason.QUEUED, _queue(situation)) if self.observed.queued else None

    def end(self) -> TestDecision | None:
        """End the run in progress, if its facts require it."""
        found = ending(self.situation) if self.situation.resumed else None
        return None if found is None else self._finish(found)

    def go_on(self) -> TestDecision:
        """Start a new run, or wait for the one in progress. A new run ends one of another spec as Aborted."""
        situation = self.situation
        plan, phase, snapshot = situation.plan, situation.phase, situation.snapshot
        headline, findings = under_way(situation)
        status = TestStatus(
            observed_generation=self.test.generation,
            run=plan.run,
            spec_hash=plan.spec_hash,
            phase=phase,
            reason=headline.reason,
            message=headline.message,
            conditions=conditions(findings, self.remembered.status.conditions, self.now),
            start_time=situation.start_time,
            progress=progress(plan, snapshot)
            if snapshot is not None and phase is Phase.RUNNING
            else _old_progress(situation),
            installed=plan.installed,
        )
        return TestDecision(
            status=changed_status(self.remembered, status),
            start=not situation.resumed,
            replaced=self._replaced(),
            sweep=self._old_runs(),
            announcements=(*self._superseded(), *_cautions(situation), *self._news(status)),
            requeue_after_s=_requeue_after_s(situation),
        )

    def leave(self, decision: TestDecision) -> TestDecision:
        """Do not delete it a second time when its TTL is over."""
        return replace(decision, delete_self=False)

    def _hold_back(self, reason: Reason, message: str) -> TestDecision:
        """Write the status without a hash, so that the run begins later as a new one."""
        findings = held_back(reason, message, managed=self.situation.managed)
        status = TestStatus(
            observed_generation=self.test.generation,
            run=self.situation.plan.run,
            spec_hash="",
            phase=Phase.PENDING,
            reason=reason,
            message=message,
            conditions=conditions(findings, self.remembered.status.conditions, self.now),
        )
        return TestDecision(
            status=changed_status(self.remembered, status),
            replaced=self._replaced(),
            sweep=_in_order(*self._leftovers(), self._unfinished_run_id),
            announcements=(*self._superseded(), *self._news(status)),
            requeue_after_s=next_look_at_queue_s(self.observed.queued) if reason is Reason.QUEUED else None,
        )

    def _finish(self, found: Judgement) -> TestDecision:
        situation, summary = self.situation, found.summary
        plan = situation.plan
        findings = finished(found)
        status = TestStatus(
            observed_generation=self.test.generation,
            run=plan.run,
            spec_hash=plan.spec_hash,
            phase=Phase.FINISHED,
            reason=found.reason,
            message=found.message,
            conditions=conditions(findings, self.remembered.status.conditions, self.now),
            verdict=found.verdict,
            start_time=situation.start_time,
            completion_time=self.now,
            results=results_status(plan, summary, found.verdict, found.other_login) if summary is not None else None,
            capacity=capacity_status(plan, summary) if summary is not None else None,
            thresholds=tuple(map(threshold_status, found.thresholds)),
            baseline=found.baseline,
            results_config_map=child_name(plan, Part.RESULTS) if summary is not None else "",
            installed=plan.installed if situation.resumed else None,
        )
        return TestDecision(
            status=changed_status(self.remembered, status),
            replaced=self._replaced(),
            store=results_config_map(plan, summary) if summary is not None else None,
            sweep=_in_order(*self._old_runs(), plan.run_id),
            announcements=(*self._superseded(), *self._news(status)),
            requeue_after_s=_time_to_live_s(plan, found.verdict),
        )

    def _time_left_s(self, plan: Plan) -> float | None:
        ttl_s = _time_to_live_s(plan, self.remembered.status.verdict)
        completed = self.remembered.status.completion_time
        return None if ttl_s is None or completed is None else ttl_s - (self.now - completed).total_seconds()

    def _leftovers(self, keep: str = "") -> tuple[str, ...]:
        """Return at most ten other runs of this test that have pods which are not yet being deleted.

        Runs that an earlier test of this name left behind without an owner count as its own. The names of what is swept
        contain the run id, so the id in a pod's label is not trusted: it must match the number of the run, which is
        also in the pod. If there are more runs, each pass takes a random choice of them.
        """
        stated = {(pod.run_id, pod.run) for pod in self.observed.pods if not pod.deleting}
        claims = {claimed for claimed, run in stated if claimed in (self._remembered_run_id, self._id_of(run))}
        own = sorted(claims.union(self.observed.orphans) - {keep})
        first = self.now.microsecond % len(own) if len(own) > _LEFTOVERS_AT_ONCE else 0
        return tuple(sorted([*own[first:], *own[:first]][:_LEFTOVERS_AT_ONCE]))

    @property
    def _remembered_run_id(self) -> str:
        """The id of the remembered run, empty if there is none, or if the test cannot have had it."""
        return self._id_of(self.remembered.status.run)

    @property
    def _unfinished_run_id(self) -> str:
        """The id of the run that is remembered as in progress, else empty."""
        return "" if self.remembered.status.phase in (Phase.PENDING, Phase.FINISHED) else self._remembered_run_id

    def _id_of(self, run: int) -> str:
        """Return the id of a run, empty if the test cannot have had it."""
        return run_id(self.test.uid, run) if is_run_of(self.test.generation, run) else ""

    def _old_runs(self) -> tuple[str, ...]:
        """Return the runs whose children must be deleted: an unfinished older one, and any that left pods behind."""
        keep = self.situation.plan.run_id
        superseded = "" if self.situation.resumed else self._unfinished_run_id
        return tuple(one for one in _in_order(*self._leftovers(keep), superseded) if one != keep)

    def _replaced(self) -> tuple[str, ...]:
        """Return the run whose results the status no longer contains."""
        before, situation = self._remembered_run_id, self.situation
        return () if situation.resumed or before in ("", situation.plan.run_id) else (before,)

    def _superseded(self) -> tuple[Announcement, ...]:
        if self.situation.resumed or not self._unfinished_run_id:
            return ()
        run = self.remembered.status.run
        message = f"run {run} ended as {Verdict.ABORTED}: the spec changed while it was under way"
        return (Announcement(Reason.SPEC_CHANGED, message, warning=False),)

    def _news(self, status: TestStatus) -> tuple[Announcement, ...]:
        """Return an announcement of a change of run, phase or reason; none if nothing has changed."""
        before, after = ((one.run, one.phase, one.reason) for one in (self.remembered.status, status))
        if before == after:
            return ()
        reason = Reason(status.reason)
        is_good = status.verdict in (Verdict.PASSED, Verdict.ABORTED) or reason in _NOT_WARNED_OF
        return (Announcement(reason, status.message, warning=not is_good),)


def _in_order(*run_ids: str) -> tuple[str, ...]:
    return tuple(sorted({*run_ids} - {""}))


def _time_to_live_s(plan: Plan, verdict: Verdict | None) -> float | None:
    live = plan.spec.time_to_live
    return live.passed_s if verdict is Verdict.PASSED else live.failed_s


def _queue(situation: Situation) -> str:
    limits = situation.plan.installation.limits
    here, everywhere = (
        "any number" if limit is None else limit for limit in (limits.tests_per_namespace, limits.tests)
    )
    return (
        f"position {situation.observed.queued} in the queue: {here} tests may run at once in a namespace,"
        f" {everywhere} in the installation (chart value limits)"
    )


def _old_progress(situation: Situation) -> Progress | None:
    return situation.remembered.status.progress if situation.resumed else None


def _requeue_after_s(situation: Situation) -> float:
    spec = situation.plan.spec
    waits = [spec.deadline_s - situation.elapsed_s, _pace_s(situation)]
    if not situation.start_over:
        waits.append(spec.start_timeout_s - situation.elapsed_s)
    if target_blocker(situation) or workers_blocker(situation):
        waits.append(STARTING_PASS_S)
    return max(_SHORTEST_PASS_S, min(waits))


def _pace_s(situation: Situation) -> float:
    if situation.phase is Phase.COLLECTING:
        return COLLECTING_PASS_S
    if situation.phase is not Phase.RUNNING:
        return STARTING_PASS_S
    snapshot = situation.snapshot
    left_s = snapshot.remaining_s + _AFTER_LOAD_S if snapshot is not None else RUNNING_PASS_S
    return min(RUNNING_PASS_S, max(COLLECTING_PASS_S, left_s))


def _cautions(situation: Situation) -> tuple[Announcement, ...]:
    """Return the cautions as announcements, at the start of a run."""
    said = () if situation.resumed else cautions(situation.plan)
    return tuple(Announcement(Reason.CAUTION, text, warning=True) for text in said)
