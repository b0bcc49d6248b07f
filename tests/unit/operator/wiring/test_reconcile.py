"""What a pass makes of a test as the API server shows it, and of answers and results that it cannot use."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from passes import Passes
from plans import INSTALLATION
from played_api import played_cluster
from played_objects import PlayedObjects
from runs import pod, summary
from specs.small import SMALL
from sshload_contract.wire.master_log import MasterLog
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.control.live import room as room_module
from sshload_operator.control.live.room import Room
from sshload_operator.control.run import reconcile as reconcile_module
from sshload_operator.control.run.judging import Judging, LogReading
from sshload_operator.control.run.observe import Observations, Rejection
from sshload_operator.control.run.reconcile import (
    ParsedSpec,
    Reconciled,
    Shared,
    _decide,
    _occasion,
    _run_under_way,
    is_finished,
    is_held_back,
    needs_action,
    reconcile,
    subject_of,
)
from sshload_operator.decision.load_test.decide import TestDecision
from sshload_operator.manifests import child_name
from sshload_operator.manifests.labels import COMPARISON_LABEL, role_labels
from sshload_operator.planning.installation import Limits
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Announcement, Observed, Reason, Role

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def a_test(generation: int, **spec: Any) -> dict[str, Any]:
    metadata = {"namespace": "ns", "name": "t", "uid": "u", "generation": generation, "resourceVersion": "1"}
    metadata["creationTimestamp"] = "2026-11-22T11:00:00Z"
    return {"metadata": metadata, "spec": {**SMALL, **spec}, "status": {}}


def first_run() -> Plan:
    plan = subject_of(a_test(1), INSTALLATION, ParsedSpec(), NOON).plan
    assert isinstance(plan, Plan)
    return plan


def master(plan: Plan) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the master's Job, and its pod."""
    name, labels = child_name(plan, Role.MASTER), role_labels(plan, Role.MASTER)
    test = {"kind": "SSHLoadTest", "name": plan.test.name, "uid": plan.test.uid, "controller": True}
    job = {"metadata": {"name": name, "uid": "job", "labels": labels, "ownerReferences": [test]}}
    maker = {"kind": "Job", "name": name, "uid": "job", "controller": True}
    metadata = {"name": f"{name}-x", "resourceVersion": "1", "labels": labels, "ownerReferences": [maker]}
    return job, {"metadata": metadata, "status": {"phase": "Running"}}


def deleted_in_a_pass(test: dict[str, Any], job: dict[str, Any], pod: dict[str, Any]) -> list[str]:
    """Do a pass over a test whose pod the watch told of; return the names of what it deletes."""
    api, sight = PlayedObjects(), Observations()
    api.put("jobs", job)
    api.put("pods", pod)
    sight.pod_changed("ADDED", pod)
    a_pass(api, test, sight)
    return [name.partition("/")[2] for name in api.names("DELETE")]


def test_a_test_whose_status_was_taken_away_leaves_no_load_behind_when_it_is_suspended() -> None:
    plan = first_run()
    assert child_name(plan, Role.MASTER) in deleted_in_a_pass(a_test(2, suspend=True), *master(plan))


def a_pass(
    api: PlayedObjects, test: dict[str, Any], observations: Observations | None = None, room: Room | None = None
) -> Reconciled | int:
    """Do a pass over a test; return its result, or the answer of the API server that ended it."""
    sight = Observations() if observations is None else observations
    api.put("sshloadtests", test)

    async def play() -> Reconciled | int:
        judging = Judging()
        async with played_cluster(api.answer) as cluster:
            try:
                shared = Shared(cluster, judging, Room(Limits()) if room is None else room)
                return await reconcile(shared, test, subject_of(test, INSTALLATION, ParsedSpec(), NOON), sight)
            except ApiError as error:
                return error.status
            finally:
                judging.stop()

    return asyncio.run(play())


def test_a_pass_that_starts_a_run_says_so_and_returns_the_object_as_it_is_then() -> None:
    done = a_pass(PlayedObjects(), a_test(1))
    assert isinstance(done, Reconciled)
    assert done.started
    assert done.test is not None
    assert done.test["status"]["reason"] == "TargetStarting"
    assert done.requeue_after_s is not None
    assert done.requeue_after_s > 0


def test_a_pass_over_a_test_that_rests_starts_nothing() -> None:
    done = a_pass(PlayedObjects(), a_test(1, suspend=True))
    assert isinstance(done, Reconciled)
    assert (done.started, done.requeue_after_s) == (False, None)


def test_a_start_that_is_refused_is_no_start_and_is_looked_at_again_at_once() -> None:
    done = a_pass(PlayedObjects(refuses={("POST", "secrets"): [403]}), a_test(1))
    assert isinstance(done, Reconciled)
    assert (done.started, done.requeue_after_s) == (False, 0.0)


def test_a_test_that_is_gone_when_its_status_is_written_is_gone() -> None:
    done = a_pass(PlayedObjects(refuses={("PATCH", "sshloadtests"): [404]}), a_test(1))
    assert isinstance(done, Reconciled)
    assert (done.test, done.requeue_after_s, done.started) == (None, None, False)


