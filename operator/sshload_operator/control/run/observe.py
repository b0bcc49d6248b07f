"""All facts of one pass over a test: the watched pods, the master's log, and what could not be created or mounted.

A read that fails or takes long never delays a pass: an abort and the deadline are decided without it.
"""

import asyncio
import logging
import re
import time
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from sshload_contract.shortened import shortened
from sshload_contract.wire.master_log import MasterLog, Stage

from sshload_operator.api.names import label_value
from sshload_operator.api.status.load_test import head_of
from sshload_operator.control.api_server.cluster import Cluster, Object
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.control.live.objects import version
from sshload_operator.control.run.baseline import look_for_baseline
from sshload_operator.control.run.judging import Judging, LogReading
from sshload_operator.control.run.pod_facts import pod_facts
from sshload_operator.manifests import child_name
from sshload_operator.manifests.labels import (
    PROOF_SHA256_ANNOTATION,
    TEST_LABEL,
    membership_of_job,
    orphaned_run,
)
from sshload_operator.planning.plan import Plan, TestIdentity, pods_asked, takes_user_namespace
from sshload_operator.state import DEPLOYED, NO_SANDBOX, Observed, ObservedBaseline, Phase, PodFacts, Role

_LOG = logging.getLogger(__name__)

# The watch reports every pod at once. The list corrects what it may have missed while its connection was broken.
_LIST_EVERY_S: Final = 30.0
_PATIENCE_S: Final = 10.0
# Passes take turns: those over runs that cannot be read must not keep the others waiting.
_PATIENCE_AGAIN_S: Final = 1.0
_UNREAD_LIMIT_CHARACTERS: Final = 300
_LOG_KEEPS_S: Final = 0.4
_REJECTION_KEEPS_S: Final = 5.0
_PODS_ARE_MISSING_AFTER_S: Final = 3.0
_REMEMBERED: Final = 200
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_NO_REPLICA_SET: Final = "ReplicaSetCreateError"
# The kubelet's words for what does not pass by itself, by the reason of its event: a Secret or key that is missing, and
# a node without user namespaces.
_FAILED_FOR_GOOD: Final[Mapping[str, tuple[str, ...]]] = {
    "FailedMount": ("not found", "non-existent"),
    NO_SANDBOX: ("spec.hostUsers", "spec.HostUsers", "user namespace"),
}
_STARTED: Final = ("Running", "Succeeded", "Failed")
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Rejection:
    """The kind of an object that could not be created, and what the API server or a controller said of that."""

    kind: str
    message: str


class FailedStart(NamedTuple):
    """Why a pod can never start: the reason and the message of the kubelet's event."""

    reason: str
    message: str


