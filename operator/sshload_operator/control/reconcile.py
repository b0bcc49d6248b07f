"""One pass over one test: observe, decide, apply, one status patch. Level-triggered, and safe to be killed anywhere.

Everything that is applied has a name that follows from the run, so a pass that was cut short is simply done again.
The children are applied before the status speaks of the run, so a status never claims what was not done; and the
master's Job is deleted last, so that an operator started anew sees by it whether a run was swept.
"""

import asyncio
import json
import logging
import secrets
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from sshload_contract.master_log import MasterLog, proof_sha256

from sshload_operator.api.errors import SpecError
from sshload_operator.api.kinds import TEST
from sshload_operator.api.load_test import parse
from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.api.target import ManagedTarget
from sshload_operator.control import announcement
from sshload_operator.control.cluster import ApiError, Cluster, Object, object_path
from sshload_operator.control.judging import Judging
from sshload_operator.control.keys import KeysAsked, make_keys
from sshload_operator.control.live_objects import key_of
from sshload_operator.control.observe import RunUnderWay, Sight, observe
from sshload_operator.control.room import Room
from sshload_operator.decision.decide import current_run, decide, may_begin
from sshload_operator.decision.findings import MESSAGE_LIMIT_CHARACTERS
from sshload_operator.decision.status import remembered
from sshload_operator.manifests import (
    ChildRef,
    Part,
    child_name,
    child_ref,
    children,
    cluster_places,
    keys_secret,
    results_ref,
    swept,
)
from sshload_operator.manifests.labels import PROOF_SHA256_ANNOTATION
from sshload_operator.manifests.names import run_child_name
from sshload_operator.planning.applier import applier
from sshload_operator.planning.plan import Installation, Plan, TestIdentity, as_begun, make_plan, spec_hash
from sshload_operator.state import Decision, Manifest, Observed, Phase, Remembered

_LOG = logging.getLogger(__name__)
_PODS_COME_FROM: Final = ("Deployment", "Job")
# What the API server will say again however often it is asked.
_UNACCEPTABLE: Final = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
)
_FAILED_WRITES: Final = 5
# A webhook that is away for a moment fails so too. By the back-off between passes, eight take more than half a minute.
_FAILED_STARTS: Final = 8
_REFUSED: Final = (HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY)
# A webhook says as much as it likes.
_REFUSAL_LIMIT_CHARACTERS: Final = 1_000
# Well below the 1.5 MB that the API server takes for an object: lists of many tests have to fit the operator's memory.
_STATUS_LIMIT_BYTES: Final = 524_288
_NOTHING_SEEN: Final = Observed(pods=(), log=None, rejected_message="")


@dataclass(frozen=True, slots=True)
class Question:
    """What `decide` is asked about one object, but for what is observed. `body` is that object."""

    body: Object
    test: TestIdentity
    plan: Plan | SpecError
    remembered: Remembered

    @property
    def may_begin(self) -> bool:
        """Whether a run is to begin as soon as there is room for it."""
        return may_begin(self.plan, self.remembered)

    @property
    def finished(self) -> bool:
        """Whether the object's current run is over."""
        return self.remembered.phase is Phase.FINISHED

    def run_under_way(self, now: datetime) -> RunUnderWay | None:
        """Return the run that the status says is going on, if the spec still means that run."""
        start_time = self.remembered.start_time
        if isinstance(self.plan, SpecError) or self.finished or start_time is None:
            return None
        if self.remembered.run != self.plan.run:
            return None
        plan = as_begun(self.plan, self.remembered.written)
        return RunUnderWay(self.body, plan, min(start_time, now), (now - start_time).total_seconds())


@dataclass(frozen=True, slots=True)
class Shared:
    """What the passes over all tests share: the API server, the thread that judges, and the room for runs."""

    cluster: Cluster
    judging: Judging
    room: Room


