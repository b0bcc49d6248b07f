"""Whole decisions at the turns of a test's life: what is written, swept, replaced and told, and nothing else."""

from typing import Any

import pytest
from passes import UID, Passes
from plans import quickstart
from runs import pod, snapshot, summary
from sshload_operator.planning.plan import run_id
from sshload_operator.state import Observed, Role

ALL = (pod(Role.TARGET), pod(Role.MASTER), pod(Role.WORKER))
SPEC = quickstart(workers={"replicas": 1}, deadline="10m", ttlAfterFinished={"passed": "1h", "failed": "24h"})
FASTER = {"arrivals": {"stages": [{"rate": 30, "duration": "30s"}]}}
FIRST = run_id(UID, 1)


def told(decision: Any) -> list[tuple[str, bool]]:
    return [(str(one.reason), one.warning) for one in decision.announcements]


def but_for_conditions(passes: Passes) -> dict[str, Any]:
    assert passes.status["conditions"]
    return {name: value for name, value in passes.status.items() if name != "conditions"}


@pytest.mark.parametrize(
    "edit",
    [{"load": FASTER}, {"load": FASTER, "suspend": True}, {"load": FASTER, "abort": True}, {"deadline": "soon"}],
    ids=["run anew", "held back", "aborted", "unreadable"],
)
def test_the_results_of_a_run_go_once_the_status_is_of_another(finished: Passes, edit: dict[str, Any]) -> None:
    finished.edit(**edit)
    assert finished.run(after_s=1).replaced == (FIRST,)
    assert finished.run(after_s=1).replaced == ()


def test_a_run_that_goes_on_or_is_unreadable_without_an_edit_replaces_nothing(running: Passes) -> None:
    assert running.run(*ALL, after_s=1, snapshot=snapshot()).replaced == ()
    running.spec = {**running.spec, "deadline": "soon"}
    assert running.run(*ALL, after_s=1).replaced == ()
    assert Passes({**SPEC, "deadline": "soon"}).run().replaced == ()


def test_a_test_that_is_held_back_is_pending_and_has_measured_nothing(finished: Passes) -> None:
    finished.edit(load=FASTER, suspend=True)
    decision = finished.run(after_s=1)
    assert but_for_conditions(finished) == {
        "observedGeneration": 2,
        "run": 2,
        "phase": "Pending",
        "reason": "Suspended",
        "message": "spec.suspend holds the test back. Set it to false to run it",
    }
    assert (told(decision), decision.requeue_after_s, decision.start) == ([("Suspended", False)], None, False)


def test_a_run_that_is_edited_and_held_back_is_told_to_have_ended_and_swept(running: Passes) -> None:
    running.edit(load=FASTER, suspend=True)
    decision = running.run(*(pod(one.role, run_id=FIRST) for one in ALL), after_s=1)
    assert told(decision) == [("SpecChanged", False), ("Suspended", False)]
    assert decision.sweep == (FIRST,)


def test_a_run_that_is_edited_and_aborted_is_told_to_have_ended_too(running: Passes) -> None:
    running.edit(load=FASTER, abort=True)
    decision = running.run(after_s=1)
    assert told(decision) == [("SpecChanged", False), ("AbortRequested", False)]
    assert decision.sweep == tuple(sorted((FIRST, run_id(UID, 2))))


def test_a_spec_that_cannot_be_read_leaves_a_status_without_a_hash(finished: Passes) -> None:
    finished.edit(deadline="soon")
    decision = finished.run(after_s=1)
    status = but_for_conditions(finished)
    assert status.pop("message").startswith("spec.deadline: ")
    assert status == {
        "observedGeneration": 2,
        "run": 2,
        "phase": "Finished",
        "reason": "InvalidSpec",
        "verdict": "Error",
        "completionTime": "2026-11-21T12:00:39Z",
    }
    assert told(decision) == [("InvalidSpec", True)]


