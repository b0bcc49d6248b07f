"""One pass over one test: observe, decide, execute, one status patch. Level-triggered; may be killed anywhere.

An interrupted pass is simply repeated (execute.py, cluster_world.py).
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from sshload_contract.shortened import shortened
from sshload_contract.wire.master_log import MasterLog

from sshload_operator.api.load_test import parse
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.api.status.head import Remembered, remembered
from sshload_operator.api.status.load_test import TestHead, head_of
from sshload_operator.control.api_server.cluster import REFUSED, Cluster, Object
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.control.live.objects import is_deleting, key_of
from sshload_operator.control.live.room import Room
from sshload_operator.control.run.cluster_world import ClusterWorld
from sshload_operator.control.run.judging import Judging
from sshload_operator.control.run.observe import Observations, RunUnderWay, observe
from sshload_operator.decision.life_cycle import current_run, decide
from sshload_operator.decision.load_test.decide import TestDecision, TestSubject
from sshload_operator.manifests.labels import COMPARISON_LABEL
from sshload_operator.planning.installation import Installation
from sshload_operator.planning.plan import Plan, TestIdentity, applier, as_begun, make_plan, spec_hash
from sshload_operator.state import Observed, Phase
from sshload_operator.world.execute import execute

_LOG = logging.getLogger(__name__)
# The API server repeats these answers, however often it is asked.
_UNACCEPTABLE: Final = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
)
_FAILED_WRITES: Final = 5
# Well below the 1.5 MB that the API server takes for an object: lists of many tests have to fit the operator's memory.
_STATUS_LIMIT_BYTES: Final = 524_288
_NOTHING_SEEN: Final = Observed(pods=(), log=None, rejected_message="")


@dataclass(frozen=True, slots=True)
class Shared:
    """What the passes over all tests share: the API server, the thread that judges, and the room for runs."""

    cluster: Cluster
    judging: Judging
    room: Room


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The result of a pass: the object as it is now (None: it is gone), and when the next pass is due at the latest.

    `started` tells whether the pass started a run.
    """

    test: Object | None
    requeue_after_s: float | None
    started: bool = False


@dataclass(slots=True)
class ParsedSpec:
    """What earlier passes made of the spec of a test of this identity. None of it depends on the status.

    Repeated in each pass, parsing, hashing and planning would take a sixth of the operator's CPU.
    """

    test: TestIdentity | None = None
    spec: LoadTestSpec | SpecError | None = None
    spec_hash: str = ""
    plan: Plan | None = None


def subject_of(test: Object, installation: Installation, known: ParsedSpec, now: datetime) -> TestSubject:
    """Return a test as the API server shows it, as if it had no pods. `known` belongs to the same object."""
    metadata = test["metadata"]
    identity = TestIdentity(
        *(metadata["namespace"], metadata["name"], metadata["uid"], metadata["generation"]),
        applier=applier(metadata),
        comparison=(metadata.get("labels") or {}).get(COMPARISON_LABEL, ""),
    )
    past = remembered(TestHead, test.get("status"))
    plan = _plan(identity, test["spec"], installation, past, known)
    return TestSubject(identity, plan, past, _NOTHING_SEEN, now, is_deleting(test))


def needs_action(decision: TestDecision) -> bool:
    """Return whether the decision asks for more than waiting."""
    deeds = (decision.status, decision.replaced, decision.store, decision.sweep, decision.announcements)
    return decision.start or decision.delete_self or any(deeds)


def is_finished(test: Object) -> bool:
    """Whether the object's status says that the run of its present spec is over."""
    return head_of(test).phase is Phase.FINISHED


def is_held_back(test: Object) -> bool:
    """Whether the object's status says that no run may begin: it is suspended, paused, or queued."""
    return head_of(test).phase is Phase.PENDING


async def reconcile(shared: Shared, body: Object, subject: TestSubject, observations: Observations) -> Reconciled:
    """Do one pass over the test of this body; raises ApiError, and KeysError where ssh-keygen fails."""
    subject = replace(subject, observed=await _observe(shared, body, subject, observations))
    decision = await _decide(shared.judging, subject, observations)
    world = ClusterWorld(shared.cluster, subject.test, _occasion(subject), observations, subject.now, body)
    try:
        is_there = await execute(decision, subject.plan, world)
    except ApiError as error:
        if error is world.status_error:
            # For example because of a number that the CRD forbids.
            if _has_results(subject.observed) and _is_refused_for_good(error, observations):
                _discard_results(subject, observations, str(error))
            elif error.status in REFUSED:  # the object does not fit its CRD: an Event is all that can be said
                await world.announce(decision.announcements)
        raise
    if not is_there:
        return Reconciled(test=None, requeue_after_s=None)
    is_refused = decision.start and observations.refused is not None
    return Reconciled(
        test=world.newest,
        requeue_after_s=0.0 if is_refused else decision.requeue_after_s,
        started=decision.start and not is_refused,
    )