@pytest.mark.parametrize(("status", "is_told"), [(403, True), (422, True), (500, False), (409, False)])
def test_a_status_that_does_not_fit_the_crd_is_told_by_an_event_alone(status: int, *, is_told: bool) -> None:
    api = PlayedObjects(refuses={("PATCH", "sshloadtests"): [status]})
    assert a_pass(api, a_test(1, suspend=True)) == status
    assert api.was_asked("POST", "events") is is_told


def named(body: dict[str, Any], name: str) -> dict[str, Any]:
    return {**body, "metadata": {**body["metadata"], "name": name, "uid": f"uid of {name}"}}


@pytest.mark.slow
def test_only_a_test_whose_run_may_begin_has_a_place_in_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room_module, "_HEARD_OF_ALL_S", 0.0)
    room = Room(Limits(tests=1))
    room.changed("ADDED", named({**a_test(1), "status": {"phase": "Running"}}, "runs"))

    def said(body: dict[str, Any]) -> str:
        done = a_pass(PlayedObjects(), body, room=room)
        assert isinstance(done, Reconciled)
        assert done.test is not None
        return str(done.test["status"]["message"])

    assert said(named(a_test(1), "a")).startswith("position 1 ")
    assert said(named(a_test(1), "b")).startswith("position 2 ")
    assert "suspend" in said(named(a_test(2, suspend=True), "a"))
    assert said(named(a_test(1), "b")).startswith("position 1 ")


def under_way(**status: Any) -> dict[str, Any]:
    plan = first_run()
    seen = {"run": 1, "specHash": plan.spec_hash, "phase": "Running", "startTime": "2026-11-22T11:59:00Z"}
    return {**a_test(1), "status": {**seen, "observedGeneration": 1, **status}}


def test_a_run_is_under_way_from_its_start_as_long_as_the_status_says_of_this_run_that_it_is() -> None:
    def found(body: dict[str, Any]) -> Any:
        return _run_under_way(body, subject_of(body, INSTALLATION, ParsedSpec(), NOON))

    run = found(under_way())
    assert (run.elapsed_s, run.start_time, run.plan.run) == (60, NOON - timedelta(minutes=1), 1)
    later = found(under_way(startTime="2026-11-22T12:05:00Z"))
    assert later.start_time == NOON, "a clock that was set back makes no start in the future"
    for gone in ({"phase": "Finished"}, {"startTime": None}, {"run": 2}):
        assert found(under_way(**gone)) is None
    unread = {**under_way(), "spec": {**SMALL, "load": {}}}
    assert found(unread) is None


@pytest.mark.parametrize(
    "decision",
    [
        TestDecision(status={"phase": "Running"}),
        TestDecision(start=True),
        TestDecision(replaced=("r",)),
        TestDecision(store={"kind": "ConfigMap"}),
        TestDecision(sweep=("r",)),
        TestDecision(delete_self=True),
        TestDecision(announcements=(Announcement(Reason.CAUTION, "look", warning=True),)),
    ],
)
def test_each_deed_of_a_decision_asks_for_action(decision: TestDecision) -> None:
    assert needs_action(decision)


def test_waiting_asks_for_none() -> None:
    assert not needs_action(TestDecision(requeue_after_s=3.0))


def test_a_test_is_finished_or_held_back_by_its_status_alone() -> None:
    found = [(is_finished(under_way(phase=phase)), is_held_back(under_way(phase=phase))) for phase in PHASES]
    assert found == [(False, True), (False, False), (True, False)]


PHASES = ("Pending", "Running", "Finished")


class Fails(Judging):
    """A thread in which nothing can be judged."""

    async def run(self, namespace: str, work: Callable[[], Any]) -> Any:
        """Fail."""
        del work
        raise ZeroDivisionError(f"nothing works in {namespace}")


def decided(judging: Judging) -> tuple[TestDecision, Observations]:
    """Return the decision about a run whose results have just been read, and what is known of them then."""
    passes = Passes()
    passes.run()
    log = MasterLog(None, replace(summary(), run_id=passes.run_id), 2, "")
    observations = Observations(reading=LogReading("the tail", log))
    mine = replace(pod(Role.MASTER, phase="Succeeded", exit_code=0), run_id=passes.run_id)
    subject = passes.subject(Observed((mine,), log, ""))

    async def play() -> TestDecision:
        try:
            return await _decide(judging, subject, observations)
        finally:
            judging.stop()

    return asyncio.run(play()), observations


def test_results_are_judged_and_kept() -> None:
    decision, observations = decided(Judging())
    assert decision.status is not None
    assert decision.status["verdict"] == "Passed"
    assert observations.reading is not None
    assert observations.reading.log.summary is not None


def test_results_that_break_the_rules_of_judging_are_unreadable_from_now_on() -> None:
    decision, observations = decided(Fails())
    assert decision.status is not None
    assert "verdict" not in decision.status
    assert observations.reading is not None
    assert observations.reading.tail == "the tail", "the log is not to be parsed again"
    log = observations.reading.log
    assert (log.summary, log.summary_lines, log.problem) == (
        None,
        2,
        "ZeroDivisionError: nothing works in load-tests",
    )
    assert "ZeroDivisionError" in decision.status["message"]


