"""What one pass knows of a run in progress: its phase by the facts, and how long something has been wrong."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from passes import START
from plans import plan, quickstart
from runs import RUN_ID, pod, snapshot, summary
from sshload_contract.wire.master_log import MasterLog, SearchProgress, Stage
from sshload_operator.api.status.head import Condition, Remembered
from sshload_operator.api.status.load_test import TestHead
from sshload_operator.decision.load_test.situation import Situation
from sshload_operator.state import ConditionStatus, ConditionType, Observed, Phase, PodFacts, Reason, Role

PLAN = replace(plan(quickstart()), run_id=RUN_ID)
PROXIED = replace(plan(quickstart(target={"managed": {"proxy": {"kind": "haproxy"}}})), run_id=RUN_ID)
TARGET, PROXY, MASTER = pod(Role.TARGET), pod(Role.PROXY), pod(Role.MASTER)
OTHERS = {"run_id": "0123456789"}


def situation(*pods: PodFacts, past: TestHead | None = None, **changes: Any) -> Situation:
    """Return a pass over a run of PLAN that is in progress, if the status says something of it."""
    log, seen_plan = changes.pop("log", None), changes.pop("plan", PLAN)
    observed = Observed(pods, log, "", **changes.pop("observed", {}))
    head = TestHead() if past is None else past
    found = Situation(seen_plan, Remembered(head, {}), observed, resumed=past is not None, now=START)
    return replace(found, **changes)


def log(**changes: Any) -> MasterLog:
    return replace(MasterLog(snapshot=None, summary=None, summary_lines=0, problem=""), **changes)


def test_results_begin_with_the_first_line_of_a_summary_or_the_end_of_the_only_master() -> None:
    assert not situation(MASTER, log=log()).results_begun
    assert not situation(MASTER).results_begun
    assert situation(MASTER, log=log(summary_lines=1)).results_begun
    assert situation(replace(MASTER, phase="Succeeded")).results_begun
    assert situation(replace(MASTER, phase="Succeeded")).phase is Phase.COLLECTING


def test_a_master_has_ended_only_if_no_other_one_runs() -> None:
    ended = replace(MASTER, name="m-1", phase="Failed")
    assert situation(ended).master_ended == ended
    assert situation(ended, replace(MASTER, name="m-2")).master_ended is None
    assert situation(ended, replace(MASTER, name="m-0", phase="Succeeded")).master_ended is not None
    assert situation(replace(ended, **OTHERS)).master_ended is None
    assert situation().master_ended is None


@pytest.mark.parametrize(
    ("pods", "is_ready"),
    [
        ((TARGET, PROXY), True),
        ((TARGET,), False),
        ((TARGET, replace(PROXY, ready=False)), False),
        ((TARGET, replace(PROXY, deleting=True)), False),
        ((TARGET, replace(PROXY, **OTHERS)), False),
        ((TARGET, replace(PROXY, name="a", ready=False), PROXY), True),
    ],
)
def test_logins_can_be_tried_once_each_part_has_a_pod_that_is_ready_and_stays(
    pods: tuple[PodFacts, ...], *, is_ready: bool
) -> None:
    found = situation(*pods, plan=PROXIED)
    assert found.target_ready is is_ready
    assert found.phase is (Phase.STARTING_WORKERS if is_ready else Phase.PREPARING_TARGET)


SEARCH = SearchProgress(trial=1, amount=5.0, lower=None, upper=None)


@pytest.mark.parametrize(
    ("stage", "phase"),
    [
        (Stage.WAITING_FOR_WORKERS, Phase.STARTING_WORKERS),
        (Stage.MEASURING, Phase.RUNNING),
        (Stage.DRAINING, Phase.COLLECTING),
    ],
)
def test_the_masters_stage_tells_the_phase_and_between_the_trials_of_a_search_the_load_is_not_over(
    stage: Stage, phase: Phase
) -> None:
    assert situation(TARGET, log=log(snapshot=snapshot(stage))).phase is phase
    searching = snapshot(stage, search=SEARCH)
    assert situation(TARGET, log=log(snapshot=searching)).phase is (Phase.RUNNING if stage is Stage.DRAINING else phase)


def test_what_another_run_printed_counts_for_nothing() -> None:
    other = log(snapshot=replace(snapshot(), **OTHERS), summary=replace(summary(), **OTHERS), summary_lines=2)
    found = situation(TARGET, log=other)
    assert (found.snapshot, found.summary) == (None, None)
    mine = situation(TARGET, log=log(snapshot=snapshot(), summary=replace(summary(), run_id=RUN_ID)))
    assert mine.snapshot is not None
    assert mine.summary is not None


@pytest.mark.parametrize("last", [phase for phase in Phase if phase is not Phase.FINISHED])
def test_a_phase_is_never_left_for_an_earlier_one(last: Phase) -> None:
    order = list(Phase)
    found = situation(past=TestHead(phase=last)).phase
    assert found is max(last, Phase.PREPARING_TARGET, key=order.index)
    assert situation(past=TestHead(phase=last), resumed=False).phase is Phase.PREPARING_TARGET


def test_a_disruption_is_told_of_the_role_and_the_run_that_are_asked_about() -> None:
    disrupted = replace(MASTER, disruption="Evicted")
    words = "pod quickstart-master had the condition DisruptionTarget (Evicted)"
    assert situation(disrupted).disruption(Role.MASTER) == words
    assert situation(observed={"disrupted": (disrupted,)}).disruption(Role.MASTER) == words
    assert situation(disrupted).disruption(Role.WORKER) == ""
    assert situation(replace(disrupted, **OTHERS)).disruption(Role.MASTER) == ""
    assert situation(MASTER).disruption(Role.MASTER) == ""


def false_for_s(status: ConditionStatus, *, since_s: float, started_s: float = -1_000.0, resumed: bool = True) -> float:
    """Return for how long the target was not ready, by a condition of so many seconds after now."""
    since, started = (START + timedelta(seconds=seconds) for seconds in (since_s, started_s))
    known = Condition(ConditionType.TARGET_READY, status, Reason.TARGET_NOT_READY, "", last_transition_time=since)
    past = TestHead(phase=Phase.RUNNING, start_time=started, conditions=(known,))
    return situation(past=past, resumed=resumed).false_for_s(ConditionType.TARGET_READY)


def test_something_is_wrong_as_long_as_its_condition_is_false_and_the_run_goes_on() -> None:
    false = ConditionStatus.FALSE
    assert false_for_s(false, since_s=-7.5) == 7.5
    assert false_for_s(false, since_s=-0.25) == 0.25
    assert false_for_s(false, since_s=-7.5, started_s=-3.0) == 3.0
    assert false_for_s(false, since_s=5.0) == 0.0
    assert false_for_s(false, since_s=-7.5, resumed=False) == 0.0
    for status in (ConditionStatus.TRUE, ConditionStatus.UNKNOWN):
        assert false_for_s(status, since_s=-7.5) == 0.0
    assert situation(past=TestHead(phase=Phase.RUNNING)).false_for_s(ConditionType.TARGET_READY) == 0.0


def test_a_run_was_not_started_in_the_future() -> None:
    past = TestHead(phase=Phase.RUNNING, start_time=START + timedelta(hours=1))
    assert (situation(past=past).start_time, situation(past=past).elapsed_s) == (START, 0.0)
    early = TestHead(phase=Phase.RUNNING, start_time=START - timedelta(seconds=90))
    assert situation(past=early).elapsed_s == 90.0
    assert situation(past=early, resumed=False).elapsed_s == 0.0
