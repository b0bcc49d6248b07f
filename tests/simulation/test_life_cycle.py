"""The whole life cycle against every order of events that Hypothesis finds: whatever happens, these things hold."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from crd_schema import status_problems
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from lagging_generator import delayed
from runs import errors, generator, pod, summary
from sim_cluster import DEADLINE_S, STEPS_OF_A_PASS, WORKERS, SimCluster, SimRun
from sshload_contract.vocabulary import Outcome, RunEnd
from sshload_contract.wire.master_log import Stage
from sshload_contract.wire.run_summary import RunSummary
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.decision.load_test.decide import TestDecision
from sshload_operator.planning.plan import run_id
from sshload_operator.state import ConditionType, Phase, Role

PHASES = [str(phase) for phase in Phase]
STUCK = {
    "ErrImagePull": "no such image",
    "ImagePullBackOff": "no such image",
    "InvalidImageName": "bad reference",
    "CreateContainerConfigError": "secret not found",
}
NOTHING_TO_DO = TestDecision()
OF_ANOTHER_RUN = "of another run"
SOUND = ("passes", "fails")
SUMMARIES: Mapping[str, RunSummary] = {
    "passes": summary(),
    "fails": summary(0, 600),
    "a report missing": summary(generator=generator(reports_missing=1)),
    "saturated": delayed(summary(0, 600, errors=errors(600, Outcome.KEX_TIMEOUT)), 400_000),
    "own fault": summary(599, 1, errors=errors(1, Outcome.GENERATOR_FAULT)),
    "worker lost": summary(end=RunEnd.WORKER_LOST, message="worker 1 went silent"),
    "target unreachable": summary(end=RunEnd.TARGET_UNREACHABLE),
    "stopped": summary(end=RunEnd.STOPPED),
    "server disagrees": summary(target_after=None),
    OF_ANOTHER_RUN: summary(run_id="ffffffffff"),
}


class LifeCycle(RuleBasedStateMachine):
    """The rules are what the world may do; after each the operator passes, unless it is away or was killed."""

    def __init__(self) -> None:
        super().__init__()
        self.world = SimCluster()
        self.created = 0
        self.last: TestDecision | None = None

    @initialize()
    def apply(self) -> None:
        self.operator_acts()

    # the operator

    def operator_acts(self) -> None:
        """Pass, and check what the decision itself promises."""
        world = self.world
        self.last = None
        if not (world.operator_up and world.exists):
            return
        before, wanted = world.status, world.plan
        decision = world.operator_pass()
        self.last = decision
        if not world.exists:
            return
        ends = world.deleting or isinstance(wanted, SpecError) or wanted.spec.abort
        check_written(before, world.status, aborting=ends)
        again = world.decide()
        assert replace(again, requeue_after_s=None) == NOTHING_TO_DO

    @rule(steps=st.integers(min_value=0, max_value=STEPS_OF_A_PASS - 1))
    def operator_is_killed_in_mid_pass_and_restarts(self, steps: int) -> None:
        if self.world.exists and self.world.operator_up:
            self.world.operator_pass(steps)
            self.operator_acts()

    @rule()
    def operator_goes_away_or_comes_back(self) -> None:
        self.world.operator_up = not self.world.operator_up
        self.operator_acts()

    @rule(seconds=st.sampled_from([0.3, 1.0, 4.0, 5.0, 15.5, 60.0, DEADLINE_S, 1_300.0, -10.0, -5_000.0]))
    def clock_advances(self, seconds: float) -> None:
        self.world.pass_time(seconds)
        self.operator_acts()

    @rule(passes=st.integers(min_value=1, max_value=20))
    def time_passes_as_the_operator_asked(self, passes: int) -> None:
        for _ in range(passes):
            if self.last is None or self.last.requeue_after_s is None:
                return
            self.world.pass_time(self.last.requeue_after_s)
            self.operator_acts()

    # the kubelet and the controllers

    def run(self) -> SimRun | None:
        return self.world.run if self.world.exists else None

    @precondition(lambda self: self.run() is not None)
    @rule(pick=st.integers(min_value=0, max_value=WORKERS + 1))
    def pod_ready(self, pick: int) -> None:
        run = self.world.run
        names = list(run.pods)
        if pick < len(names) and not run.pods[names[pick]].deleting and run.pods[names[pick]].exit_code is None:
            run.change(
                names[pick], phase="Running", ready=True, waiting_reason="", waiting_message="", blocked_message=""
            )
        self.operator_acts()

    @precondition(lambda self: self.run() is not None)
    @rule()
    def all_pods_ready(self) -> None:
        for pick in range(WORKERS + 2):
            self.pod_ready(pick)

    @precondition(lambda self: self.run() is not None)
    @rule(pick=st.integers(min_value=0, max_value=WORKERS + 1), reason=st.sampled_from(sorted(STUCK)))
    def image_fails(self, pick: int, reason: str) -> None:
        run = self.world.run
        names = [name for name, found in run.pods.items() if found.phase == "Pending"]
        if pick < len(names):
            run.change(names[pick], waiting_reason=reason, waiting_message=STUCK[reason])
        self.operator_acts()

    @precondition(lambda self: self.run() is not None)
    @rule(pick=st.integers(min_value=0, max_value=WORKERS + 1))
    def no_node_takes_the_pod(self, pick: int) -> None:
        run = self.world.run
        names = [name for name, found in run.pods.items() if found.phase == "Pending"]
        if pick < len(names):
            run.change(names[pick], blocked_message="0/1 nodes are available")
        self.operator_acts()

    @precondition(lambda self: self.run() is not None)
    @rule(pick=st.integers(min_value=0, max_value=WORKERS + 1), code=st.sampled_from([0, 1, 78, 137]))
    def pod_crash(self, pick: int, code: int) -> None:
        run = self.world.run
        names = list(run.pods)
        if pick < len(names):
            found = run.pods[names[pick]]
            ends = {"restarts": 1} if found.role is Role.TARGET else {"phase": "Failed" if code else "Succeeded"}
            run.change(names[pick], ready=False, exit_code=code, termination_message="last words", **ends)
        self.operator_acts()

    @precondition(lambda self: self.run() is not None)
    @rule(pick=st.integers(min_value=0, max_value=WORKERS + 1), replaced=st.booleans())
    def pod_is_deleted(self, pick: int, *, replaced: bool) -> None:
        run = self.world.run
        names = list(run.pods)
        if pick < len(names):
            gone = run.pods.pop(names[pick])
            if gone.role is Role.MASTER:
                run.stage, run.summary = None, None
            if replaced:
                successor = f"{gone.name}x"
                run.pods[successor] = pod(gone.role, name=successor, run_id=run.run_id, phase="Pending", ready=False)
        self.operator_acts()

    @rule()
    def deleted_pods_vanish(self) -> None:
        for run in self.world.runs.values():
            run.pods = {name: found for name, found in run.pods.items() if not found.deleting}
        self.operator_acts()

    @rule(message=st.sampled_from(["", "exceeded quota"]))
    def quota(self, message: str) -> None:
        self.world.rejected = message
        self.operator_acts()

    # the master

    def master(self) -> SimRun | None:
        """Return the run whose master's process runs."""
        run = self.run()
        if run is None or not any(found.phase == "Running" for found in run.of_role(Role.MASTER)):
            return None
        return run

    @precondition(lambda self: self.master() is not None)
    @rule(connected=st.integers(min_value=0, max_value=WORKERS))
    def workers_join(self, connected: int) -> None:
        run = self.master()
        if run.stage in (None, Stage.WAITING_FOR_WORKERS):
            run.stage, run.connected = Stage.WAITING_FOR_WORKERS, connected
        self.operator_acts()

    @precondition(lambda self: self.master() is not None)
    @rule(stage=st.sampled_from([Stage.WARM_UP, Stage.MEASURING, Stage.DRAINING]))
    def load_goes_on(self, stage: Stage) -> None:
        run = self.master()
        order = [None, *Stage]
        run.stage, run.connected = max(run.stage, stage, key=order.index), WORKERS
        self.operator_acts()

    @precondition(lambda self: self.master() is not None)
    @rule(kind=st.sampled_from(sorted(SUMMARIES)), ends=st.booleans())
    def summary_arrives(self, kind: str, *, ends: bool) -> None:
        run = self.master()
        found = SUMMARIES[kind]
        run.summary = found if kind == OF_ANOTHER_RUN else replace(found, run_id=run.run_id)
        if kind in SOUND:
            self.world.sound.add(run.run_id)
        for one in (*run.of_role(Role.MASTER), *run.of_role(Role.WORKER)) if ends else ():
            run.change(one.name, phase="Succeeded", ready=False, exit_code=0)
        self.operator_acts()

    @precondition(lambda self: self.run() is not None)
    @rule(readable=st.booleans())
    def log_becomes(self, *, readable: bool) -> None:
        self.world.run.log_readable = readable
        self.operator_acts()

    @rule(steps=st.integers(min_value=1, max_value=6), kind=st.sampled_from(sorted(SUMMARIES)))
    def all_goes_well_for_a_while(self, steps: int, kind: str) -> None:
        """Take the next steps of a run without a fault, which chance alone would hardly string together."""
        for _ in range(steps):
            run = self.run()
            if run is None or not run.alive():
                self.time_passes_as_the_operator_asked(1)
            elif not all(found.ready for found in run.pods.values()):
                self.all_pods_ready()
            elif run.stage is not Stage.DRAINING:
                stages = [*Stage]
                self.advance(stages[stages.index(run.stage) + 1] if run.stage is not None else stages[0])
            elif run.summary is None:
                self.summary_arrives(kind, ends=True)
            else:
                self.time_passes_as_the_operator_asked(1)

    def advance(self, stage: Stage) -> None:
        if self.master() is not None:
            run = self.world.run
            run.stage, run.connected = stage, WORKERS
        self.operator_acts()

    # the user

    @rule(rate=st.integers(min_value=20, max_value=22))
    def spec_edited(self, rate: int) -> None:
        self.world.edit(load={"arrivals": {"stages": [{"rate": rate, "duration": "30s"}]}})
        self.operator_acts()

    @rule(deadline=st.sampled_from(["soon", f"{DEADLINE_S:.0f}s"]))
    def spec_broken_or_mended(self, deadline: str) -> None:
        self.world.edit(deadline=deadline)
        self.operator_acts()

    @rule(abort=st.booleans())
    def abort_set(self, *, abort: bool) -> None:
        self.world.edit(abort=abort)
        self.operator_acts()

    @rule(passed=st.sampled_from(["5m", "10m"]))
    def ttl_edited(self, passed: str) -> None:
        self.world.edit(ttlAfterFinished={"passed": passed, "failed": "20m"})
        self.operator_acts()

    @rule()
    def deleted_and_created_anew(self) -> None:
        self.world.delete()
        self.created += 1
        self.world.create(self.created)
        self.operator_acts()

    @rule()
    def deleted_and_kept_by_a_finalizer(self) -> None:
        self.world.mark_deleted()
        self.operator_acts()

    @rule()
    def deleted_without_its_children_and_created_anew(self) -> None:
        self.world.orphan()
        self.created += 1
        self.world.create(self.created)
        self.operator_acts()

    # what always holds

    @invariant()
    def status_is_what_the_api_server_takes(self) -> None:
        if self.world.status:
            assert status_problems(self.world.status) == ()

    @invariant()
    def a_run_under_way_is_looked_at_again_in_time(self) -> None:
        if self.last is None or not self.world.exists or finished(self.world.status):
            return
        assert self.last.requeue_after_s is not None
        assert 0 < self.last.requeue_after_s <= 5.0

    @invariant()
    def a_run_under_way_has_been_started(self) -> None:
        if self.last is not None and self.world.exists and not finished(self.world.status):
            assert run_id(self.world.uid, self.world.status["run"]) in self.world.runs

    @invariant()
    def no_run_outlives_its_deadline(self) -> None:
        if self.last is None or not self.world.exists or finished(self.world.status):
            return
        assert (self.world.now - time(self.world.status["startTime"])).total_seconds() < DEADLINE_S + 1

    @invariant()
    def passed_needs_a_whole_and_valid_summary(self) -> None:
        status = self.world.status
        if status.get("verdict") == "Passed":
            assert run_id(self.world.uid, status["run"]) in self.world.sound

    @invariant()
    def results_are_stored_before_the_status_points_at_them(self) -> None:
        if self.world.exists and "resultsConfigMap" in self.world.status:
            assert self.world.status["resultsConfigMap"] in self.world.stored

    @invariant()
    def nothing_is_left_after_the_end(self) -> None:
        if self.last is not None and finished(self.world.status):
            assert [run.run_id for run in self.world.runs.values() if run.alive()] == []

    @invariant()
    def no_run_but_the_current_one_has_children(self) -> None:
        if self.last is not None and self.world.exists:
            current = run_id(self.world.uid, self.world.status["run"])
            assert {run.run_id for run in self.world.runs.values() if run.alive()} <= {current}

    def teardown(self) -> None:
        """Whatever was going on, an operator that is there and time enough bring it to an end."""
        if not self.world.exists:
            return
        self.world.operator_up = True
        self.operator_acts()
        self.world.pass_time(DEADLINE_S + 1)
        self.operator_acts()
        assert not self.world.exists or finished(self.world.status)
        self.nothing_is_left_after_the_end()