@pytest.mark.parametrize("room_bytes", [-1, 0])
def test_a_status_that_would_be_too_long_is_not_written(monkeypatch: pytest.MonkeyPatch, room_bytes: int) -> None:
    whole, _ = decided(Judging())
    size_bytes = len(json.dumps(whole.status))
    monkeypatch.setattr(reconcile_module, "_STATUS_LIMIT_BYTES", size_bytes + room_bytes)
    decision, observations = decided(Judging())
    assert decision.status is not None
    assert ("verdict" in decision.status) is (room_bytes == 0)
    assert observations.reading is not None
    if room_bytes < 0:
        assert observations.reading.log.problem == (
            f"they would take {size_bytes} bytes of the status, and the limit is {size_bytes - 1}"
        )


def test_a_test_is_known_with_who_applied_it_and_the_comparison_that_made_it() -> None:
    body = a_test(1)
    plain = subject_of(body, INSTALLATION, ParsedSpec(), NOON).test
    assert (plain.namespace, plain.name, plain.uid, plain.generation) == ("ns", "t", "u", 1)
    assert (plain.applier, plain.comparison) == ("", "")
    labels = {COMPARISON_LABEL: "cmp", "kustomize.toolkit.fluxcd.io/name": "load-tests"}
    body["metadata"] |= {"labels": labels}
    known = subject_of(body, INSTALLATION, ParsedSpec(), NOON).test
    assert (known.applier, known.comparison) == ("Flux", "cmp")


def test_an_event_is_about_the_run_and_of_a_spec_that_cannot_be_read_about_its_generation() -> None:
    running = under_way()
    running["metadata"] = {**running["metadata"], "generation": 3}
    running["status"]["observedGeneration"] = 3
    assert _occasion(subject_of(running, INSTALLATION, ParsedSpec(), NOON)) == "1"
    assert _occasion(subject_of(a_test(3), INSTALLATION, ParsedSpec(), NOON)) == "3"
    assert _occasion(subject_of(a_test(4, load={}), INSTALLATION, ParsedSpec(), NOON)) == "4"


@pytest.mark.parametrize(
    ("body", "is_looked_for"),
    [
        (under_way(), True),
        (under_way(phase="Finished", verdict="Passed"), True),
        (a_test(1, suspend=True), False),
        ({**a_test(1, suspend=True), "status": {"run": 1, "phase": "Pending"}}, False),
    ],
    ids=["under way", "over", "never begun", "held back"],
)
def test_pods_are_looked_for_where_a_run_was_begun(body: dict[str, Any], *, is_looked_for: bool) -> None:
    api = PlayedObjects()
    a_pass(api, body)
    assert api.was_asked("GET", "pods") is is_looked_for


def test_what_was_refused_of_a_start_lets_no_later_pass_come_at_once() -> None:
    sight = Observations(refused=Rejection("Job", "exceeded quota"))
    done = a_pass(PlayedObjects(), under_way(phase="PreparingTarget", startTime="2026-11-22T11:59:59Z"), sight)
    assert isinstance(done, Reconciled)
    assert not done.started
    assert done.requeue_after_s is not None
    assert done.requeue_after_s > 0


def with_results() -> tuple[dict[str, Any], Observations]:
    """Return a test whose run is under way, and what is known of it: its results have been read."""
    plan = first_run()
    log = MasterLog(None, replace(summary(), run_id=plan.run_id), 2, "")
    return under_way(), Observations(reading=LogReading("the tail", log), log_of_run_id=plan.run_id)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_results_whose_status_is_never_accepted_are_unreadable_and_told_in_the_next_status(status: int) -> None:
    body, sight = with_results()
    api = PlayedObjects(refuses={("PATCH", "sshloadtests"): [status]})
    assert a_pass(api, body, sight) == status
    assert sight.reading is not None
    assert sight.reading.log.summary is None
    assert "not today" in sight.reading.log.problem
    assert not api.was_asked("POST", "events"), "what the results said is told to nobody"
    done = a_pass(api, body, sight)
    assert isinstance(done, Reconciled)
    assert done.test is not None
    assert "cannot be used: " in done.test["status"]["message"]


@pytest.mark.parametrize("status", [403, 409, 500, 503])
def test_results_stay_where_the_api_server_may_accept_their_status_later(status: int) -> None:
    body, sight = with_results()
    assert a_pass(PlayedObjects(refuses={("PATCH", "sshloadtests"): [status]}), body, sight) == status
    assert sight.reading is not None
    assert sight.reading.log.summary is not None


def test_a_log_without_results_leaves_nothing_to_discard_and_the_refusal_is_told() -> None:
    body, sight = with_results()
    sight.reading = LogReading("the tail", MasterLog(None, None, 0, ""))
    api = PlayedObjects(refuses={("PATCH", "sshloadtests"): [422]})
    assert a_pass(api, body, sight) == 422
    assert sight.reading.log.problem == ""
    assert api.was_asked("POST", "events")
