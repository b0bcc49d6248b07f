from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sshload_operator.control.announcement import event
from sshload_operator.planning.plan import TestIdentity
from sshload_operator.state import Announcement, Reason

TEST = TestIdentity("ns", "quickstart", "11111111-2222-3333-4444-555555555555", 1)
SAID = Announcement(Reason.LOAD_RUNNING, "the load runs", warning=False)
NOW = datetime(2026, 11, 21, 6, 0, tzinfo=UTC)


def test_the_same_thing_said_again_has_the_same_name() -> None:
    again = event(TEST, 1, SAID, NOW + timedelta(seconds=30))
    assert again["metadata"] == event(TEST, 1, SAID, NOW)["metadata"]


def test_each_run_says_it_anew() -> None:
    assert event(TEST, 2, SAID, NOW)["metadata"]["name"] != event(TEST, 1, SAID, NOW)["metadata"]["name"]


def test_an_event_is_about_the_test_and_says_its_reason() -> None:
    found = event(TEST, 1, replace(SAID, warning=True), NOW)
    assert found["involvedObject"]["uid"] == TEST.uid
    assert (found["type"], found["reason"], found["message"]) == ("Warning", "LoadRunning", "the load runs")


def test_a_long_message_is_cut_to_what_the_api_server_takes() -> None:
    assert len(event(TEST, 1, replace(SAID, message="x" * 5000), NOW)["message"]) <= 1024