@dataclass(slots=True)
class Observations:
    """What was observed of one test so far. Instants are monotonic seconds, None for never.

    `pods` has the pods with the labels and the controller name of a run, `disrupted` those of them that are gone after
    a disruption, `owner_of_job` the uid of the test that owns a Job, by the Job's uid. Together they tell which pods
    are this test's. `versions` has the versions in which pods were last seen, `told` the names of the pods that the
    watch has reported since the last list was requested. `proof_sha256` has the hash for a run's token, by run id.

    `refused` is what the API server said of a child that it refused, `rejected` what a controller said of what it could
    not create. `orphans` are the ids of runs whose Jobs an earlier test of the same name left behind. `never_start`
    has what the kubelet said of pods that it can never start, by pod. `reads` are the reads under way, `unread`
    is what failed in the reads before. `failed_writes` and `failed_starts` count how often in a row the API server
    answered 500 to a status, and to a child.
    """

    pods: dict[str, PodFacts] = field(default_factory=dict)
    disrupted: dict[str, PodFacts] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    owner_of_job: dict[str, str] = field(default_factory=dict)
    proof_sha256: dict[str, str] = field(default_factory=dict)
    orphans: tuple[str, ...] = ()
    listed_at_s: float | None = None
    reading: LogReading | None = None
    log_of_run_id: str = ""
    log_read_at_s: float | None = None
    refused: Rejection | None = None
    rejected: Rejection | None = None
    rejection_read_at_s: float | None = None
    never_start: Mapping[str, FailedStart] = field(default_factory=dict)
    starts_read_at_s: float | None = None
    baseline: ObservedBaseline | None = None
    reads: "asyncio.Task[str] | None" = None
    unread: str = ""
    failed_writes: int = 0
    failed_starts: int = 0

    def pod_changed(self, event_type: str | None, pod: Mapping[str, Any]) -> None:
        """Take in a watch event of a pod, unless a list had a later version."""
        name, facts = pod["metadata"]["name"], pod_facts(pod)
        if version(pod) < self.versions.get(name, 0):
            return
        self.versions[name] = version(pod)
        self.told.add(name)
        if event_type == "DELETED" or facts is None:
            self._went(self.pods.pop(name, None) if facts is None else facts)
            self.pods.pop(name, None)
        else:
            self.pods[name] = facts

    def pods_listed(self, bodies: Sequence[Mapping[str, Any]]) -> None:
        """Take in a list that was requested when `told` was empty. What the watch has reported since may be newer."""
        listed = {pod["metadata"]["name"]: pod for pod in bodies}
        newer = {name for name in self.told if name not in listed or version(listed[name]) < self.versions.get(name, 0)}
        taken = {name: pod for name, pod in listed.items() if name not in newer}
        facts = {name: found for name, pod in taken.items() if (found := pod_facts(pod)) is not None}
        before, self.pods = self.pods, {name: pod for name, pod in self.pods.items() if name in newer} | facts
        for name in before.keys() - self.pods.keys():
            self._went(before[name])
        kept = {name: seen for name, seen in self.versions.items() if name in newer}
        self.versions = kept | {name: version(pod) for name, pod in taken.items()}

    def _went(self, pod: PodFacts | None) -> None:
        if pod is not None and pod.disruption:
            _remember(self.disrupted, pod.name, pod)

    def job_seen(self, job: Mapping[str, Any]) -> None:
        """Take in a Job. One that is deleted stays known, because its pods outlive it for a while."""
        metadata = job["metadata"]
        membership = membership_of_job(metadata)
        if membership is None:
            return
        _remember(self.owner_of_job, metadata["uid"], membership.controller_uid)
        proof_sha256 = (metadata.get("annotations") or {}).get(PROOF_SHA256_ANNOTATION, "")
        if _SHA256.fullmatch(proof_sha256):
            _remember(self.proof_sha256, membership.run_id, proof_sha256)

    def pods_of(self, test_uid: str) -> tuple[PodFacts, ...]:
        """Return the pods that the test's own Jobs and Deployments made, of any run."""
        return tuple(pod for pod in self.pods.values() if self._is_of(test_uid, pod))

    def disrupted_of(self, test_uid: str) -> tuple[PodFacts, ...]:
        """Return the test's pods that are gone after a disruption, of any run, as they were last seen."""
        return tuple(pod for pod in self.disrupted.values() if self._is_of(test_uid, pod))

    def _is_of(self, test_uid: str, pod: PodFacts) -> bool:
        return pod.role in DEPLOYED or self.owner_of_job.get(pod.controller_uid) == test_uid


def _remember(known: dict[str, _Value], name: str, value: _Value) -> None:
    """Keep only the newest entries: a user who may create Jobs or pods can create any number that look like a run's."""
    known.pop(name, None)
    known[name] = value
    if len(known) > _REMEMBERED:
        del known[next(iter(known))]


@dataclass(frozen=True, slots=True)
class RunUnderWay:
    """The observed run: the test's object, the plan, when the run was started and how long it has been going on."""

    body: Object
    plan: Plan
    start_time: datetime
    elapsed_s: float


_NOTHING_REJECTED: Final = Rejection("Pod", "")


async def observe(
    cluster: Cluster, judging: Judging, observations: Observations, test: TestIdentity, run: RunUnderWay | None
) -> Observed:
    """Return the facts as they are now, asking the API server for those that may have changed.

    Without a `run` (none was started, or it is finished) only the pods are observed, and ApiError is raised if they
    cannot be listed. For a run, `unread` says what could not be read within 10 s, or within 1 s if the pass before
    could not read everything. Reads that take longer go on.
    """
    if run is None:
        if _older(observations.listed_at_s, _LIST_EVERY_S):
            await _list_children(cluster, observations, test)
        pods = observations.pods_of(test.uid)
        return Observed(pods=pods, log=None, rejected_message="", orphans=observations.orphans)
    _forget_other_runs(observations, run.plan)
    if observations.reads is None:
        observations.reads = asyncio.create_task(_read(cluster, judging, observations, run))
        observations.reads.add_done_callback(_retrieve)
    await asyncio.wait({observations.reads}, timeout=_PATIENCE_AGAIN_S if observations.unread else _PATIENCE_S)
    unread = observations.unread or f"no answer within {_PATIENCE_S:g} s"
    if observations.reads.done():
        reads, observations.reads = observations.reads, None
        unread = reads.result()
    if unread and not observations.unread:
        _LOG.warning("%s/%s: not all could be read: %s", test.namespace, test.name, unread)
    observations.unread = unread
    rejected = observations.refused or observations.rejected or _NOTHING_REJECTED
    return Observed(
        pods=tuple(_with_failed_start(observations, pod) for pod in observations.pods_of(test.uid)),
        log=_log_of(observations, run.plan),
        rejected_message=rejected.message,
        baseline=observations.baseline,
        unread=unread,
        disrupted=observations.disrupted_of(test.uid),
        rejected_kind=rejected.kind,
        orphans=observations.orphans,
    )


