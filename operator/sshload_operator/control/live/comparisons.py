"""The comparisons that are worked on: one pass over one of them.

Deciding takes a moment at the end of each test, for the intervals of all figures, and reading a large spec takes one
for each variant. Both are done beside the event loop, which all tests share.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

from sshload_operator.api.comparison.spec import parse_comparison
from sshload_operator.api.comparison.words import ComparisonReason
from sshload_operator.api.errors import SpecError
from sshload_operator.api.kinds import COMPARISON, TEST, Kind
from sshload_operator.api.names import label_value
from sshload_operator.api.shapes import read_fitting
from sshload_operator.api.status.comparison import ComparisonStatus
from sshload_operator.api.status.head import Remembered, RunStatus, remembered
from sshload_operator.control.api_server.announcement import About, announce
from sshload_operator.control.api_server.cluster import REFUSED, ApiError, Cluster, Object, object_path
from sshload_operator.control.live.objects import Rest
from sshload_operator.control.live.owned_tests import OwnedTests, OwnerReconciled, delete_owned_test, is_controlled_by
from sshload_operator.decision.comparison.decide import (
    ComparisonDecision,
    ObservedComparison,
    Refused,
    current_comparison_run,
    decide_comparison,
    looked_for,
)
from sshload_operator.decision.comparison.facts import ObservedTest, observed_test
from sshload_operator.decision.comparison.plan import (
    COMPARISON_LABEL,
    ComparisonPlan,
    comparison_hash,
    make_comparison_plan,
    refusal,
)
from sshload_operator.manifests.labels import TEST_LABEL
from sshload_operator.planning.plan import Installation, TestIdentity
from sshload_operator.state import Manifest

_LIST_EVERY_S: Final = 300.0
# A pass holds the spec of each variant as it is written and as it is parsed: 10 MB of the largest.
_PASSES_AT_ONCE: Final = 2

Tests = OwnedTests[ObservedTest]


@dataclass(frozen=True, slots=True)
class _Subject:
    """The object that a comparison's decision is about, but for what is observed."""

    comparison: TestIdentity
    plan: ComparisonPlan | SpecError
    past: Remembered[ComparisonStatus]


class ComparisonKind:
    """SSHLoadTestComparisons, as owners of tests."""

    kind: Kind = COMPARISON
    label: str = COMPARISON_LABEL
    list_every_s: float = _LIST_EVERY_S
    passes_at_once: int = _PASSES_AT_ONCE

    def __init__(self, installation: Installation) -> None:
        self._installation = installation

    def facts(self, test: Object) -> ObservedTest:
        """Return what matters of a test to its comparison."""
        return observed_test(test)

    async def reconcile(self, cluster: Cluster, body: Object, tests: Tests) -> OwnerReconciled:
        """Do one pass: observe, decide, delete and abort tests, make the next one, and write the status.

        Should the watch be behind, the test to be made is there already, under its one name, and is taken in as it is.
        """
        now = datetime.now(UTC)
        subject = await asyncio.to_thread(_subject_of, body)
        decision = await _decide(subject, ObservedComparison(_seen(tests), None, None), now)
        if decision.look_for_pods and isinstance(subject.plan, ComparisonPlan):
            pods = await _pods(cluster, subject.plan, tests)
            refused = _preflight(subject.plan, self._installation)
            decision = await _decide(subject, ObservedComparison(_seen(tests), pods, refused), now)
            if decision.create is not None:
                refused = await _create(cluster, body, tests, decision.create)
                if refused is not None:
                    decision = await _decide(subject, ObservedComparison(_seen(tests), pods, refused), now)
        for test in decision.delete:
            await delete_owned_test(cluster, subject.comparison.namespace, test.name, test.uid)
        for test in decision.abort:
            await _abort(cluster, subject.comparison.namespace, test)
        return await _write(cluster, body, tests, decision, now)


def _subject_of(body: Object) -> _Subject:
    metadata = body["metadata"]
    comparison = TestIdentity(metadata["namespace"], metadata["name"], metadata["uid"], metadata["generation"])
    past = remembered(ComparisonStatus, body.get("status"))
    try:
        spec = parse_comparison(body["spec"])
    except SpecError as error:
        return _Subject(comparison, error, past)
    run = current_comparison_run(comparison, comparison_hash(spec), past)
    return _Subject(comparison, make_comparison_plan(comparison, spec, run), past)


async def _decide(subject: _Subject, observed: ObservedComparison, now: datetime) -> ComparisonDecision:
    return await asyncio.to_thread(decide_comparison, subject.comparison, subject.plan, subject.past, observed, now)


def _seen(tests: Tests) -> tuple[ObservedTest, ...]:
    return tuple(tests.facts.values())


async def _pods(cluster: Cluster, plan: ComparisonPlan, tests: Tests) -> Sequence[str]:
    """Return the names of the pods of all tests of the comparison, of an earlier run too."""
    pods = await cluster.list_pods(plan.comparison.namespace, TEST_LABEL)
    labels = {label_value(name) for name in looked_for(plan, _seen(tests))}
    metadata = (pod["metadata"] for pod in pods)
    return [found["name"] for found in metadata if found["labels"].get(TEST_LABEL) in labels]


def _preflight(plan: ComparisonPlan, installation: Installation) -> Refused | None:
    found = refusal(plan, installation)
    return None if found is None else Refused(ComparisonReason(found[0].value), found[1])


async def _create(cluster: Cluster, body: Object, tests: Tests, manifest: Manifest) -> Refused | None:
    """Create a test, or find that it was made before; return why it cannot be made, if so."""
    namespace, name = manifest["metadata"]["namespace"], manifest["metadata"]["name"]
    try:
        made = await cluster.create_new(object_path(TEST, namespace, name), manifest)
    except ApiError as error:
        if error.status not in REFUSED:
            raise
        quota_or_right = error.status == HTTPStatus.FORBIDDEN
        return Refused(ComparisonReason.TEST_REFUSED, f"the test {name} was refused: {error}", may_pass=quota_or_right)
    found = made or await cluster.read(TEST, namespace, name)
    if found is not None and not is_controlled_by(found, body["metadata"]["uid"]):
        message = f"there is a test {name} that is not of this comparison: rename one of them"
        return Refused(ComparisonReason.NAME_TAKEN, message)
    if found is not None:
        tests.made(found, observed_test)
    return None


async def _abort(cluster: Cluster, namespace: str, test: ObservedTest) -> None:
    """Ask a test to end. It keeps its object, so that what became of it can be seen."""
    metadata = {"namespace": namespace, "name": test.name, "uid": test.uid}
    await cluster.set_spec(TEST, metadata, {"abort": True})


async def _write(
    cluster: Cluster, body: Object, tests: Tests, decision: ComparisonDecision, now: datetime
) -> OwnerReconciled:
    newest: Object | None = body
    if decision.status is not None:
        newest = await cluster.write_status(COMPARISON, body, decision.status)
    if newest is None:
        return OwnerReconciled(None, Rest())
    metadata = body["metadata"]
    occasion = str(read_fitting(RunStatus, decision.status).run or "")
    about = About(COMPARISON, metadata["namespace"], metadata["name"], metadata["uid"], occasion)
    await announce(cluster, about, (said for said in decision.announcements if tests.is_news(about, said)), now)
    wait_s = decision.requeue_after_s
    return OwnerReconciled(newest, Rest() if wait_s is None else tests.park(wait_s, now))