@dataclass(frozen=True, slots=True)
class Pass:
    """What came of a pass: the object as it is now (None: it is gone), and when to look again at the latest."""

    test: Object | None
    requeue_after_s: float | None


@dataclass(slots=True)
class KnownSpec:
    """What the passes before have made of the spec of a test of this identity: nothing of it changes with the status.

    Parsing, hashing and planning would take a sixth of the operator's CPU otherwise.
    """

    test: TestIdentity | None = None
    spec: LoadTestSpec | SpecError | None = None
    spec_hash: str = ""
    plan: Plan | None = None


def question(test: Object, installation: Installation, known: KnownSpec) -> Question:
    """Return what is to be decided about an object as the API server shows it. `known` is of the same object."""
    metadata = test["metadata"]
    identity = TestIdentity(
        metadata["namespace"], metadata["name"], metadata["uid"], metadata["generation"], applier(metadata)
    )
    past = remembered(test.get("status") or {})
    return Question(test, identity, _plan(identity, test["spec"], installation, past, known), past)


def decide_unseen(asked: Question, now: datetime) -> Decision:
    """Return what is to be done about a test without a look at the cluster, as if none of its pods were left."""
    return decide(asked.test, asked.plan, asked.remembered, _NOTHING_SEEN, now)


def asks_for_deeds(decision: Decision) -> bool:
    """Whether anything is to be done at all, but for waiting."""
    deeds = (decision.status, decision.replaced, decision.store, decision.sweep, decision.announcements)
    return decision.start or decision.delete_self or any(deeds)


def is_finished(test: Object) -> bool:
    """Whether the object's status says that the run of its present spec is over."""
    past = remembered(test.get("status") or {})
    return past.phase is Phase.FINISHED


def is_held_back(test: Object) -> bool:
    """Whether the object's status says that no run may begin: it is suspended, paused, or queued."""
    return remembered(test.get("status") or {}).phase is Phase.PENDING


async def reconcile(shared: Shared, asked: Question, sight: Sight, now: datetime) -> Pass:
    """Do one pass; raises ApiError, and KeysError where ssh-keygen fails."""
    cluster = shared.cluster
    observed = await _observe(shared, asked, sight, now)
    decision = await _decide(shared.judging, asked, sight, observed, now)
    status = decision.status
    await _all(*(_delete(cluster, results_ref(asked.test, run_id)) for run_id in decision.replaced))
    if decision.start and isinstance(asked.plan, Plan):
        sight.refused_message = await _start(cluster, asked.plan, sight)
    if decision.store is not None:
        status = await _store(cluster, decision.store, status or {})
    newest: Object | None = asked.body
    if status is not None:
        try:
            newest = await cluster.write_status(TEST, asked.body, status)
            sight.failed_writes = 0
        except ApiError as error:
            if _has_results(observed) and _is_refused_for_good(error, sight):  # such as a number that the CRD forbids
                _discard_results(asked, sight, str(error))
            elif error.status in _REFUSED:  # the object does not fit its CRD: an Event is all that can be said
                await _announce(cluster, asked, decision, now)
            raise
    if newest is None:
        return Pass(test=None, requeue_after_s=None)
    await _all(*(_sweep(cluster, asked.test, run_id) for run_id in decision.sweep))
    await _announce(cluster, asked, decision, now)
    if decision.delete_self:
        await _delete_test(cluster, newest)
    return Pass(newest, 0.0 if sight.refused_message and decision.start else decision.requeue_after_s)


async def _observe(shared: Shared, asked: Question, sight: Sight, now: datetime) -> Observed:
    observed = _NOTHING_SEEN
    # Without a run there are no pods, or those of an attempt whose status was never written, or was taken away. What is
    # left of a run that is held back was swept then, and the watch tells of pods that are there still.
    if sight.pods or (asked.remembered.run and asked.remembered.phase is not Phase.PENDING):
        observed = await observe(shared.cluster, shared.judging, sight, asked.test, asked.run_under_way(now))
    if asked.may_begin:
        return replace(observed, queued=shared.room.ask(asked.body))
    shared.room.withdraw(key_of(asked.body))
    return observed


