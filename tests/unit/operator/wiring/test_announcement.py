from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sshload_operator.api.kinds import TEST
from sshload_operator.control.api_server.announcement import About, event
from sshload_operator.state import Announcement, Reason

ABOUT = About(TEST, "ns", "quickstart", "11111111-2222-3333-4444-555555555555", occasion="1")
SAID = Announcement(Reason.LOAD_RUNNING, "the load runs", warning=False)
NOW = datetime(2026, 11, 21, 6, 0, tzinfo=UTC)


def test_the_same_thing_said_again_has_the_same_name() -> None:
    again = event(ABOUT, SAID, NOW + timedelta(seconds=30))
    assert again["metadata"] == event(ABOUT, SAID, NOW)["metadata"]


def test_each_run_says_it_anew() -> None:
    assert (
        event(replace(ABOUT, occasion="2"), SAID, NOW)["metadata"]["name"]
        != event(ABOUT, SAID, NOW)["metadata"]["name"]
    )


def test_an_event_is_about_the_test_and_says_its_reason() -> None:
    found = event(ABOUT, replace(SAID, warning=True), NOW)
    assert found["involvedObject"]["uid"] == ABOUT.uid
    assert (found["type"], found["reason"], found["message"]) == ("Warning", "LoadRunning", "the load runs")


def test_a_long_message_is_cut_to_what_the_api_server_takes() -> None:
    assert len(event(ABOUT, replace(SAID, message="x" * 5000), NOW)["message"]) <= 1024


def test_an_event_has_no_character_that_a_terminal_acts_on() -> None:
    hostile = replace(SAID, message="it said \x1b]0;owned\x07 and\r\nmore")
    assert event(ABOUT, hostile, NOW)["message"] == "it said  ]0;owned  and  more"
