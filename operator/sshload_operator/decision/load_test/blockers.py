"""What blocks a run, by its pods and the master's log, and how long that is tolerated."""

from collections.abc import Iterator
from dataclasses import dataclass

from sshload_contract.vocabulary import Verdict
from sshload_contract.wire.master_log import without_records

from sshload_operator.decision.load_test.situation import Situation
from sshload_operator.planning.plan import pods_asked
from sshload_operator.state import NO_SANDBOX, Observed, PodFacts, Reason, Role

BLOCKED_PATIENCE_S = 15.0
LOG_PATIENCE_S = 5.0

_IMAGE_REASONS = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "ImageInspectError", "ErrImageNeverPull", "RegistryUnavailable"}
)
_INVALID_IMAGE = "InvalidImageName"
_CONFIG_REASONS = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "FailedMount"})
_IMAGE_ADVICE = "Check the image's name and tag, and that the node may pull it (imagePullSecrets)"
_CONFIG_ADVICE = "Check that the Secrets and the ConfigMap that the spec names exist and have the keys that it needs"
_INSUFFICIENT = "Insufficient "
_POD = "Pod"
_REJECTED_ADVICE = "Raise the quota, lower resources or workers.replicas, or use a namespace that admits the pods"
_REFUSED_ADVICE = "Raise the quota, change the policy that refuses it, or use a namespace that admits it"


@dataclass(frozen=True, slots=True)
class Blocker:
    """What blocks a run. After `patience_s` seconds the run ends with `verdict` and `final_reason`.

    If `patience_s` is None, only the start timeout and the deadline limit it.
    """

    reason: Reason
    message: str
    patience_s: float | None
    final_reason: Reason
    verdict: Verdict = Verdict.ERROR


def target_blocker(situation: Situation) -> Blocker | None:
    """Return what keeps the pod of the managed target from running, or that of a program in the path to it."""
    return _pods_blocker(situation, *situation.deployed) if situation.managed else None


def workers_blocker(situation: Situation) -> Blocker | None:
    """Return what keeps the master's or a worker's pod from running, or from completing the run."""
    return (
        _pods_blocker(situation, Role.MASTER, Role.WORKER)
        or _unreadable_results(situation)
        or _silent_master(situation)
        or disrupted_master(situation)
        or _lost_worker(situation)
    )


def _pods_blocker(situation: Situation, *roles: Role) -> Blocker | None:
    pods = situation.pods(*roles)
    blocked = next((blocker for pod in pods for blocker in _pod_blockers(situation, pod)), None)
    if blocked is not None:
        return blocked
    asked = pods_asked(situation.plan.spec)
    missing = any(len(situation.pods(role)) < asked[role] for role in roles)
    if situation.observed.rejected_message and missing and not situation.start_over:
        return _error(Reason.POD_REJECTED, _rejection(situation.observed), BLOCKED_PATIENCE_S)
    return None


def _rejection(observed: Observed) -> str:
    said = observed.rejected_message.rstrip(". ")
    if observed.rejected_kind == _POD:
        return f"pods are not admitted: {said}. {_REJECTED_ADVICE}"
    return f"a {observed.rejected_kind} is not admitted: {said}. {_REFUSED_ADVICE}"


def _pod_blockers(situation: Situation, pod: PodFacts) -> Iterator[Blocker]:
    where = f"pod {pod.name} (image {situation.plan.image(pod.role)})"
    why = ": ".join(filter(None, (pod.waiting_reason, pod.waiting_message)))
    if pod.waiting_reason == _INVALID_IMAGE:
        yield _error(Reason.IMAGE_UNAVAILABLE, f"{where} cannot get its image: {why}. {_IMAGE_ADVICE}", 0.0)
    if pod.waiting_reason in _IMAGE_REASONS:
        message = f"{where} cannot get its image: {why}. {_IMAGE_ADVICE}"
        yield _error(Reason.IMAGE_UNAVAILABLE, message, BLOCKED_PATIENCE_S)
    if pod.waiting_reason in _CONFIG_REASONS:
        message = f"pod {pod.name} cannot be made: {why}. {_CONFIG_ADVICE}"
        yield _error(Reason.POD_CONFIG_ERROR, message, BLOCKED_PATIENCE_S)
    if pod.waiting_reason == NO_SANDBOX:
        message = no_user_namespace(f"the node of pod {pod.name} has none: {pod.waiting_message}")
        yield _error(Reason.NO_USER_NAMESPACE, message, BLOCKED_PATIENCE_S)
    if pod.blocked_message:
        advice = f". {pod.role.room}" if _INSUFFICIENT in pod.blocked_message else ""
        message = f"pod {pod.name} cannot be scheduled: {pod.blocked_message.rstrip('.')}{advice}"
        yield _error(Reason.UNSCHEDULABLE, message, None)