async def _decide(judging: Judging, asked: Question, sight: Sight, observed: Observed, now: datetime) -> Decision:
    """Return what is to be done. Results that break the rules of judging are unreadable ones."""
    if not _has_results(observed):
        return decide(asked.test, asked.plan, asked.remembered, observed, now)
    try:
        decision = await judging.run(partial(decide, asked.test, asked.plan, asked.remembered, observed, now))
        size_bytes = len(json.dumps(decision.status)) if decision.status is not None else 0
        if size_bytes <= _STATUS_LIMIT_BYTES:
            return decision
        problem = f"they would take {size_bytes} bytes of the status, and {_STATUS_LIMIT_BYTES} is the most"
    except Exception as error:  # noqa: BLE001 - the results are a tenant's, and can be false in any way
        problem = f"{type(error).__name__}: {error}"
    unreadable = _discard_results(asked, sight, problem)
    return decide(asked.test, asked.plan, asked.remembered, replace(observed, log=unreadable), now)


def _is_refused_for_good(error: ApiError, sight: Sight) -> bool:
    """Tell whether the API server will never take a status with these results.

    What it cannot merge, such as two entries of one name, it answers with 500, as a fault of its own that passes.
    """
    if error.status == HTTPStatus.INTERNAL_SERVER_ERROR:
        sight.failed_writes += 1
    return error.status in _UNACCEPTABLE or sight.failed_writes >= _FAILED_WRITES


def _has_results(observed: Observed) -> bool:
    return observed.log is not None and observed.log.summary is not None


def _discard_results(asked: Question, sight: Sight, problem: str) -> MasterLog | None:
    """Take the results in the master's log for unreadable from now on, and return the log without them."""
    if sight.reading is None:
        return None
    _LOG.error("%s/%s: the results cannot be judged: %s", asked.test.namespace, asked.test.name, problem[:1000])
    unreadable = replace(sight.reading.log, summary=None, problem=problem)
    sight.reading = replace(sight.reading, log=unreadable)
    return unreadable


def _plan(
    test: TestIdentity, spec_body: Mapping[str, Any], installation: Installation, past: Remembered, known: KnownSpec
) -> Plan | SpecError:
    if known.test != test or known.spec is None:
        known.test, known.plan = test, None
        known.spec, known.spec_hash = _read_spec(spec_body)
    if isinstance(known.spec, SpecError):
        return known.spec
    run = current_run(test, known.spec_hash, past)
    try:
        if known.plan is None or known.plan.run != run:
            known.plan = make_plan(test, known.spec, installation, run)
    except SpecError as error:
        return error
    return known.plan


def _read_spec(spec_body: Mapping[str, Any]) -> tuple[LoadTestSpec | SpecError, str]:
    """Return a spec and its hash, or what is wrong with it."""
    try:
        spec = parse(spec_body)
    except SpecError as error:
        return error, ""
    return spec, spec_hash(spec)


async def _start(cluster: Cluster, plan: Plan, sight: Sight) -> str:
    """Apply all children of a run, those that pods come from last; return why the API server refused one, or "".

    It refuses one for good by saying so, and by answering 500 again and again. What pods come from is created once: its
    pod template cannot be changed, and an operator of another release would write another one.
    """
    try:
        manifests = children(plan, await _create_keys(cluster, plan))
        await _all(*(_apply(cluster, found) for found in manifests if found["kind"] not in _PODS_COME_FROM))
        pods_come_from = [found for found in manifests if found["kind"] in _PODS_COME_FROM]
        master = [found for found in pods_come_from if found["metadata"]["name"] == child_name(plan, Part.MASTER)]
        await _all(*(_create(cluster, found) for found in master))
        await _all(*(_create(cluster, found) for found in pods_come_from if found not in master))
    except ApiError as error:
        sight.failed_starts += error.status == HTTPStatus.INTERNAL_SERVER_ERROR
        if error.status in _REFUSED or sight.failed_starts >= _FAILED_STARTS:
            return str(error)
        raise
    sight.failed_starts = 0
    return ""


