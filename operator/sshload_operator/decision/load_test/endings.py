"""Whether a run in progress ends now, and how. The first rule that applies decides."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

from sshload_contract.vocabulary import Verdict
from sshload_contract.wire.master_log import Stage
from sshload_contract.wire.run_summary import RunSummary
from sshload_contract.wire.target import NO_USER_NAMESPACE_EXIT, SSHD_REFUSES

from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.decision.baseline.judge import against_baseline
from sshload_operator.decision.capacity.status import capacity_status
from sshload_operator.decision.judgement import Judgement
from sshload_operator.decision.load_test.blockers import (
    Blocker,
    disrupted_master,
    disruption_of,
    no_user_namespace,
    target_blocker,
    worker_loss,
    workers_blocker,
)
from sshload_operator.decision.load_test.results import results_status
from sshload_operator.decision.load_test.situation import Situation
from sshload_operator.decision.load_test.verdict import judge
from sshload_operator.state import ConditionType, ObservedBaseline, PodFacts, Reason, Role

_Rule: TypeAlias = Callable[[Situation], Judgement | None]

_PODS_NAMED = 3
_EXIT_CONFIG = 78  # EX_CONFIG of sysexits.h: the target exits with it if its configuration is refused


def ending(situation: Situation) -> Judgement | None:
    """Return how the run ends now, None while it continues. If not all could be read, only known facts end it."""
    rules = _CERTAIN if situation.observed.unread else _RULES
    return next((found for rule in rules if (found := rule(situation)) is not None), None)


def _judged(situation: Situation) -> Judgement | None:
    summary = situation.summary
    if summary is None or (_lacks_baseline(situation) and not _is_past_deadline(situation)):
        return None
    judgement = _judgement(situation, summary)
    return replace(judgement, message=f"{judgement.message}{_loss(situation, judgement.reason)}", summary=summary)


def _loss(situation: Situation, reason: Reason) -> str:
    """Return what the pods show about a loss that the master reported; the lost pod may be the master's."""
    if reason is Reason.WORKER_LOST:
        how = worker_loss(situation)
        return f"; {how}" if how else ""
    return disruption_of(situation, Role.MASTER) if reason is Reason.MASTER_LOST else ""


def _judgement(situation: Situation, summary: RunSummary) -> Judgement:
    plan = situation.plan
    by_itself = judge(plan, summary)
    if not plan.spec.relative_thresholds:
        return by_itself
    measured = TestStatus(
        results=results_status(plan, summary, by_itself.verdict), capacity=capacity_status(plan, summary)
    )
    observed = situation.observed
    baseline = observed.baseline or ObservedBaseline((), observed.unread)
    return against_baseline(plan, by_itself, measured, baseline, situation.start_time)


def _lacks_baseline(situation: Situation) -> bool:
    """Whether the tests that may be the baseline could not be read."""
    asked = bool(situation.plan.spec.relative_thresholds)
    return asked and situation.observed.baseline is None and bool(situation.observed.unread)


def _is_past_deadline(situation: Situation) -> bool:
    return situation.elapsed_s >= situation.plan.spec.deadline_s


def _past_deadline(situation: Situation) -> Judgement | None:
    deadline_s = situation.plan.spec.deadline_s
    if not _is_past_deadline(situation):
        return None
    blocker = target_blocker(situation) or workers_blocker(situation)
    seen = blocker.message if blocker is not None else _not_ready(situation)
    why = f"; last seen: {seen}" if seen else ""
    if situation.observed.unread:
        why += f"; not all could be read: {situation.observed.unread}"
    phase = situation.last_phase
    where = f" in phase {phase}" if phase is not None else ""
    message = (
        f"the run was not over {deadline_s:g} s after its start{where}{why}. Raise spec.deadline or shorten the load"
    )
    return Judgement(Verdict.ERROR, Reason.DEADLINE_EXCEEDED, message)


def _target_failed(situation: Situation) -> Judgement | None:
    if situation.start_over:
        return None
    failed = [pod for pod in situation.pods(*situation.deployed) if _crashed(pod) and not pod.deleting]
    if not failed:
        return None
    pod, said = failed[0], failed[0].termination_message.strip()
    if pod.role is Role.TARGET and pod.exit_code == NO_USER_NAMESPACE_EXIT:
        message = no_user_namespace(f"pod {pod.name} got none, and was stopped before anything in it was root: {said}")
        return _error(Reason.NO_USER_NAMESPACE, message, ConditionType.TARGET_READY)
    if pod.role is Role.TARGET and pod.exit_code == _EXIT_CONFIG:
        if SSHD_REFUSES in said:  # after the name of the program, where the kubelet takes the log for its last words
            message = f"{said}. Change spec.target.managed.sshd"
            return _error(Reason.SSHD_CONFIG_REJECTED, message, ConditionType.TARGET_READY)
        message = f"the target cannot be made as the test has it: {said}"
        return _error(Reason.TARGET_FAILED, message, ConditionType.TARGET_READY)
    message = f"the {pod.role} (pod {pod.name}) ended before the load began{_exit(pod)}: {said or 'it left no message'}"
    return _error(Reason.TARGET_FAILED, message, ConditionType.TARGET_READY)


def _target_lost(situation: Situation) -> Judgement | None:
    if not situation.start_over or situation.results_begun:
        return None
    lost = ((role, how) for role in situation.deployed if (how := _loss_of(situation, role)))
    role, how = next(lost, (Role.TARGET, ""))
    if not how:
        return None
    how += disruption_of(situation, role)
    message = f"{role.lost}: {how}. Give it more memory or a steadier node and run again"
    return _error(Reason.TARGET_LOST, message, ConditionType.TARGET_READY)


