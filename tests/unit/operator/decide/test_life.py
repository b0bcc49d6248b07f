"""The life of a test: when a run begins, ends by wish, begins again, and when its object goes."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from passes import START, UID, Passes
from plans import quickstart
from runs import pod, snapshot, summary
from sshload_contract.wire.master_log import Stage
from sshload_operator.api.shapes.forms import timestamp_text
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.decision.life_cycle import refused_at
from sshload_operator.planning.plan import run_id
from sshload_operator.state import Phase, Role

TARGET, MASTER, WORKER = pod(Role.TARGET), pod(Role.MASTER), pod(Role.WORKER)
ALL = (TARGET, MASTER, WORKER)
SPEC = quickstart(workers={"replicas": 1}, deadline="10m")
FASTER = {"arrivals": {"stages": [{"rate": 30, "duration": "30s"}]}}


def test_the_first_pass_starts_the_run_and_says_so() -> None:
    passes = Passes(SPEC)
    decision = passes.run()
    assert decision.start
    assert decision.sweep == ()
    assert passes.status["phase"] == "PreparingTarget"
    assert (passes.status["run"], passes.status["observedGeneration"]) == (1, 1)
    assert passes.status["startTime"] == "2026-11-21T12:00:00Z"
    assert [(said.reason, said.warning) for said in decision.announcements] == [("TargetStarting", False)]


def test_the_start_of_a_run_says_once_what_its_author_should_know() -> None:
    passes = Passes({**SPEC, "load": {"burst": {"connections": 500, "repeat": 1, "interval": "5s"}}})
    said = [(said.reason, said.warning) for said in passes.run().announcements]
    assert ("Caution", True) in said
    assert all(again.reason != "Caution" for again in passes.run(after_s=1).announcements)


def test_a_start_that_was_cut_short_is_done_again() -> None:
    passes = Passes(SPEC)
    passes.run()
    passes.status = {}
    decision = passes.run(TARGET, after_s=1)
    assert decision.start
    assert decision.sweep == ()


def test_the_phases_follow_the_facts() -> None:
    passes = Passes(SPEC)
    phases = []
    waiting = snapshot(Stage.WAITING_FOR_WORKERS, workers_connected=0)
    for pods, seen in (
        ((), None),
        ((pod(Role.TARGET, ready=False), MASTER, WORKER), None),
        ((pod(Role.TARGET, ready=False), MASTER, WORKER), waiting),
        (ALL, waiting),
        (ALL, snapshot(Stage.WARM_UP)),
        (ALL, snapshot(Stage.MEASURING)),
        (ALL, None),
        (ALL, snapshot(Stage.DRAINING)),
        (ALL, snapshot(Stage.MEASURING)),
    ):
        passes.run(*pods, after_s=1, snapshot=seen)
        phases.append(passes.status["phase"])
    assert phases == [
        "PreparingTarget",
        "PreparingTarget",
        "PreparingTarget",
        "StartingWorkers",
        "Running",
        "Running",
        "Running",
        "Collecting",
        "Collecting",
    ]


def test_progress_is_shown_while_the_load_runs_and_kept_until_the_end(running: Passes) -> None:
    assert running.status["progress"]["iterations"] == 300
    running.run(*ALL, after_s=1, snapshot=snapshot(Stage.DRAINING, iterations=600))
    assert running.status["progress"]["iterations"] == 300
    running.run(*ALL, after_s=1, summary=summary())
    assert "progress" not in running.status


def test_nothing_is_written_or_said_when_nothing_changed(running: Passes) -> None:
    decision = running.run(*ALL, after_s=1, snapshot=snapshot(workers_connected=1))
    assert decision.status is None
    assert decision.announcements == ()
    assert decision.sweep == ()


def test_a_finished_test_asks_for_nothing_but_its_time_to_live(finished: Passes) -> None:
    decision = finished.run(after_s=10)
    assert decision.status is None
    assert not decision.start
    assert decision.sweep == ()
    assert decision.requeue_after_s == 3_590.0


def test_a_finished_test_without_a_time_to_live_waits_for_ever() -> None:
    passes = Passes({**SPEC, "abort": True})
    passes.run()
    assert passes.run(after_s=10**9).requeue_after_s is None


def test_pods_that_are_left_of_a_finished_run_are_swept(finished: Passes) -> None:
    assert finished.run(TARGET, after_s=1).sweep == (finished.run_id,)
    assert finished.run(pod(Role.TARGET, deleting=True), after_s=1).sweep == ()


@pytest.mark.parametrize(("abort", "ttl_s"), [(False, 3_600), (True, 86_400)], ids=["passed", "aborted"])
def test_the_test_goes_when_its_verdicts_time_to_live_is_over(running: Passes, *, abort: bool, ttl_s: int) -> None:
    if abort:
        running.edit(abort=True)
        decision = running.run(*ALL, after_s=1)
    else:
        decision = running.run(*ALL, after_s=1, summary=summary())
    assert decision.requeue_after_s == ttl_s
    assert not running.run(after_s=ttl_s - 1).delete_self
    assert running.run(after_s=1).delete_self


def test_a_test_without_any_time_to_live_goes_at_once(running: Passes) -> None:
    running.edit(ttlAfterFinished={"passed": "0s"})
    assert running.run(*ALL, after_s=1, summary=summary()).requeue_after_s == 0
    assert running.run(after_s=0).delete_self


def test_abort_ends_a_run_and_takes_its_children_away(running: Passes) -> None:
    running.edit(abort=True)
    decision = running.run(*ALL, after_s=1, snapshot=snapshot())
    assert running.said() == ("Aborted", "AbortRequested")
    assert decision.sweep == (running.run_id,)
    assert [said.warning for said in decision.announcements] == [False]


def test_abort_leaves_a_verdict_as_it_is(finished: Passes) -> None:
    before = finished.status
    finished.edit(abort=True)
    finished.run(after_s=1)
    assert finished.status == {**before, "observedGeneration": 2}


def test_a_test_that_is_born_aborted_never_starts() -> None:
    passes = Passes({**SPEC, "abort": True})
    assert not passes.run().start
    assert passes.said() == ("Aborted", "AbortRequested")


def test_an_aborted_test_stays_so_while_abort_is_set(running: Passes) -> None:
    running.edit(abort=True)
    running.run(*ALL, after_s=1)
    running.edit(ttlAfterFinished={"failed": "1h"})
    decision = running.run(after_s=1)
    assert not decision.start
    assert (running.said(), running.status["run"]) == (("Aborted", "AbortRequested"), 1)
    assert running.status["observedGeneration"] == 3


def test_taking_abort_back_starts_a_new_run(running: Passes) -> None:
    running.edit(abort=True)
    running.run(*ALL, after_s=1)
    running.edit(abort=False)
    decision = running.run(after_s=1)
    assert decision.start
    assert (running.status["run"], running.status["phase"]) == (3, "PreparingTarget")
    assert "verdict" not in running.status
    assert "completionTime" not in running.status


def test_a_changed_measurement_ends_the_run_under_way_and_starts_a_new_one_in_the_same_pass(
    running: Passes,
) -> None:
    old = running.run_id
    running.edit(load=FASTER)
    decision = running.run(*(pod(one.role, run_id=old) for one in ALL), after_s=1)
    assert decision.start
    assert decision.sweep == (old,)
    assert [said.reason for said in decision.announcements] == ["SpecChanged", "TargetStarting"]
    assert (running.status["run"], running.status["phase"]) == (2, "PreparingTarget")
    assert running.status["startTime"] == "2026-11-21T12:00:04Z"
    assert "progress" not in running.status


def test_a_changed_measurement_after_the_end_is_a_new_run(finished: Passes) -> None:
    finished.edit(load=FASTER)
    decision = finished.run(after_s=1)
    assert decision.start
    assert [said.reason for said in decision.announcements] == ["TargetStarting"]
    assert not {"verdict", "results", "thresholds", "resultsConfigMap", "completionTime"} & set(finished.status)


@pytest.mark.parametrize("change", [{"abort": False}, {"ttlAfterFinished": {"passed": "2h"}}], ids=["abort", "ttl"])
def test_what_is_not_measured_changes_neither_run_nor_verdict(finished: Passes, change: Mapping[str, Any]) -> None:
    before = finished.status
    finished.edit(**change)
    decision = finished.run(after_s=1)
    assert not decision.start
    assert finished.status == {**before, "observedGeneration": 2}


def test_a_changed_time_to_live_lets_a_run_go_on(running: Passes) -> None:
    running.edit(ttlAfterFinished={"passed": "2h"})
    decision = running.run(*ALL, after_s=1, snapshot=snapshot())
    assert not decision.start
    assert (running.status["run"], running.status["observedGeneration"]) == (1, 2)


def test_a_changed_measurement_with_abort_ends_the_old_run_and_starts_none(running: Passes) -> None:
    old = running.run_id
    running.edit(load=FASTER, abort=True)
    decision = running.run(*(pod(one.role, run_id=old) for one in ALL), after_s=1)
    assert not decision.start
    assert old in decision.sweep
    assert (running.said(), running.status["run"]) == (("Aborted", "AbortRequested"), 2)


def test_a_spec_that_cannot_be_read_is_an_error_that_names_the_field() -> None:
    passes = Passes({**SPEC, "deadline": "soon"})
    decision = passes.run()
    assert passes.said() == ("Error", "InvalidSpec")
    assert passes.status["message"].startswith("spec.deadline: ")
    assert not decision.start
    assert passes.run(after_s=100).status is None


def test_a_spec_that_cannot_be_read_was_over_when_it_was_first_refused(finished: Passes) -> None:
    finished.edit(deadline="soon")
    finished.run(after_s=30)
    first = finished.status["completionTime"]
    assert first == timestamp_text(finished.now)
    finished.run(after_s=30)
    assert finished.status["completionTime"] == first
    finished.status = {**finished.status, "message": "in the words of another release"}
    finished.run(after_s=30)
    assert finished.status["message"].startswith("spec.deadline: ")
    assert finished.status["completionTime"] == first
    finished.edit(deadline="later")
    finished.run(after_s=30)
    assert finished.status["completionTime"] == timestamp_text(finished.now)


def test_the_end_of_a_run_that_measured_is_not_when_its_spec_was_refused() -> None:
    measured = TestStatus(observed_generation=1, run=2, spec_hash="1234", phase=Phase.FINISHED, completion_time=START)
    later = START + timedelta(hours=1)
    assert refused_at(2, measured, later) == later
    assert refused_at(2, replace(measured, spec_hash=""), later) == START
    assert refused_at(3, replace(measured, spec_hash=""), later) == later
    assert refused_at(2, replace(measured, spec_hash="", phase=Phase.PENDING), later) == later


def test_a_test_that_was_held_back_and_cannot_be_read_any_more_is_over_by_now() -> None:
    passes = Passes({**SPEC, "suspend": True})
    passes.run()
    passes.spec = {**passes.spec, "deadline": "a word of the past"}  # no edit: the generation is the same
    passes.run(after_s=30)
    assert passes.said() == ("Error", "InvalidSpec")
    assert passes.status["completionTime"] == timestamp_text(passes.now)


def test_a_run_under_way_whose_spec_a_newer_operator_cannot_read_is_over(running: Passes) -> None:
    running.spec = {**running.spec, "deadline": "a word of the past"}  # no edit: the generation is the same
    running.run(after_s=1)
    assert running.said() == ("Error", "InvalidSpec")
    assert running.status["completionTime"] == timestamp_text(running.now)


def test_messages_are_as_long_as_the_api_server_takes_them_however_much_a_pod_says(running: Passes) -> None:
    talks = pod(Role.TARGET, ready=False, exit_code=1, termination_message="x" * 100_000)
    running.run(talks, *ALL[1:], after_s=1, snapshot=snapshot())
    said = [running.status["message"], *(one["message"] for one in running.status["conditions"])]
    assert max(map(len, said)) == 4_000
    assert running.said() == ("Error", "TargetLost")


def test_a_spec_that_becomes_unreadable_ends_the_run_under_way(running: Passes) -> None:
    old = running.run_id
    running.edit(deadline="soon")
    assert running.run(*(pod(one.role, run_id=old) for one in ALL), after_s=1).sweep == (old,)
    assert running.said() == ("Error", "InvalidSpec")


def test_a_verdict_stays_where_a_newer_operator_cannot_read_the_spec(finished: Passes) -> None:
    before = finished.status
    finished.spec = {**finished.spec, "deadline": "a word of the past"}  # no edit: the generation is the same
    decision = finished.run(after_s=1)
    assert (finished.status, decision.requeue_after_s) == (before, None)


def hashed_by_another_release(passes: Passes) -> None:
    passes.status = {**passes.status, "specHash": "0" * 16}


def test_a_verdict_stays_where_another_release_hashed_the_same_spec_otherwise(finished: Passes) -> None:
    hashed_by_another_release(finished)
    before = finished.status
    decision = finished.run(after_s=1)
    assert (finished.status, decision.start, decision.sweep) == (before, False, ())


def test_a_run_goes_on_where_another_release_hashed_the_same_spec_otherwise(running: Passes) -> None:
    run = running.status["run"]
    hashed_by_another_release(running)
    decision = running.run(*ALL, after_s=1, snapshot=snapshot())
    assert (decision.start, decision.sweep, running.status["run"]) == (False, (), run)


def test_an_edit_begins_a_new_run_whatever_another_release_had_hashed(finished: Passes) -> None:
    hashed_by_another_release(finished)
    finished.edit(load=FASTER)
    assert finished.run(after_s=1).start


def test_a_spec_that_becomes_readable_again_is_a_new_run(finished: Passes) -> None:
    finished.edit(deadline="soon")
    finished.run(after_s=1)
    assert "results" not in finished.status
    finished.edit(deadline="10m")
    assert finished.run(after_s=1).start
    assert finished.status["run"] == 3


def test_children_of_a_run_that_was_never_written_down_are_swept() -> None:
    passes = Passes(SPEC)
    passes.edit(load=FASTER)
    orphan = pod(Role.TARGET, **passes.of_run(1))
    assert passes.run(orphan).sweep == (run_id(UID, 1),)


@pytest.mark.parametrize(
    ("seen", "after_s"),
    [
        pytest.param(snapshot(Stage.WAITING_FOR_WORKERS), 1.0, id="starting"),
        pytest.param(snapshot(), 5.0, id="running"),
        pytest.param(snapshot(remaining_s=2.0), 2.3, id="near-the-end"),
        pytest.param(snapshot(remaining_s=0.0), 0.5, id="at-the-end"),
        pytest.param(snapshot(Stage.DRAINING, remaining_s=9.0), 0.5, id="draining"),
    ],
)
def test_the_next_pass_comes_as_soon_as_something_may_have_changed(seen: Any, after_s: float) -> None:
    passes = Passes(SPEC)
    passes.run()
    decision = passes.run(*ALL, after_s=1, snapshot=seen)
    assert decision.requeue_after_s == pytest.approx(after_s)


def test_the_next_pass_never_comes_after_the_deadline(running: Passes) -> None:
    decision = running.run(*ALL, after_s=595, snapshot=snapshot(remaining_s=100.0))
    assert decision.requeue_after_s == pytest.approx(2.0)


def test_a_clock_that_was_put_back_ends_nothing_and_breaks_nothing(running: Passes) -> None:
    decision = running.run(*ALL, after_s=-3_600, snapshot=snapshot(workers_connected=1))
    assert running.status["phase"] == "Running"
    assert decision.requeue_after_s == pytest.approx(5.0)


def test_an_operator_started_anew_decides_the_same(running: Passes) -> None:
    """All that it has is the status, which is what every pass begins with; so a second look changes nothing."""
    dead = pod(Role.WORKER, phase="Failed", exit_code=137)
    first = running.run(TARGET, MASTER, dead, after_s=1, snapshot=snapshot())
    again = running.run(TARGET, MASTER, dead, snapshot=snapshot())
    assert first.status is not None
    assert (again.status, again.start, again.sweep, again.announcements) == (None, False, (), ())


def test_a_deletion_ends_a_run_whose_object_a_finalizer_keeps_and_takes_its_children_away(running: Passes) -> None:
    running.deleting, running.generation = True, 2
    decision = running.run(*ALL, after_s=1, snapshot=snapshot())
    assert running.said() == ("Aborted", "Deleted")
    assert decision.sweep == (running.run_id,)
    assert running.run(after_s=100_000).delete_self is False


def test_a_deleted_test_keeps_its_verdict_and_starts_no_other_run(finished: Passes) -> None:
    before = finished.status
    finished.deleting, finished.generation = True, 2
    finished.run(after_s=1)
    assert finished.status == {**before, "observedGeneration": 2}
    finished.edit(load=FASTER)
    assert not finished.run(after_s=1).start
    assert finished.said() == ("Aborted", "Deleted")
    finished.run(after_s=1)
    assert finished.status["run"] == 3


@pytest.mark.parametrize("change", [{"suspend": True}, {"abort": True}, {"deadline": "soon"}, {}])
def test_a_test_that_was_deleted_before_its_run_never_begins(change: Mapping[str, Any]) -> None:
    passes = Passes({**SPEC, **change}, deleting=True)
    assert not passes.run().start
    assert passes.status["phase"] == "Finished"
    assert passes.run(after_s=1).status is None


def test_a_run_sweeps_what_an_earlier_test_of_its_name_left_without_an_owner(running: Passes) -> None:
    running.orphans = ("0123456789", running.run_id)
    decision = running.run(*ALL, after_s=1, snapshot=snapshot())
    assert decision.sweep == ("0123456789",)


def test_an_ended_test_sweeps_them_too(finished: Passes) -> None:
    finished.orphans = ("0123456789",)
    assert finished.run(after_s=1).sweep == ("0123456789",)
