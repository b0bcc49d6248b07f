"""The conditions: true at the moment, and kstatus's three in every status, as Argo CD and Flux read them."""

import itertools
from typing import Any

import pytest
from crd_schema import problems, status_schema
from passes import Passes
from plans import EXTERNAL, allowing, plan, quickstart
from runs import pod, snapshot, summary
from sshload_contract.allow_list import AllowedTarget
from sshload_contract.vocabulary import RunEnd, Verdict
from sshload_contract.wire.master_log import MasterLog, Stage
from sshload_contract.wire.run_summary import RunSummary
from sshload_operator.api.status.head import Condition, remembered
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.decision.judgement import Judgement
from sshload_operator.decision.life_cycle import Finding, conditions
from sshload_operator.decision.load_test.conditions import finished, under_way
from sshload_operator.decision.load_test.situation import Situation
from sshload_operator.state import (
    ConditionStatus,
    ConditionType,
    Observed,
    Reason,
    Role,
)

SPEC = quickstart(workers={"replicas": 1})
PODS = (pod(Role.TARGET), pod(Role.MASTER), pod(Role.WORKER))


def statuses(passes: Passes) -> dict[str, str]:
    return {item["type"]: item["status"] for item in passes.status["conditions"]}


def started() -> Passes:
    passes = Passes(SPEC)
    passes.run()
    return passes


def test_a_new_run_knows_nothing_yet() -> None:
    assert statuses(started()) == {
        "TargetReady": "Unknown",
        "WorkersReady": "Unknown",
        "Complete": "False",
        "Passed": "Unknown",
        "Ready": "Unknown",
        "Reconciling": "True",
    }


def test_a_running_load_has_its_target_and_its_workers() -> None:
    passes = started()
    passes.run(*PODS, after_s=1, snapshot=snapshot())
    held = statuses(passes)
    assert (held["TargetReady"], held["WorkersReady"], held["Reconciling"]) == ("True", "True", "True")


@pytest.mark.parametrize(
    ("found", "verdict", "passed", "ready", "stalled"),
    [
        (summary(), Verdict.PASSED, "True", "True", None),
        (summary(0, 600), Verdict.FAILED, "False", "False", "True"),
        (summary(end=RunEnd.WORKER_LOST), Verdict.INVALID, "Unknown", "False", "True"),
        (summary(end=RunEnd.TARGET_UNREACHABLE), Verdict.ERROR, "Unknown", "False", "True"),
    ],
)
def test_a_verdict_sets_the_conditions_that_tools_wait_for(
    found: RunSummary, verdict: Verdict, passed: str, ready: str, stalled: str | None
) -> None:
    passes = started()
    passes.run(*PODS, after_s=30, summary=found)
    held = statuses(passes)
    assert passes.status["verdict"] == verdict
    assert (held["Complete"], held["Passed"], held["Ready"], held.get("Stalled")) == ("True", passed, ready, stalled)
    assert {"TargetReady", "WorkersReady", "Reconciling"} & held.keys() == set()


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_is_either_ready_or_stalled(verdict: Verdict) -> None:
    found = finished(Judgement(verdict, Reason.NO_THRESHOLDS, "over"))
    true = {kind for kind, finding in found.items() if finding.status is ConditionStatus.TRUE}
    settled = ConditionType.READY if verdict is Verdict.PASSED else ConditionType.STALLED
    assert true & {ConditionType.READY, ConditionType.STALLED, ConditionType.RECONCILING} == {settled}


def test_the_time_moves_exactly_when_the_status_does() -> None:
    passes = started()
    since = {item["type"]: item["lastTransitionTime"] for item in passes.status["conditions"]}
    passes.run(*PODS, after_s=5, snapshot=snapshot())
    moved = {item["type"] for item in passes.status["conditions"] if item["lastTransitionTime"] != since[item["type"]]}
    assert moved == {"TargetReady", "WorkersReady"}
    passes.run(*PODS, after_s=5, snapshot=snapshot())
    assert passes.condition("TargetReady")["lastTransitionTime"] == "2026-11-21T12:00:05Z"


def test_a_changed_reason_alone_leaves_the_time() -> None:
    now, later = Passes().now, Passes().now.replace(hour=13)
    findings = {kind: Finding(ConditionStatus.FALSE, Reason.RUN_FINISHED, "no run") for kind in ConditionType}
    before = tuple(
        Condition(kind, ConditionStatus.FALSE, Reason.WORKER_LOST, "lost", last_transition_time=now)
        for kind in ConditionType
    )
    after = conditions(findings, before, later)
    assert {(one.reason, one.last_transition_time) for one in after} == {(Reason.RUN_FINISHED, now)}


def test_the_workers_count_is_the_masters_and_not_that_of_the_pods() -> None:
    passes = started()
    passes.run(*PODS, after_s=1, snapshot=snapshot(Stage.WAITING_FOR_WORKERS, workers_connected=0))
    assert passes.condition("WorkersReady")["status"] == "Unknown"
    assert "0 of 1" in passes.condition("WorkersReady")["message"]


def external(iterations: int, failures: int, **changes: Any) -> Finding:
    target = plan(
        {**SPEC, "target": {"external": EXTERNAL}},
        installation=allowing(AllowedTarget("*", (22,))),
    )
    seen = snapshot(iterations=iterations, failures=failures, **changes)
    log = MasterLog(snapshot=seen, summary=None, summary_lines=0, problem="")
    situation = Situation(
        target, remembered(TestStatus, None), Observed(PODS, log, ""), resumed=False, now=Passes().now
    )
    _, found = under_way(situation)
    return found[ConditionType.TARGET_READY]


def test_an_external_target_is_ready_once_a_login_worked() -> None:
    assert external(10, 10).status is ConditionStatus.UNKNOWN
    assert external(10, 9).status is ConditionStatus.TRUE


def test_an_external_target_that_the_workers_try_again_is_named_with_the_reason_meanwhile() -> None:
    found = external(0, 0, stage=Stage.WAITING_FOR_WORKERS, problem="10.0.0.7:22: Connection refused")
    assert (found.status, found.reason) == (ConditionStatus.FALSE, Reason.TARGET_UNREACHABLE)
    assert "10.0.0.7:22: Connection refused" in found.message


def test_every_status_of_a_run_is_as_the_schema_of_the_crd_has_it() -> None:
    schema = status_schema()
    passes = started()
    for pods, seen, found in itertools.product(
        (PODS, (pod(Role.TARGET, waiting_reason="ErrImagePull", ready=False, waiting_message="x" * 9_000),)),
        (None, *(snapshot(stage) for stage in Stage)),
        (None, summary(), summary(0, 5)),
    ):
        passes.run(*pods, after_s=1, snapshot=seen, summary=found)
        assert list(problems(passes.status, schema)) == []
        if found is not None:
            passes = started()
