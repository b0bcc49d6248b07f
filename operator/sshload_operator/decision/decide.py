"""What is to be done about a test: a pure function of the plan, what is remembered, what is observed, and the time.

Small rules in one order, the first that holds decides: a spec that cannot be read; a test that is finished; a request
to abort; what holds the test back (suspended, paused, queued); a new run (the first, or after a change of what is
measured); an ending of the run under way; its phase.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from sshload_contract.vocabulary import Verdict

from sshload_operator.api.errors import SpecError
from sshload_operator.api.status.head import Remembered, written
from sshload_operator.api.status.load_test import Progress, TestHead, TestStatus
from sshload_operator.api.target import ManagedTarget
from sshload_operator.decision.blockers import target_blocker, workers_blocker
from sshload_operator.decision.capacity.status import capacity_status
from sshload_operator.decision.conditions import finished, held_back, under_way
from sshload_operator.decision.endings import Ending, ending
from sshload_operator.decision.findings import MESSAGE_LIMIT_CHARACTERS, conditions
from sshload_operator.decision.results import results_status
from sshload_operator.decision.situation import Situation
from sshload_operator.decision.status import progress, threshold_status
from sshload_operator.decision.turns import next_look_at_queue_s
from sshload_operator.manifests import Part, child_name, results_config_map
from sshload_operator.planning.cautions import cautions
from sshload_operator.planning.plan import Plan, TestIdentity, as_begun, is_same_spec, run_id
from sshload_operator.planning.preflight import preflight
from sshload_operator.state import (
    Announcement,
    Decision,
    Manifest,
    Observed,
    Phase,
    Reason,
)

STARTING_PASS_S = 1.0
RUNNING_PASS_S = 5.0
COLLECTING_PASS_S = 0.5
_AFTER_LOAD_S = 0.3
# Sweeping a run takes ten requests. Whoever may make pods can state any number of runs.
_LEFTOVERS_AT_ONCE = 10
_SHORTEST_PASS_S = 0.05
_SUSPENDED = "spec.suspend holds the test back. Set it to false to run it"
_PAUSED = "this installation begins no runs at present (chart value paused)"
_ORDINARY = (
    Reason.SUSPENDED,
    Reason.INSTALLATION_PAUSED,
    Reason.QUEUED,
    Reason.TARGET_STARTING,
    Reason.WORKERS_STARTING,
    Reason.LOAD_RUNNING,
    Reason.COLLECTING_RESULTS,
)


@dataclass(frozen=True, slots=True)
class _Reconciliation:
    """The arguments of one decision, kept together."""

    test: TestIdentity
    remembered: Remembered[TestHead]
    observed: Observed
    now: datetime

    def leftovers(self, keep: str = "") -> tuple[str, ...]:
        """Return this test's runs other than this one whose pods are there and not yet being deleted, ten at most.

        What is swept has names that are made from the run id, so an id that a pod merely states is never taken: it has
        to follow from the number of the run that the pod states too. Of more runs, each pass takes others, by chance.
        """
        stated = {(pod.run_id, pod.run) for pod in self.observed.pods if not pod.deleting and pod.run_id != keep}
        own = sorted({claimed for claimed, run in stated if claimed in (self.remembered_run_id, self._id_of(run))})
        first = self.now.microsecond % len(own) if len(own) > _LEFTOVERS_AT_ONCE else 0
        return tuple(sorted([*own[first:], *own[:first]][:_LEFTOVERS_AT_ONCE]))

    @property
    def remembered_run_id(self) -> str:
        """The id of the run that is remembered, empty where there is none, or none that the test can have had."""
        return self._id_of(self.remembered.status.run)

    def _id_of(self, run: int) -> str:
        """Return the id of a run, empty where the test cannot have had it."""
        return run_id(self.test.uid, run) if _is_run_of(self.test, run) else ""

    @property
    def is_finished_as_written(self) -> bool:
        """Whether the status is the end of a run of the spec as it stands: that verdict stays, come what may."""
        status = self.remembered.status
        seen = status.observed_generation == self.test.generation
        return status.phase is Phase.FINISHED and bool(status.spec_hash) and seen

    @property
    def unfinished_run_id(self) -> str:
        """The id of the run that is remembered as being under way, else empty."""
        return "" if self.remembered.status.phase in (Phase.PENDING, Phase.FINISHED) else self.remembered_run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class _Actions:
    """What a decision does beside writing the status."""

    start: bool = False
    replaced: tuple[str, ...] = ()
    store: Manifest | None = None
    sweep: tuple[str, ...] = ()
    announcements: tuple[Announcement, ...] = ()
    requeue_after_s: float | None = None


def current_run(test: TestIdentity, spec_hash: str, remembered: Remembered[TestHead]) -> int:
    """Return for which run the plan is to be made: the remembered one while it measures the same, else a new one."""
    if not is_same_spec(spec_hash, test.generation, remembered.status) or remembered.status.verdict is Verdict.ABORTED:
        return test.generation
    return remembered.status.run if _is_run_of(test, remembered.status.run) else test.generation


def _is_run_of(test: TestIdentity, run: int) -> bool:
    """Tell whether a test can have had this run.

    Objects whose names are made from a run are deleted. Who may write a status states any number in it, and could look
    for one that makes the name of another object.
    """
    return 0 < run <= test.generation


def decide(
    test: TestIdentity, plan: Plan | SpecError, remembered: Remembered[TestHead], observed: Observed, now: datetime
) -> Decision:
    """Return what is to be done now. Total: every combination of facts has a decision."""
    this, past = _Reconciliation(test, remembered, observed, now), remembered.status
    if isinstance(plan, SpecError):
        return _keep_unreadable(this) if this.is_finished_as_written else _refuse(this, plan)
    same = is_same_spec(plan.spec_hash, test.generation, past)
    if same and past.phase is Phase.FINISHED and (past.verdict is not Verdict.ABORTED or plan.spec.abort):
        return _keep_finished(this, plan)
    resumed = same and past.phase is not Phase.FINISHED
    plan = as_begun(plan, past) if resumed and past.start_time is not None else plan
    situation = Situation(plan, remembered, observed, resumed, now)
    if plan.spec.abort:
        return _finish(this, situation, _aborted(situation))
    if not resumed:
        return _start(this, situation)
    if plan.spec.suspend:
        return _hold_back(this, situation, Reason.SUSPENDED, _SUSPENDED)
    found = ending(situation)
    return _finish(this, situation, found) if found is not None else _go_on(this, situation)


def _refuse(this: _Reconciliation, error: SpecError) -> Decision:
    """Finish a test whose spec cannot be read. Its hash is forgotten, so that any readable spec is a new run."""
    found = Ending(Verdict.ERROR, Reason.INVALID_SPEC, str(error))
    before = this.remembered.status
    refused_before = before.phase is Phase.FINISHED and not before.spec_hash and before.run == this.test.generation
    status = TestStatus(
        observed_generation=this.test.generation,
        run=this.test.generation,
        spec_hash="",
        phase=Phase.FINISHED,
        reason=found.reason,
        message=found.message,
        conditions=conditions(finished(found, managed=True), before.conditions, this.now),
        verdict=found.verdict,
        completion_time=before.completion_time if refused_before else this.now,
    )
    sweep = {*this.leftovers(), this.unfinished_run_id} - {""}
    edited = before.run not in (0, this.test.generation)
    replaced = (this.remembered_run_id,) if edited and this.remembered_run_id else ()
    return _decision(this, status, _Actions(replaced=replaced, sweep=tuple(sorted(sweep))))


def _keep_unreadable(this: _Reconciliation) -> Decision:
    """Leave the verdict of an older operator, whose spec this one does not read."""
    return Decision(
        status=None,
        start=False,
        replaced=(),
        store=None,
        sweep=this.leftovers(),
        announcements=(),
        delete_self=False,
        requeue_after_s=None,
    )


def _keep_finished(this: _Reconciliation, plan: Plan) -> Decision:
    """Leave a verdict as it stands, take away what is left of its run, and the test itself when its time is over."""
    remembered = this.remembered
    whole = remembered.seen_at(this.test.generation)
    left_s = _time_left_s(this, plan)
    over = left_s is not None and left_s <= 0
    return Decision(
        status=None if whole == remembered.written or over else whole,
        start=False,
        replaced=(),
        store=None,
        sweep=this.leftovers(),
        announcements=(),
        delete_self=over,
        requeue_after_s=None if left_s is None or over else max(_SHORTEST_PASS_S, left_s),
    )


def _time_left_s(this: _Reconciliation, plan: Plan) -> float | None:
    ttl_s = _time_to_live_s(plan, this.remembered.status.verdict)
    if ttl_s is None or this.remembered.status.completion_time is None:
        return None
    return ttl_s - (this.now - this.remembered.status.completion_time).total_seconds()


def _time_to_live_s(plan: Plan, verdict: Verdict | None) -> float | None:
    live = plan.spec.time_to_live
    return live.passed_s if verdict is Verdict.PASSED else live.failed_s


def _aborted(situation: Situation) -> Ending:
    when = "while it was under way" if situation.resumed else "before it began"
    message = f"spec.abort was set {when}. Set it to false to run the test anew"
    return Ending(Verdict.ABORTED, Reason.ABORT_REQUESTED, message)


def _start(this: _Reconciliation, situation: Situation) -> Decision:
    """Begin a new run; one that measures something else and is under way ends as Aborted in the same pass."""
    plan = situation.plan
    refusal = preflight(plan)
    if refusal is not None:
        reason, message = refusal
        return _finish(this, situation, Ending(Verdict.ERROR, reason, message))
    if plan.spec.suspend:
        return _hold_back(this, situation, Reason.SUSPENDED, _SUSPENDED)
    if plan.installation.paused:
        return _hold_back(this, situation, Reason.INSTALLATION_PAUSED, _PAUSED)
    if situation.observed.queued:
        return _hold_back(this, situation, Reason.QUEUED, _queue(situation))
    return _go_on(this, situation)


def may_begin(plan: Plan | SpecError, remembered: Remembered[TestHead]) -> bool:
    """Whether a run would begin now if nothing but other tests were in its way: so only such tests queue."""
    if isinstance(plan, SpecError) or plan.spec.abort or plan.spec.suspend or plan.installation.paused:
        return False
    same = is_same_spec(plan.spec_hash, plan.test.generation, remembered.status)
    begins = not same or (remembered.status.phase is Phase.FINISHED and remembered.status.verdict is Verdict.ABORTED)
    return begins and preflight(plan) is None


def _queue(situation: Situation) -> str:
    limits = situation.plan.installation.limits
    here, everywhere = (
        "any number" if limit is None else limit for limit in (limits.tests_per_namespace, limits.tests)
    )
    return (
        f"position {situation.observed.queued} in the queue: of a namespace {here} tests may run at once, of the"
        f" installation {everywhere} (chart value limits)"
    )


def _hold_back(this: _Reconciliation, situation: Situation, reason: Reason, message: str) -> Decision:
    """Let no run begin; one that is under way ends without a verdict. No hash is kept, so that it begins anew later."""
    status = TestStatus(
        observed_generation=this.test.generation,
        run=situation.plan.run,
        spec_hash="",
        phase=Phase.PENDING,
        reason=reason,
        message=message,
        conditions=conditions(
            held_back(reason, message, managed=situation.managed), this.remembered.status.conditions, this.now
        ),
    )
    actions = _Actions(
        replaced=_replaced(this, situation),
        sweep=tuple(sorted({*this.leftovers(), this.unfinished_run_id} - {""})),
        announcements=_superseded(this, situation),
        requeue_after_s=next_look_at_queue_s(situation.observed.queued) if reason is Reason.QUEUED else None,
    )
    return _decision(this, status, actions)


def _go_on(this: _Reconciliation, situation: Situation) -> Decision:
    plan, phase, snapshot = situation.plan, situation.phase, situation.snapshot
    headline, findings = under_way(situation)
    status = TestStatus(
        observed_generation=this.test.generation,
        run=plan.run,
        spec_hash=plan.spec_hash,
        phase=phase,
        reason=headline.reason,
        message=headline.message,
        conditions=conditions(findings, this.remembered.status.conditions, this.now),
        start_time=situation.start_time,
        progress=progress(situation.plan, snapshot)
        if snapshot is not None and phase is Phase.RUNNING
        else _old_progress(situation),
        installed_resources=plan.installed,
    )
    actions = _Actions(
        start=not situation.resumed,
        replaced=_replaced(this, situation),
        sweep=_old_runs(this, situation),
        announcements=(*_superseded(this, situation), *_cautions(situation)),
        requeue_after_s=_requeue_after_s(situation),
    )
    return _decision(this, status, actions)


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


def _finish(this: _Reconciliation, situation: Situation, found: Ending) -> Decision:
    plan, summary = situation.plan, found.summary
    managed = isinstance(plan.spec.target, ManagedTarget)
    status = TestStatus(
        observed_generation=this.test.generation,
        run=plan.run,
        spec_hash=plan.spec_hash,
        phase=Phase.FINISHED,
        reason=found.reason,
        message=found.message,
        conditions=conditions(finished(found, managed=managed), this.remembered.status.conditions, this.now),
        verdict=found.verdict,
        start_time=situation.start_time,
        completion_time=this.now,
        results=results_status(plan, summary) if summary is not None else None,
        capacity=capacity_status(plan, summary) if summary is not None else None,
        thresholds=tuple(map(threshold_status, found.thresholds)),
        baseline=found.baseline,
        results_config_map=child_name(plan, Part.RESULTS) if summary is not None else "",
        installed_resources=plan.installed if situation.resumed else None,
    )
    actions = _Actions(
        replaced=_replaced(this, situation),
        store=results_config_map(plan, summary) if summary is not None else None,
        sweep=tuple(sorted({*_old_runs(this, situation), plan.run_id})),
        announcements=_superseded(this, situation),
        requeue_after_s=_time_to_live_s(plan, found.verdict),
    )
    return _decision(this, status, actions)


def _old_runs(this: _Reconciliation, situation: Situation) -> tuple[str, ...]:
    """Return the runs whose children are to go: an older one that was under way, and any that left pods behind."""
    superseded = {this.unfinished_run_id} if not situation.resumed else set()
    keep = situation.plan.run_id
    return tuple(sorted({*this.leftovers(keep), *superseded} - {keep, ""}))


def _replaced(this: _Reconciliation, situation: Situation) -> tuple[str, ...]:
    """Return the run whose results the status speaks of no longer."""
    before = this.remembered_run_id
    return () if situation.resumed or before in ("", situation.plan.run_id) else (before,)


def _superseded(this: _Reconciliation, situation: Situation) -> tuple[Announcement, ...]:
    if situation.resumed or not this.unfinished_run_id:
        return ()
    message = f"run {this.remembered.status.run} ended as {Verdict.ABORTED}: the spec changed while it was under way"
    return (Announcement(Reason.SPEC_CHANGED, message, warning=False),)


def _cautions(situation: Situation) -> tuple[Announcement, ...]:
    """Say at the start of a run what its author should know beforehand."""
    said = () if situation.resumed else cautions(situation.plan)
    return tuple(Announcement(Reason.CAUTION, text, warning=True) for text in said)


def _decision(this: _Reconciliation, status: TestStatus, actions: _Actions) -> Decision:
    whole = written(replace(status, message=status.message[:MESSAGE_LIMIT_CHARACTERS]))
    return Decision(
        status=None if whole == this.remembered.written else whole,
        start=actions.start,
        replaced=actions.replaced,
        store=actions.store,
        sweep=actions.sweep,
        announcements=(*actions.announcements, *_news(this, status)),
        delete_self=False,
        requeue_after_s=actions.requeue_after_s,
    )


def _news(this: _Reconciliation, status: TestStatus) -> tuple[Announcement, ...]:
    """Announce a change of run, phase or reason, and nothing twice."""
    before, after = ((one.run, one.phase, one.reason) for one in (this.remembered.status, status))
    if before == after:
        return ()
    reason = Reason(status.reason)
    good = status.verdict in (Verdict.PASSED, Verdict.ABORTED) or reason in _ORDINARY
    return (Announcement(reason, status.message, warning=not good),)