def _occasion(subject: TestSubject) -> str:
    """Return the run that an Event is about."""
    return str(subject.plan.run if isinstance(subject.plan, Plan) else subject.test.generation)


async def _observe(shared: Shared, body: Object, subject: TestSubject, observations: Observations) -> Observed:
    observed, past = subject.observed, subject.remembered.status
    # Without a run there are no pods, or only those of an attempt whose status was never written or was removed. When a
    # test is held back, what is left of its run is swept, and the watch reports pods that still exist.
    if observations.pods or (past.run and past.phase is not Phase.PENDING):
        run = _run_under_way(body, subject)
        observed = await observe(shared.cluster, shared.judging, observations, subject.test, run)
    if subject.may_begin:
        return replace(observed, queued=shared.room.ask(body))
    shared.room.withdraw(key_of(body))
    return observed


def _run_under_way(body: Object, subject: TestSubject) -> RunUnderWay | None:
    """Return the run that the status says is going on, if the spec still means that run."""
    plan, past, now = subject.plan, subject.remembered.status, subject.now
    if isinstance(plan, SpecError) or past.is_finished or past.start_time is None or past.run != plan.run:
        return None
    elapsed_s = (now - past.start_time).total_seconds()
    return RunUnderWay(body, as_begun(plan, past), min(past.start_time, now), elapsed_s)


async def _decide(judging: Judging, subject: TestSubject, observations: Observations) -> TestDecision:
    """Return the decision. Results that break the rules of judging count as unreadable."""
    if not _has_results(subject.observed):
        return decide(subject)
    try:
        decision = await judging.run(subject.test.namespace, partial(decide, subject))
        size_bytes = len(json.dumps(decision.status)) if decision.status is not None else 0
        if size_bytes <= _STATUS_LIMIT_BYTES:
            return decision
        problem = f"they would take {size_bytes} bytes of the status, and the limit is {_STATUS_LIMIT_BYTES}"
    except Exception as error:  # noqa: BLE001 - the results are a tenant's, and can be false in any way
        problem = f"{type(error).__name__}: {error}"
    unreadable = _discard_results(subject, observations, problem)
    return decide(replace(subject, observed=replace(subject.observed, log=unreadable)))


def _is_refused_for_good(error: ApiError, observations: Observations) -> bool:
    """Tell whether the API server will never accept a status with these results.

    It answers 500 to a status that it cannot merge, such as one with two entries of the same name, as if the fault were
    its own and temporary.
    """
    if error.status == HTTPStatus.INTERNAL_SERVER_ERROR:
        observations.failed_writes += 1
    return error.status in _UNACCEPTABLE or observations.failed_writes >= _FAILED_WRITES


def _has_results(observed: Observed) -> bool:
    return observed.log is not None and observed.log.summary is not None


def _discard_results(subject: TestSubject, observations: Observations, problem: str) -> MasterLog | None:
    """Treat the results in the master's log as unreadable from now on, and return the log without them."""
    if observations.reading is None:
        return None
    _LOG.error(
        "%s/%s: the results cannot be judged: %s", subject.test.namespace, subject.test.name, shortened(problem, 1000)
    )
    unreadable = replace(observations.reading.log, summary=None, problem=problem)
    observations.reading = replace(observations.reading, log=unreadable)
    return unreadable


def _plan(
    test: TestIdentity,
    spec_body: Mapping[str, Any],
    installation: Installation,
    past: Remembered[TestHead],
    known: ParsedSpec,
) -> Plan | SpecError:
    if known.test != test or known.spec is None:
        known.test, known.plan = test, None
        known.spec, known.spec_hash = _read_spec(spec_body)
    if isinstance(known.spec, SpecError):
        return known.spec
    run = current_run(known.spec_hash, test.generation, past.status)
    if known.plan is None or known.plan.run != run:
        known.plan = make_plan(test, known.spec, installation, run)
    return known.plan


def _read_spec(spec_body: Mapping[str, Any]) -> tuple[LoadTestSpec | SpecError, str]:
    """Return a spec and its hash, or what is wrong with it."""
    try:
        spec = parse(spec_body)
    except SpecError as error:
        return error, ""
    return spec, spec_hash(spec)
