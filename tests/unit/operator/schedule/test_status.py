"""The status of a schedule: as the CRD has it, and true."""

from datetime import datetime
from typing import Any

import pytest
import statuses
from crd_schema import problems, status_schema
from live_cluster import condition
from schedules import SimSchedule, quick, schedule
from sshload_operator.decision.schedule.facts import SCHEDULED_ANNOTATION, scheduled_test

RESULTS = {**statuses.RESULTS, "p99Ms": 84.2, "completedRate": 19.97}
CAPACITY = {"inWords": "41.5 arrivals/s", "value": 41.5, "unit": "arrivals/s", "end": "found", "trials": []}


def conditions(found: SimSchedule) -> dict[str, tuple[str, str]]:
    return {item["type"]: (item["status"], item["reason"]) for item in found.status["conditions"]}


def test_every_status_is_as_the_schema_of_the_crd_has_it() -> None:
    schema = status_schema("sshloadtestschedules")
    found = schedule("09:55", concurrencyPolicy="Allow").run_pass()
    for hour in (10, 11, 12):
        assert list(problems(found.status, schema)) == []
        found.go_to(f"{hour}:30").finish(found.made[-1], "Passed", results=RESULTS, capacity=CAPACITY)
    assert list(problems(found.change(suspend=True).status, schema)) == []
    assert list(problems(found.change(timeZone="Mars/Olympus").status, schema)) == []


def test_the_trend_is_what_the_kept_runs_found_the_oldest_first() -> None:
    found = schedule("09:55").go_to("10:30")
    found.finish(found.made[-1], "Passed", results=RESULTS, capacity=CAPACITY).go_to("11:30")
    found.finish(found.made[-1], "Invalid")
    assert found.status["trend"] == [
        {
            "test": found.made[0],
            "time": "2026-06-01T10:00:00Z",
            "verdict": "Passed",
            "capacity": 41.5,
            "capacityInWords": "41.5 arrivals/s",
            "p99Ms": 84.2,
            "completedRate": 19.97,
        },
        {"test": found.made[1], "time": "2026-06-01T11:00:00Z", "verdict": "Invalid"},
    ]


def test_a_bound_at_which_a_search_ended_is_told_in_words_and_is_no_capacity_of_the_trend() -> None:
    found = schedule("09:55").go_to("10:30")
    bound = {**CAPACITY, "inWords": "at least 500 arrivals/s", "value": 500, "end": "mostHeld"}
    found.finish(found.made[-1], "Inconclusive", results=RESULTS, capacity=bound)
    (point,) = found.status["trend"]
    assert point["capacityInWords"] == "at least 500 arrivals/s"
    assert "capacity" not in point


@pytest.mark.parametrize(
    ("verdict", "passed"),
    [
        ("Passed", ("True", "LastRunPassed")),
        ("Failed", ("False", "LastRunFailed")),
        ("Invalid", ("Unknown", "LastRunUndecided")),
        ("Error", ("Unknown", "LastRunUndecided")),
    ],
)
def test_what_a_run_found_is_a_condition_and_the_schedule_stays_ready(verdict: str, passed: tuple[str, str]) -> None:
    found = schedule("09:55").go_to("10:30")
    found.finish(found.made[0], verdict)
    assert found.status["lastVerdict"] == verdict
    assert conditions(found) == {
        "Valid": ("True", "SpecAccepted"),
        "Passed": passed,
        "Ready": ("True", "Scheduled"),
    }


def test_the_last_verdict_outlives_the_test() -> None:
    found = schedule("09:55", failedTestsHistoryLimit=0).go_to("10:30")
    found.finish(found.made[0], "Failed").go_to("10:50")
    assert found.tests == {}
    assert (found.status["lastVerdict"], found.status["lastCompletionTime"]) == ("Failed", "2026-06-01T10:30:00Z")


def test_the_last_verdict_is_of_the_run_that_ended_last() -> None:
    found = schedule("09:55", concurrencyPolicy="Allow").go_to("11:30")
    found.finish(found.made[1], "Failed").go_to("11:40").finish(found.made[0], "Passed")
    assert found.status["lastVerdict"] == "Passed"


def test_a_suspended_schedule_is_ready() -> None:
    found = quick("09:55", suspend=True).run_pass()
    assert conditions(found)["Ready"] == ("True", "Suspended")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        pytest.param({"timeZone": "Mars/Olympus"}, "spec.timeZone", id="an-unknown-time-zone"),
        pytest.param({"schedule": "0 0 30 2 *"}, "never fires", id="a-schedule-that-never-fires"),
        pytest.param({"schedule": "0 0 31 4-6/2 *"}, "never fires", id="one-that-the-api-server-takes"),
        pytest.param({"schedule": "TZ=UTC * * * * *"}, "spec.schedule", id="a-time-zone-in-the-schedule"),
        pytest.param({"testTemplate": {"spec": {}}}, "spec.testTemplate.spec.scenario", id="a-template-with-gaps"),
    ],
)
def test_a_spec_that_cannot_be_carried_out_is_said_once_and_makes_nothing(fields: dict[str, Any], says: str) -> None:
    found = quick("09:55", **fields).go_to("11:30")
    assert found.starts == []
    assert conditions(found)["Valid"] == ("False", "InvalidSpec")
    assert (conditions(found)["Ready"][0], conditions(found)["Stalled"][0]) == ("False", "True")
    assert says in condition(found.status, "Valid")["message"]
    assert found.last is not None
    assert found.last.requeue_after_s is None


def test_the_time_of_a_transition_moves_when_the_status_of_its_condition_does() -> None:
    found = schedule("09:55").go_to("10:30")
    before = condition(found.status, "Passed")["lastTransitionTime"]
    assert before == "2026-06-01T09:55:00Z"
    found.finish(found.made[0])
    assert condition(found.status, "Passed")["lastTransitionTime"] == "2026-06-01T10:30:00Z"
    assert condition(found.status, "Ready")["lastTransitionTime"] == "2026-06-01T09:55:00Z"


def test_a_pass_in_which_nothing_changed_writes_nothing() -> None:
    found = quick("09:55").go_to("10:30").run_pass()
    assert found.last is not None
    assert found.last.status is None


def test_what_this_version_does_not_know_of_a_status_is_forgotten() -> None:
    found = quick("09:55").go_to("10:30")
    found.status = {
        **found.status,
        "lastVerdict": "Splendid",
        "conditions": [{**found.status["conditions"][0], "type": "X"}],
    }
    found.run_pass()
    assert found.status["lastVerdict"] == "Passed"
    assert len(found.status["conditions"]) == 3


@pytest.mark.parametrize("annotated", ["0001-01-01T00:00:00+14:00", "soon", ""])
def test_a_scheduled_time_that_somebody_has_garbled_is_that_of_the_creation(annotated: str) -> None:
    found = schedule("09:55").go_to("10:30")
    body = found.tests[found.made[0]]
    garbled = {**body["metadata"], "annotations": {SCHEDULED_ANNOTATION: annotated}}
    created = datetime.fromisoformat(body["metadata"]["creationTimestamp"])
    assert scheduled_test({**body, "metadata": garbled}).time == created