def _loss_of(situation: Situation, role: Role) -> str:
    pods = situation.pods(role)
    for pod in pods:
        if _crashed(pod):
            return f"pod {pod.name} ended{_exit(pod)}: {pod.termination_message.strip() or 'it left no message'}"
        if pod.deleting:
            return f"pod {pod.name} is being deleted"
    # A pod may still be Pending although the load has begun, because the kubelet reports with a delay.
    if not any(pod.phase in ("Pending", "Running") for pod in pods):
        return "its pod is gone"
    condition = situation.remembered_condition(ConditionType.TARGET_READY)
    named = condition is not None and condition.reason in (Reason.TARGET_READY, Reason.TARGET_NOT_READY)
    if condition is not None and named and not any(pod.name in condition.message for pod in pods):
        return "its pod was replaced by another"
    return ""


def _master_lost(situation: Situation) -> Judgement | None:
    if not situation.start_over or situation.results_begun:
        return None
    masters = situation.pods(Role.MASTER)
    if not any(pod.phase == "Running" for pod in masters):
        why = disruption_of(situation, Role.MASTER)
        return _error(Reason.MASTER_LOST, f"the master's pod is gone, and its results with it{why}. Run the test again")
    if situation.snapshot is not None and situation.snapshot.stage is Stage.WAITING_FOR_WORKERS:
        why = disruption_of(situation, Role.MASTER)
        message = f"the master's pod was replaced while the load ran, and its results are gone{why}. Run the test again"
        return _error(Reason.MASTER_LOST, message)
    return None


def _blocked(find: Callable[[Situation], Blocker | None], about: ConditionType) -> _Rule:
    """Return the rule that a blocker ends the run which has had its time to go away."""

    def rule(situation: Situation) -> Judgement | None:
        blocker = find(situation)
        if blocker is None or blocker.patience_s is None or situation.false_for_s(about) < blocker.patience_s:
            return None
        return Judgement(blocker.verdict, blocker.final_reason, blocker.message, about=about)

    return rule


def _start_timed_out(situation: Situation) -> Judgement | None:
    timeout_s = situation.plan.spec.start_timeout_s
    if situation.start_over or situation.elapsed_s < timeout_s:
        return None
    waited = f"{timeout_s:g} s after the start (spec.startTimeout)"
    blocker = target_blocker(situation)
    if not situation.target_ready:
        why = blocker.message if blocker is not None else _seen(situation, *situation.deployed)
        message = f"the target was not ready {waited}: {why}"
        return _error(Reason.TARGET_NEVER_READY, message, ConditionType.TARGET_READY)
    blocker = workers_blocker(situation)
    snapshot = situation.snapshot
    connected = snapshot.workers_connected if snapshot is not None else 0
    if snapshot is not None and connected >= situation.plan.workers:
        why = snapshot.problem or "none of them says why"
        message = f"all {connected} workers had connected, but could not begin the load {waited}: {why}"
        return _error(Reason.TARGET_UNREACHABLE, message, ConditionType.TARGET_READY)
    counted = f"{connected} of {situation.plan.workers} workers had connected {waited}"
    why = blocker.message if blocker is not None else _seen(situation, Role.MASTER, Role.WORKER)
    return _error(Reason.WORKERS_MISSING, f"{counted}: {why}", ConditionType.WORKERS_READY)


def _seen(situation: Situation, *roles: Role) -> str:
    pods = [pod for pod in situation.pods(*roles) if not pod.ready] or situation.pods(*roles)
    if not pods:
        return "no pod of it was made"
    return ", ".join(f"pod {pod.name} is {_state(pod)}" for pod in pods[:_PODS_NAMED])


def _not_ready(situation: Situation) -> str:
    """Return in words which pods are not ready, for example those on a lost node."""
    pods = [pod for pod in situation.pods(*Role) if not pod.ready]
    return ", ".join(f"pod {pod.name} is {_state(pod)}" for pod in pods[:_PODS_NAMED])


def _state(pod: PodFacts) -> str:
    waits = f" ({pod.waiting_reason})" if pod.waiting_reason else ""
    seen = f"{pod.phase or 'Unknown'}{waits} and {'ready' if pod.ready else 'not ready'}"
    if not pod.waits_to_be_made:
        return seen
    return f"{seen}: its image, or a Secret or ConfigMap that it mounts, is missing (kubectl describe pod {pod.name})"


def _crashed(pod: PodFacts) -> bool:
    return pod.restarts > 0 or pod.exit_code is not None or pod.phase == "Failed"


def _exit(pod: PodFacts) -> str:
    return "" if pod.exit_code is None else f" with exit code {pod.exit_code}"


def _error(reason: Reason, message: str, about: ConditionType = ConditionType.WORKERS_READY) -> Judgement:
    return Judgement(Verdict.ERROR, reason, message, about=about)


_RULES: Final[tuple[_Rule, ...]] = (
    _judged,
    _past_deadline,
    _target_failed,
    _target_lost,
    _master_lost,
    _blocked(target_blocker, ConditionType.TARGET_READY),
    _blocked(workers_blocker, ConditionType.WORKERS_READY),
    _start_timed_out,
)
_CERTAIN: Final[tuple[_Rule, ...]] = (
    _judged,
    _past_deadline,
    _blocked(disrupted_master, ConditionType.WORKERS_READY),
)
