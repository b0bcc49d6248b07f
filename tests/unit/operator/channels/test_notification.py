"""Which ends of runs are due, and what is posted of each."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import statuses
from sshload_operator.api.kinds import API_VERSION, COMPARISON, SCHEDULE, TEST, Kind
from sshload_operator.control.channels import ends
from sshload_operator.control.channels.ends import EndEvent, Notification, WantedEnds, back_off_s, notified_annotation
from sshload_operator.control.channels.webhook import event_of as webhook_event

ENDED = datetime(2026, 11, 21, 6, tzinfo=UTC)
NOW = ENDED + timedelta(minutes=1)
ALL = WantedEnds(events=tuple(EndEvent), max_age_s=3600.0)
NOTIFIED = notified_annotation("webhook")
STATUS = {"phase": "Finished", "run": 3, "verdict": "Failed", "completionTime": "2026-11-21T06:00:00Z"}
ID = "u1/3/2026-11-21T06:00:00Z"


def due(kind: Kind, body: dict[str, Any], asked: WantedEnds, now: datetime) -> Notification | None:
    """Return the end that is due on the webhook."""
    return ends.due(kind, body, "webhook", asked, now)


def ended(
    annotations: dict[str, str] | None = None, owner: tuple[Kind, str] | None = None, **status: Any
) -> dict[str, Any]:
    """Return an object whose run has ended."""
    metadata: dict[str, Any] = {"namespace": "ns", "name": "t", "uid": "u1", "annotations": annotations or {}}
    if owner is not None:
        kind, name = owner
        reference = {"apiVersion": API_VERSION, "kind": kind.name, "name": name, "uid": "o1", "controller": True}
        metadata["ownerReferences"] = [reference]
    return {"metadata": metadata, "status": {**STATUS, **status}}


def event_of(body: dict[str, Any], kind: Kind = TEST, asked: WantedEnds = ALL) -> dict[str, Any]:
    """Return the event that is due."""
    found = due(kind, body, asked, NOW)
    assert found is not None
    return dict(webhook_event(found))


def test_an_end_says_whose_it_is_and_what_was_found() -> None:
    results = {**statuses.RESULTS, "errorPercent": 2.5, "p99Ms": 480}
    capacity = {"unit": "arrivals/s", "end": "found", "value": 118, "inWords": "118 arrivals/s", "trials": []}
    body = ended(reason="ThresholdBroken", message="p99 is 480 ms", results=results, capacity=capacity)
    event = event_of(body)
    assert (event["id"], event["type"], event["time"]) == (ID, "dev.sshload.test.ended", "2026-11-21T06:00:00Z")
    data = event["data"]
    assert (data["verdict"], data["reason"], data["message"]) == ("Failed", "ThresholdBroken", "p99 is 480 ms")
    assert data["capacity"] == {"inWords": "118 arrivals/s", "value": 118, "unit": "arrivals/s", "end": "found"}
    rates = {"offeredRate": 20, "achievedRate": 20, "completedRate": 20}
    assert data["results"] == {**rates, "errorPercent": 2.5, "p99Ms": 480}


@pytest.mark.parametrize(
    ("kind", "owner", "event"),
    [
        (TEST, None, EndEvent.TEST),
        (TEST, (SCHEDULE, "nightly"), EndEvent.SCHEDULE),
        (COMPARISON, None, EndEvent.COMPARISON),
    ],
)
def test_each_end_is_of_one_event_which_can_be_left_out(
    kind: Kind, owner: tuple[Kind, str] | None, event: EndEvent
) -> None:
    verdict = "Conclusive" if kind is COMPARISON else "Failed"
    body = ended(owner=owner, verdict=verdict)
    found = event_of(body, kind)
    assert found["type"] == f"dev.sshload.{event}.ended"
    assert found["data"]["verdict"] == verdict
    assert found["data"].get("schedule") == (owner[1] if owner else None)
    assert due(kind, body, replace(ALL, events=tuple(set(EndEvent) - {event})), NOW) is None


def test_the_end_of_a_comparisons_test_is_the_comparisons() -> None:
    assert due(TEST, ended(owner=(COMPARISON, "two")), ALL, NOW) is None


@pytest.mark.parametrize("phase", ["Running", "Pending", None, 7, ["Finished"]])
def test_nothing_is_due_before_the_end(phase: Any) -> None:
    assert due(TEST, ended(phase=phase), ALL, NOW) is None


@pytest.mark.parametrize("status", [None, "Finished", [], {}, {**STATUS, "completionTime": "yesterday"}])
def test_a_status_that_says_no_end_is_none(status: Any) -> None:
    assert due(TEST, {**ended(), "status": status}, ALL, NOW) is None


def test_what_was_delivered_is_not_due_and_the_end_of_the_next_run_is() -> None:
    delivered = {NOTIFIED: ID}
    assert due(TEST, ended(delivered), ALL, NOW) is None
    assert event_of(ended(delivered, run=4))["id"] == "u1/4/2026-11-21T06:00:00Z"


def test_only_the_named_namespaces_are_posted_about() -> None:
    assert due(TEST, ended(), replace(ALL, namespaces=("other",)), NOW) is None
    assert due(TEST, ended(), replace(ALL, namespaces=("ns",)), NOW) is not None


def test_an_object_that_nobody_has_annotated_was_not_delivered() -> None:
    body = ended()
    for annotations in ({}, {"annotations": None}):
        metadata = {name: value for name, value in body["metadata"].items() if name != "annotations"}
        assert event_of({**body, "metadata": {**metadata, **annotations}})["id"] == ID


def test_only_a_comparison_says_how_many_of_its_tests_it_has_come_to() -> None:
    compared = event_of(ended(verdict="Conclusive", progress="6/6"), COMPARISON)["data"]
    assert (compared["progress"], compared["run"], compared["completionTime"]) == ("6/6", 3, "2026-11-21T06:00:00Z")
    progress = {"stage": "Measuring", "elapsedSeconds": 1.0, "iterations": 5, "failures": 0, "workersConnected": 1}
    tested = event_of(ended(progress={**progress, "remainingSeconds": 1.0}))["data"]
    assert "progress" not in tested
    assert tested["completionTime"] == "2026-11-21T06:00:00Z"


def test_what_a_comparison_measured_of_each_variant_is_not_posted_as_the_figures_of_a_run() -> None:
    compared = {"variants": [{"name": "a", "tests": 3, "measured": 3, "verdicts": {"Passed": 3}, "figures": []}]}
    data = event_of(ended(verdict="Conclusive", results=compared), COMPARISON)["data"]
    assert "results" not in data


def test_an_end_that_is_too_old_is_given_up() -> None:
    found = due(TEST, ended(), ALL, NOW)
    assert found is not None
    assert found.until == ENDED + timedelta(hours=1)
    assert due(TEST, ended(), ALL, found.until) is None


def test_an_end_in_the_future_is_given_up_as_if_it_was_now() -> None:
    found = due(TEST, ended(completionTime="9999-12-31T23:59:59Z"), ALL, NOW)
    assert found is not None
    assert found.until == NOW + timedelta(hours=1)


def test_a_message_is_cut() -> None:
    assert len(event_of(ended(message="m" * 4_000))["data"]["message"]) == 1_000


def test_attempts_back_off_twice_as_long_each_time_up_to_five_minutes() -> None:
    assert [back_off_s(failures, 0) for failures in range(1, 12)] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    assert (back_off_s(3, 1), back_off_s(10_000, 0.5)) == (2, 225)
