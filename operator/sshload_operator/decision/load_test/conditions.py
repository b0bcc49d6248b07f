"""The conditions of a test's status, recomputed in every pass.

While a run is in progress, a condition that is not settled yet is Unknown, and False means a defect. A finished test
has TargetReady or WorkersReady only if that condition is why it ended. Ready is True for Passed only; every other
verdict makes Ready False and Stalled True, so that Argo CD, Flux and `kubectl wait` can distinguish them. Passed is
Unknown if the run says nothing about the server: Inconclusive, Invalid, Error, Aborted.
"""

from collections.abc import Mapping
from enum import StrEnum

from sshload_contract.vocabulary import Verdict

from sshload_operator.api.targets import Server
from sshload_operator.decision.judgement import Judgement
from sshload_operator.decision.life_cycle import Finding, in_progress, settled
from sshload_operator.decision.load_test.blockers import Blocker, target_blocker, workers_blocker
from sshload_operator.decision.load_test.situation import Situation
from sshload_operator.state import ConditionStatus, ConditionType, Phase, Reason, Role

Findings = Mapping[ConditionType, Finding]
_SWEPT_WORKERS = Finding(ConditionStatus.FALSE, Reason.RUN_FINISHED, "no run is under way, so there are no workers")


def under_way(situation: Situation) -> tuple[Finding, Findings]:
    """Return the headline of a run in progress, and its conditions."""
    target, workers = _target(situation), _workers(situation)
    blocked = next((finding for finding in (target, workers) if _blocks(finding)), None)
    reason, message = (blocked.reason, blocked.message) if blocked is not None else _headline(situation)
    if situation.observed.unread:
        message = f"{message}. Not all could be read: {situation.observed.unread}"
    return Finding(ConditionStatus.UNKNOWN, reason, message), {
        ConditionType.TARGET_READY: target,
        ConditionType.WORKERS_READY: workers,
        **_no_verdict(reason, message),
        **in_progress(ConditionType, reason, message),
    }


def held_back(reason: Reason, message: str, *, managed: bool) -> Findings:
    """Return the conditions of a test whose run may not begin yet."""
    return {
        ConditionType.TARGET_READY: _swept_target(managed=managed),
        ConditionType.WORKERS_READY: _SWEPT_WORKERS,
        **_no_verdict(reason, message),
        **in_progress(ConditionType, reason, message),
    }


def finished(ending: Judgement) -> Findings:
    """Return the conditions of a run that has ended."""
    about = (
        {} if ending.about is None else {ending.about: Finding(ConditionStatus.FALSE, ending.reason, ending.message)}
    )
    passed = {Verdict.PASSED: ConditionStatus.TRUE, Verdict.FAILED: ConditionStatus.FALSE}.get(ending.verdict)
    return {
        **about,
        ConditionType.COMPLETE: Finding(ConditionStatus.TRUE, ending.reason, ending.message),
        ConditionType.PASSED: Finding(passed or ConditionStatus.UNKNOWN, ending.reason, ending.message),
        **settled(ConditionType, ending.reason, ending.message, ready=ending.verdict is Verdict.PASSED),
    }


def _no_verdict(reason: StrEnum, message: str) -> Findings:
    return {
        ConditionType.COMPLETE: Finding(ConditionStatus.FALSE, reason, message),
        ConditionType.PASSED: Finding(ConditionStatus.UNKNOWN, reason, "there is no verdict before the end of the run"),
    }


def _target(situation: Situation) -> Finding:
    target = situation.plan.spec.target
    if target.managed is None:
        return _external_target(situation, target)
    blocker = target_blocker(situation)
    if blocker is not None:
        return _blocked(blocker)
    pods = [pod for pod in situation.pods(*situation.deployed) if not pod.deleting]
    ready = {pod.role: pod.name for pod in reversed(pods) if pod.ready}
    if len(ready) == len(situation.deployed):
        through = "".join(f" through pod {name}" for role, name in ready.items() if role is not Role.TARGET)
        return Finding(ConditionStatus.TRUE, Reason.TARGET_READY, f"pod {ready[Role.TARGET]} accepts logins{through}")
    if situation.start_over and any(pod.role not in ready for pod in pods):
        # Each pod is named, because only the name distinguishes a pod from its replacement (endings.py).
        answers = ", ".join(f"pod {pod.name} {'does' if pod.role in ready else 'does not'}" for pod in pods)
        message = f"not all readiness probes are answered while the load runs: {answers}"
        return Finding(ConditionStatus.FALSE, Reason.TARGET_NOT_READY, message)
    return Finding(ConditionStatus.UNKNOWN, Reason.TARGET_STARTING, "the target is starting")


def _external_target(situation: Situation, server: Server) -> Finding:
    where, access = f"{server.host}:{server.port}", server.access
    snapshot, before = situation.snapshot, situation.remembered_condition(ConditionType.TARGET_READY)
    logged_in = snapshot is not None and snapshot.iterations > snapshot.failures
    if logged_in or (before is not None and before.status is ConditionStatus.TRUE):
        return Finding(ConditionStatus.TRUE, Reason.TARGET_EXTERNAL, f"the workers {access.does} to {where}")
    if snapshot is not None and snapshot.problem and not situation.start_over:
        message = f"the workers try again to {access.does} to {where}: {snapshot.problem}"
        return Finding(ConditionStatus.FALSE, Reason.TARGET_UNREACHABLE, message)
    message = f"{where} is external: the workers find out whether it accepts {access.takes}"
    return Finding(ConditionStatus.UNKNOWN, Reason.TARGET_EXTERNAL, message)


def _workers(situation: Situation) -> Finding:
    blocker = workers_blocker(situation)
    if blocker is not None:
        return _blocked(blocker)
    expected = situation.plan.workers
    snapshot = situation.snapshot
    connected = snapshot.workers_connected if snapshot is not None else expected if situation.start_over else 0
    if situation.start_over and connected >= expected:
        return Finding(ConditionStatus.TRUE, Reason.WORKERS_CONNECTED, f"{expected} of {expected} workers take part")
    message = f"{connected} of {expected} workers are connected to the master"
    return Finding(ConditionStatus.UNKNOWN, Reason.WORKERS_STARTING, message)


def _blocked(blocker: Blocker) -> Finding:
    status = ConditionStatus.UNKNOWN if blocker.patience_s is None else ConditionStatus.FALSE
    return Finding(status, blocker.reason, blocker.message)


def _blocks(finding: Finding) -> bool:
    return finding.status is ConditionStatus.FALSE or finding.reason is Reason.UNSCHEDULABLE


def _headline(situation: Situation) -> tuple[Reason, str]:
    spec, workers = situation.plan.spec, situation.plan.workers
    match situation.phase:
        case Phase.PENDING | Phase.PREPARING_TARGET:
            return Reason.TARGET_STARTING, "the target, the master and the workers are starting"
        case Phase.STARTING_WORKERS:
            return Reason.WORKERS_STARTING, f"the workers ({workers}) are starting and connecting to the master"
        case Phase.RUNNING:
            runs = spec.load.running_words(spec.warm_up_s)
            return Reason.LOAD_RUNNING, f"{runs}, made by {workers} workers"
        case Phase.COLLECTING | Phase.FINISHED:
            return Reason.COLLECTING_RESULTS, "the load is over: its last iterations end, and the results are read"


def _swept_target(*, managed: bool) -> Finding:
    if managed:
        return Finding(ConditionStatus.FALSE, Reason.RUN_FINISHED, "no run is under way, so there is no target")
    return Finding(ConditionStatus.UNKNOWN, Reason.TARGET_EXTERNAL, "the target is external, and no run is checking it")