def _forget_other_runs(observations: Observations, plan: Plan) -> None:
    if observations.log_of_run_id == plan.run_id:
        return
    if observations.reads is not None:
        observations.reads.cancel()
    observations.reads, observations.unread, observations.baseline = None, "", None
    observations.reading, observations.log_of_run_id, observations.log_read_at_s = None, plan.run_id, None
    observations.rejected, observations.rejection_read_at_s = None, None


def _retrieve(reads: "asyncio.Task[str]") -> None:
    """Retrieve the exception of reads that nothing awaits any more."""
    if not reads.cancelled():
        reads.exception()


async def _read(cluster: Cluster, judging: Judging, observations: Observations, run: RunUnderWay) -> str:
    """Read what may have changed of a run, each read independently; return the first failure, or ""."""
    test = run.plan.test
    reads = [
        partial(_read_log, cluster, judging, observations, run.plan),
        partial(_read_rejection, cluster, observations, run),
        partial(_read_failed_starts, cluster, observations, run),
    ]
    if _older(observations.listed_at_s, _list_keeps_s(run)):
        reads.insert(0, partial(_list_children, cluster, observations, test))
    failed = [await _failure(read()) for read in reads]
    if _seems_lost(observations, run):
        failed.append(await _failure(_list_children(cluster, observations, test)))
    log = _log_of(observations, run.plan)
    if log is not None and log.summary is not None:
        failed.append(await _failure(_look_for_baseline(cluster, judging, observations, run)))
    return next(filter(None, failed), "")


def _list_keeps_s(run: RunUnderWay) -> float:
    """Return how old a list may be. A list from before the start timeout cannot end a run: the watch may be late."""
    since_timeout_s = run.elapsed_s - run.plan.spec.start_timeout_s
    return _LIST_EVERY_S if since_timeout_s < 0 else min(_LIST_EVERY_S, since_timeout_s)


def _seems_lost(observations: Observations, run: RunUnderWay) -> bool:
    """Tell whether a pod that the load needs is not seen running.

    The watch may be behind the log, and a list that was read before the log is older than it.
    """
    log = _log_of(observations, run.plan)
    snapshot = log.snapshot if log is not None else None
    goes_on = snapshot is not None and snapshot.stage is not Stage.WAITING_FOR_WORKERS
    if not goes_on and head_of(run.body).phase is not Phase.RUNNING:
        return False
    roles = {Role.MASTER, *DEPLOYED} & pods_asked(run.plan.spec).keys()
    return any(all(pod.phase != "Running" for pod in _pods_of(observations, run.plan, role)) for role in roles)


async def _failure(read: Coroutine[Any, Any, None]) -> str:
    """Return why a read failed, "" if it did not."""
    try:
        await read
    except ApiError as error:
        return shortened(str(error), _UNREAD_LIMIT_CHARACTERS)
    return ""


async def _look_for_baseline(cluster: Cluster, judging: Judging, observations: Observations, run: RunUnderWay) -> None:
    observations.baseline = await look_for_baseline(cluster, judging, run.plan, run.body, run.start_time)


async def _list_children(cluster: Cluster, observations: Observations, test: TestIdentity) -> None:
    selector = f"{TEST_LABEL}={label_value(test.name)}"
    observations.told.clear()
    observations.pods_listed(await cluster.list_pods(test.namespace, selector))
    jobs = await cluster.list_jobs(test.namespace, selector)
    for job in jobs:
        observations.job_seen(job)
    observations.orphans = tuple(sorted({found for job in jobs if (found := orphaned_run(job["metadata"], test.name))}))
    observations.listed_at_s = time.monotonic()


async def _read_log(cluster: Cluster, judging: Judging, observations: Observations, plan: Plan) -> None:
    master = _master(observations, plan)
    log = _log_of(observations, plan)
    complete = log is not None and log.summary is not None
    if master is None or complete or not _older(observations.log_read_at_s, _LOG_KEEPS_S):
        return
    observations.reading = reading = await judging.read(cluster, plan.test.namespace, master.name, observations.reading)
    if reading is not None and reading.unread_lines:
        reading = await judging.read_whole(cluster, plan.test.namespace, master.name, reading)
    observations.reading = None if reading is None else replace(reading, log=_checked(reading.log, observations, plan))
    observations.log_read_at_s = time.monotonic()