def finished(status: Mapping[str, Any]) -> bool:
    return status.get("phase") == "Finished"


def time(text: str) -> datetime:
    return datetime.fromisoformat(text)


PODS_ARE_READY = {"TargetReady", "WorkersReady"}
"""At the end, only the condition stays that is why the run ended."""


def check_written(before: Mapping[str, Any], after: Mapping[str, Any], *, aborting: bool) -> None:
    """Check one status against the one before it."""
    kinds = [item["type"] for item in after["conditions"]]
    absent = [str(kind) for kind in ConditionType if kind not in kinds]
    assert kinds == [str(kind) for kind in ConditionType if kind not in absent]
    about_pods = [kind for kind in kinds if kind in PODS_ARE_READY]
    assert ("Reconciling" in absent) == finished(after)
    assert ("Stalled" in absent) == (after.get("verdict") in (None, "Passed"))
    if finished(after):
        assert {*absent} <= PODS_ARE_READY | {"Reconciling", "Stalled"}
        assert len(about_pods) <= 1
        assert [after["reason"] for _ in about_pods] == [
            item["reason"] for item in after["conditions"] if item["type"] in about_pods
        ]
    else:
        assert absent == ["Stalled"]
    check_transition_times(before.get("conditions", ()), after["conditions"])
    if not before:
        return
    measures_the_same = before.get("specHash") is not None and before["specHash"] == after.get("specHash")
    if measures_the_same and before.get("verdict") != "Aborted":
        assert before["run"] == after["run"]
    if before["run"] != after["run"]:
        return
    assert PHASES.index(after["phase"]) >= PHASES.index(before["phase"])
    if finished(before):
        kept = ("phase", "verdict", "reason", "message", "startTime", "completionTime", "results", "conditions")
        assert {key: before.get(key) for key in kept} == {key: after.get(key) for key in kept}
    elif not finished(after):
        assert after["startTime"] <= before["startTime"]
    assert finished(after) or not aborting


def check_transition_times(before: Any, after: Any) -> None:
    old = {item["type"]: item for item in before}
    for item in after:
        was = old.get(item["type"])
        if was is not None and was["status"] == item["status"]:
            assert item["lastTransitionTime"] == was["lastTransitionTime"]


TestLifeCycle = pytest.mark.slow(LifeCycle.TestCase)
TestLifeCycle.settings = settings(stateful_step_count=50)
"""100 orders of events: a fault that 3 % of all orders show is found with probability 0.95. `search` tries 1,000."""