async def _apply(cluster: Cluster, manifest: Manifest) -> None:
    await cluster.apply(child_ref(manifest).api_path, manifest)


async def _create(cluster: Cluster, manifest: Manifest) -> None:
    await cluster.create(child_ref(manifest).api_path, manifest)


async def _create_keys(cluster: Cluster, plan: Plan) -> str:
    """Create the run's Secret with a new token, and return the SHA-256 of the proof that belongs to it.

    Where an attempt that was cut short left a Secret behind, that hash is what the master's Job says. That Job is
    applied before all that pods come from: without it no pod has the token, and the Secret is made anew.
    """
    token = secrets.token_hex(32)
    secret = keys_secret(plan, token, await _keys(plan))
    path = child_ref(secret).api_path
    if await cluster.create(path, secret):
        return proof_sha256(token)
    job = await cluster.read_job(plan.test.namespace, child_name(plan, Part.MASTER))
    known = (job or {"metadata": {}})["metadata"].get("annotations", {}).get(PROOF_SHA256_ANNOTATION)
    if known is not None:
        return str(known)
    await cluster.delete(path)
    await cluster.create(path, secret)
    return proof_sha256(token)


async def _keys(plan: Plan) -> Mapping[str, str]:
    if not isinstance(plan.spec.target, ManagedTarget):
        return {}
    target = cluster_places(plan).target
    return (await make_keys(KeysAsked(target.host, target.port, target.user, plan.spec.deadline_s))).files()


async def _store(cluster: Cluster, results: Manifest, status: Mapping[str, Any]) -> Mapping[str, Any]:
    """Apply the results ConfigMap, and return the status, which does not point at it where it was refused."""
    try:
        await _apply(cluster, results)
    except ApiError as error:
        if error.status not in _REFUSED:
            raise
        kept = {key: value for key, value in status.items() if key != "resultsConfigMap"}
        refused = f" The results ConfigMap was refused: {error}"[:_REFUSAL_LIMIT_CHARACTERS]
        said = status.get("message", "")[: MESSAGE_LIMIT_CHARACTERS - len(refused)]
        return {**kept, "message": f"{said}{refused}".strip()}
    return status


async def _sweep(cluster: Cluster, test: TestIdentity, run_id: str) -> None:
    refs = swept(test, run_id)
    master = run_child_name(test.name, run_id, Part.MASTER)
    last = [ref for ref in refs if ref.kind == "Job" and ref.name == master]
    await _all(*(_delete(cluster, ref) for ref in refs if ref not in last))
    await _all(*(_delete(cluster, ref) for ref in last))


async def _delete(cluster: Cluster, ref: ChildRef) -> None:
    await cluster.delete(ref.api_path)


async def _delete_test(cluster: Cluster, test: Object) -> None:
    metadata = test["metadata"]
    preconditions = {key: metadata[key] for key in ("uid", "resourceVersion")}
    await cluster.delete(object_path(TEST, metadata["namespace"], metadata["name"]), preconditions)


async def _announce(cluster: Cluster, asked: Question, decision: Decision, now: datetime) -> None:
    run = asked.plan.run if isinstance(asked.plan, Plan) else asked.test.generation
    test = asked.test
    about = announcement.About(TEST, test.namespace, test.name, test.uid, occasion=str(run))
    await announcement.announce(cluster, about, decision.announcements, now)


async def _all(*steps: Coroutine[Any, Any, None]) -> None:
    """Take all steps at once, wait for the last of them, then raise the first failure if there was any."""
    for result in await asyncio.gather(*steps, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result