def test_a_test_that_is_born_aborted_is_over_with_the_hash_of_what_it_would_have_measured() -> None:
    passes = Passes({**SPEC, "abort": True})
    decision = passes.run()
    status = but_for_conditions(passes)
    assert status.pop("specHash")
    assert status == {
        "observedGeneration": 1,
        "run": 1,
        "phase": "Finished",
        "reason": "AbortRequested",
        "message": "spec.abort was set before it began. Set it to false to run the test again",
        "verdict": "Aborted",
        "startTime": "2026-11-21T12:00:00Z",
        "completionTime": "2026-11-21T12:00:00Z",
    }
    assert (told(decision), decision.sweep, decision.store) == ([("AbortRequested", False)], (FIRST,), None)
    assert decision.requeue_after_s == 24 * 3600


def test_a_run_whose_test_is_deleted_says_that_it_was_under_way(running: Passes) -> None:
    running.deleting = True
    running.run(*ALL, after_s=1)
    assert running.status["message"].startswith("the test was deleted while it was under way.")


def test_a_finished_run_names_what_it_ran_on_and_where_its_results_are(finished: Passes) -> None:
    assert finished.status["resultsConfigMap"] == f"quickstart-{FIRST}-results"
    assert finished.status["installed"]
    assert finished.status["results"]
    assert finished.status["specHash"]
    assert finished.status["startTime"] == "2026-11-21T12:00:00Z"
    assert finished.status["completionTime"] == "2026-11-21T12:00:38Z"


def test_what_is_left_of_a_run_is_swept_though_its_test_goes_or_cannot_be_read(finished: Passes) -> None:
    left = pod(Role.WORKER, **finished.of_run(1))
    finished.spec = {**finished.spec, "deadline": "soon"}
    assert finished.run(left, after_s=1).sweep == (FIRST,)
    finished.spec = SPEC
    gone = finished.run(left, after_s=3600)
    assert (gone.delete_self, gone.sweep) == (True, (FIRST,))


def test_a_finished_test_of_which_nobody_knows_when_it_ended_stays(finished: Passes) -> None:
    finished.status = {name: value for name, value in finished.status.items() if name != "completionTime"}
    decision = finished.run(after_s=10_000)
    assert (decision.delete_self, decision.requeue_after_s) == (False, None)
    assert finished.subject(Observed((), None, "")).is_finished


def test_a_finished_run_names_its_thresholds() -> None:
    passes = Passes({**SPEC, "thresholds": [{"errorRate": {"below": "1%"}}]})
    passes.run()
    passes.run(*ALL, after_s=3, snapshot=snapshot(workers_connected=1))
    passes.run(*ALL, after_s=35, summary=summary())
    assert [one["kind"] for one in passes.status["thresholds"]] == ["errorRate"]


def test_ten_runs_that_left_pods_are_swept_at_once_and_of_more_ten_of_any(finished: Passes) -> None:
    for count in (9, 10, 11):
        finished.orphans = tuple(f"r{number:02}" for number in range(count))
        assert len(finished.run(after_s=0.0001).sweep) == min(count, 10)
    finished.orphans = finished.orphans[:10]
    assert finished.run().sweep == finished.orphans


def test_a_test_that_has_run_begins_no_run_and_one_that_has_not_may(finished: Passes) -> None:
    nothing = Observed((), None, "")
    assert not finished.subject(nothing).may_begin
    assert Passes(SPEC).subject(nothing).may_begin
    finished.edit(load=FASTER)
    assert finished.subject(nothing).may_begin


@pytest.mark.parametrize("role", [Role.TARGET, Role.WORKER])
def test_a_run_whose_pods_are_kept_from_running_is_looked_at_each_second(running: Passes, role: Role) -> None:
    assert running.run(*ALL, after_s=1, snapshot=snapshot(remaining_s=20.0)).requeue_after_s == 5
    blocked = pod(role, name="another", phase="Pending", ready=False, blocked_message="0/3 nodes are available")
    assert running.run(*ALL, blocked, after_s=1, snapshot=snapshot(remaining_s=20.0)).requeue_after_s == 1


def test_a_pass_comes_at_the_start_timeout_of_a_run_whose_pods_are_not_there() -> None:
    passes = Passes({**SPEC, "startTimeout": "30s"})
    passes.run()
    assert passes.run(after_s=29.5).requeue_after_s == pytest.approx(0.5)