def _checked(log: MasterLog, observations: Observations, plan: Plan) -> MasterLog:
    """Return the log without a summary that does not carry the run's token."""
    if log.summary is None or log.proof_sha256 == observations.proof_sha256.get(plan.run_id):
        return log
    return replace(log, summary=None, problem="the summary does not carry the token of this run")


def _master(observations: Observations, plan: Plan) -> PodFacts | None:
    """Return the master whose log counts. If there are two, one is not the run's, and neither log is used."""
    started = [pod for pod in _pods_of(observations, plan, Role.MASTER) if pod.phase in _STARTED]
    masters = [pod for pod in started if not pod.deleting] or started
    return masters[0] if len(masters) == 1 else None


def _log_of(observations: Observations, plan: Plan) -> MasterLog | None:
    return (
        observations.reading.log
        if observations.reading is not None and observations.log_of_run_id == plan.run_id
        else None
    )


async def _read_rejection(cluster: Cluster, observations: Observations, run: RunUnderWay) -> None:
    asked = pods_asked(run.plan.spec)
    missing = [role for role, count in asked.items() if len(tuple(_pods_of(observations, run.plan, role))) < count]
    if not missing or run.elapsed_s < _PODS_ARE_MISSING_AFTER_S:
        observations.rejected = None
        return
    if _older(observations.rejection_read_at_s, _REJECTION_KEEPS_S):
        observations.rejected = await _rejection(cluster, run.plan, missing)
        observations.rejection_read_at_s = time.monotonic()


async def _rejection(cluster: Cluster, plan: Plan, missing: Sequence[Role]) -> Rejection | None:
    """Return what a controller said of pods or a ReplicaSet that it could not create; None if there is nothing."""
    namespace = plan.test.namespace
    for role in missing:
        deployment = await cluster.read_deployment(namespace, child_name(plan, role)) if role in DEPLOYED else None
        rejection = _replica_failure(deployment or {})
        if rejection is not None:
            return rejection
    names = {child_name(plan, role) for role in missing if role not in DEPLOYED}
    if not names:
        return None
    events = await cluster.list_events(namespace, "involvedObject.kind=Job,reason=FailedCreate")
    return next((Rejection("Pod", message) for name, message in events if name in names), None)


async def _read_failed_starts(cluster: Cluster, observations: Observations, run: RunUnderWay) -> None:
    waiting = {pod.name for pod in observations.pods.values() if pod.waits_to_be_made}
    if not waiting or run.elapsed_s < _PODS_ARE_MISSING_AFTER_S:
        observations.never_start = {}
        return
    if _older(observations.starts_read_at_s, _REJECTION_KEEPS_S):
        found: dict[str, FailedStart] = {}
        for reason, told_by in _FAILED_FOR_GOOD.items():
            if reason == NO_SANDBOX and not takes_user_namespace(run.plan.spec):
                continue
            events = await cluster.list_events(run.plan.test.namespace, f"involvedObject.kind=Pod,reason={reason}")
            found |= {
                pod: FailedStart(reason, message)
                for pod, message in events
                if pod in waiting and any(words in message for words in told_by)
            }
        observations.never_start = found
        observations.starts_read_at_s = time.monotonic()


def _with_failed_start(observations: Observations, pod: PodFacts) -> PodFacts:
    """Return the pod with what keeps it waiting for good, which its own status does not state."""
    failed = observations.never_start.get(pod.name)
    if failed is None or not pod.waits_to_be_made:
        return pod
    return replace(pod, waiting_reason=failed.reason, waiting_message=failed.message)


def _replica_failure(deployment: Mapping[str, Any]) -> Rejection | None:
    """Return what the conditions of a Deployment say of its pods, or of the ReplicaSet that would make them."""
    conditions = deployment.get("status", {}).get("conditions") or ()
    for found in conditions:
        failed = found.get("type"), found.get("status"), found.get("reason")
        if failed[:2] == ("ReplicaFailure", "True"):
            return Rejection("Pod", str(found.get("message", "")))
        if failed == ("Progressing", "False", _NO_REPLICA_SET):
            return Rejection("ReplicaSet", str(found.get("message", "")))
    return None


def _pods_of(observations: Observations, plan: Plan, role: Role) -> Iterable[PodFacts]:
    return (pod for pod in observations.pods_of(plan.test.uid) if pod.run_id == plan.run_id and pod.role is role)


def _older(instant_s: float | None, limit_s: float) -> bool:
    return instant_s is None or time.monotonic() - instant_s > limit_s
