"""A comparison by processes of this machine: the operator's own decisions, with local runs in place of tests."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

from sshload_contract.allow_list import AllowedTarget
from sshload_contract.vocabulary import Verdict

from sshload_operator.api.comparison.spec import parse_comparison
from sshload_operator.api.kinds import TEST
from sshload_operator.api.load_test_file import Document
from sshload_operator.api.status.comparison import ComparisonPhase, ComparisonStatus, ComparisonVerdict
from sshload_operator.api.status.head import remembered, written
from sshload_operator.decision.comparison.decide import ComparisonSubject
from sshload_operator.decision.comparison.facts import observed_test
from sshload_operator.decision.comparison.plan import ComparisonPlan, make_comparison_plan
from sshload_operator.decision.life_cycle import decide
from sshload_operator.local.run import LocalResult, local_installation, with_message
from sshload_operator.planning.plan import TestIdentity
from sshload_operator.world.steady_clock import SteadyClock

_NAMESPACE = "default"


def compare_locally(
    document: Document,
    run_test: Callable[[Document], LocalResult | None],
    progress: Callable[[ComparisonStatus], None],
    allowed: tuple[AllowedTarget, ...] = (),
) -> ComparisonStatus:
    """Run the tests of a comparison one after the other, and return what was found, as the operator would write it.

    `run_test` runs one to its end, None if it cannot; once one was aborted or could not be run there are no more,
    and the comparison is aborted. `progress` is told the status before each. Raises SpecError, and what `run_test`
    raises.
    """
    namespace = document.namespace or _NAMESPACE
    comparison = TestIdentity(namespace=namespace, name=document.name, uid=str(uuid4()), generation=1)
    plan = make_comparison_plan(comparison, parse_comparison(document.spec), 1)
    past = remembered(ComparisonStatus, None)
    tests: dict[str, Mapping[str, Any]] = {}
    clock = SteadyClock()
    while past.status.phase is not ComparisonPhase.FINISHED:
        subject = ComparisonSubject(
            now=clock.now(),
            tests=tuple(map(observed_test, tests.values())),
            pods=(),
            comparison=comparison,
            plan=plan,
            remembered=past,
            installation=local_installation(allowed),
        )
        decision = decide(subject)
        for test in decision.delete:
            tests.pop(test.name, None)
        if decision.status is not None:
            past = remembered(ComparisonStatus, decision.status)
        if decision.create is not None:
            progress(past.status)
            name = decision.create["metadata"]["name"]
            result = run_test(Document(kind=TEST, name=name, namespace=namespace, spec=decision.create["spec"]))
            if result is not None:
                tests[name] = _finished(decision.create, result)
            if result is None or result.status.verdict is Verdict.ABORTED:
                plan = _aborted(plan)
    if past.status.verdict is not ComparisonVerdict.ABORTED:
        return past.status
    finished = sum(test.verdict is not Verdict.ABORTED for test in past.status.tests)
    message = f"it was ended early, after {finished} of its {len(plan.places)} tests. Run it again to compare"
    return with_message(past.status, message)


def _finished(manifest: Mapping[str, Any], result: LocalResult) -> Mapping[str, Any]:
    """Return the test of a manifest as an API server would have it after its run."""
    metadata = {**manifest["metadata"], "uid": str(uuid4()), "generation": 1}
    return {**manifest, "metadata": metadata, "status": written(result.status)}


def _aborted(plan: ComparisonPlan) -> ComparisonPlan:
    return replace(plan, spec=replace(plan.spec, abort=True))