def no_user_namespace(how: str) -> str:
    """Return what to say where the pod of a system's target has no user namespace; `how` says how that was found."""
    return (
        f"spec.target.managed.system takes a user namespace, and {how}. Use a cluster of Kubernetes 1.33 or newer whose"
        " nodes have Linux 6.3, containerd 2 or CRI-O, and runc 1.2 or crun 1.9; or, if whoever installed sshload"
        " permits that (chart value permitted.systemTargets), set spec.target.managed.system.userNamespace to false"
    )


def _unreadable_results(situation: Situation) -> Blocker | None:
    log = situation.observed.log
    if log is None or not log.summary_lines or not log.problem:
        return None
    message = f"the results in the master's log cannot be used: {log.problem}. Run the test again"
    return _error(Reason.RESULTS_UNREADABLE, message, LOG_PATIENCE_S)


def _silent_master(situation: Situation) -> Blocker | None:
    """Return the blocker if a master has ended without results. Its log is read again first: it may lack the end."""
    master = situation.master_ended
    if master is None:
        return None
    patience_s = LOG_PATIENCE_S if situation.observed.log is not None else BLOCKED_PATIENCE_S
    if master.exit_code == 0:
        message = f"the master (pod {master.name}) has ended, and its results could not be read from its log"
        return Blocker(Reason.COLLECTING_RESULTS, message, patience_s, Reason.RESULTS_UNREADABLE)
    code = "" if master.exit_code is None else f" with exit code {master.exit_code}"
    last_words = without_records(master.termination_message)
    said = f": {last_words}" if last_words else ""
    said += disruption_of(situation, Role.MASTER)
    message = f"the master (pod {master.name}) ended{code} and left no results{said}"
    return _error(Reason.MASTER_LOST, message, patience_s)


def disrupted_master(situation: Situation) -> Blocker | None:
    """Return the blocker if the master is being deleted. On a lost node it seems to run until its Node is gone."""
    masters = situation.pods(Role.MASTER)
    if not masters or not all(pod.deleting and pod.disruption for pod in masters):
        return None
    message = f"the master is being deleted, and its results with it{disruption_of(situation, Role.MASTER)}"
    return _error(Reason.MASTER_LOST, f"{message}. Run the test again", BLOCKED_PATIENCE_S)


def _lost_worker(situation: Situation) -> Blocker | None:
    """Return the blocker if a worker was lost, with patience: the master's summary says more than the pod does."""
    how = worker_loss(situation)
    if not how:
        return None
    if situation.start_over:
        message = f"a worker was lost while the load ran: {how}"
        return Blocker(Reason.WORKER_LOST, message, BLOCKED_PATIENCE_S, Reason.WORKER_LOST, Verdict.INVALID)
    message = f"a worker ended before the load began: {how}"
    return Blocker(Reason.WORKER_LOST, message, BLOCKED_PATIENCE_S, Reason.WORKERS_MISSING)


def worker_loss(situation: Situation) -> str:
    """Return how the pod of a worker was lost, as far as pods show it; empty if none was."""
    workers = situation.pods(Role.WORKER)
    gone = [pod for pod in workers if pod.phase == "Failed" or pod.deleting]
    expected = situation.plan.spec.workers.replicas
    if not gone and not (situation.start_over and len(workers) < expected):
        return ""
    how = _end_of(gone[0]) if gone else f"{expected - len(workers)} of {expected} worker pods are gone"
    return how + disruption_of(situation, Role.WORKER)


def disruption_of(situation: Situation, role: Role) -> str:
    """Return the disruption of a role's pod as the end of a sentence; empty if there was none."""
    said = situation.disruption(role)
    return f"; {said}" if said else ""


def _end_of(pod: PodFacts) -> str:
    code = "" if pod.exit_code is None else f" with exit code {pod.exit_code}"
    said = f": {pod.termination_message.strip()}" if pod.termination_message else ""
    return f"pod {pod.name} {'is being deleted' if pod.deleting else 'ended'}{code}{said}"


def _error(reason: Reason, message: str, patience_s: float | None) -> Blocker:
    return Blocker(reason, message, patience_s, reason)
