import asyncio
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from sshload_operator.api.kinds import SCHEDULE, TEST
from sshload_operator.control.api_server.announcement import About, announce, event
from sshload_operator.control.api_server.errors import ApiError
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


def test_an_event_is_said_once_by_the_operator_at_a_time_about_an_object() -> None:
    schedule = replace(ABOUT, kind=SCHEDULE)
    found = event(schedule, SAID, NOW)
    name = found["metadata"]["name"]
    assert name.startswith("quickstart.")
    assert len(name) == len("quickstart.") + 12
    assert found == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "ns"},
        "involvedObject": {
            "apiVersion": "sshload.dev/v1alpha1",
            "kind": "SSHLoadTestSchedule",
            "namespace": "ns",
            "name": "quickstart",
            "uid": ABOUT.uid,
        },
        "type": "Normal",
        "reason": "LoadRunning",
        "message": "the load runs",
        "firstTimestamp": "2026-11-21T06:00:00Z",
        "lastTimestamp": "2026-11-21T06:00:00Z",
        "count": 1,
        "source": {"component": "sshload-operator"},
        "reportingComponent": "sshload-operator",
    }


@pytest.mark.parametrize(
    "other",
    [
        pytest.param((replace(ABOUT, uid="made anew"), SAID), id="an object made anew under the same name"),
        pytest.param((ABOUT, replace(SAID, reason=Reason.QUEUED)), id="another reason"),
        pytest.param((ABOUT, replace(SAID, message="another")), id="another message"),
    ],
)
def test_what_differs_in_anything_is_another_event(other: tuple[About, Announcement]) -> None:
    assert event(*other, NOW)["metadata"]["name"] != event(ABOUT, SAID, NOW)["metadata"]["name"]


@dataclass
class Created:
    """An API server that creates objects, or refuses the first ones."""

    refusals: list[ApiError] = field(default_factory=list)
    made: dict[str, Any] = field(default_factory=dict)

    async def create(self, path: str, manifest: Any) -> bool:
        if self.refusals:
            raise self.refusals.pop(0)
        self.made[path] = manifest
        return True


def test_events_are_created_and_one_that_is_refused_keeps_no_other_from_being(caplog: pytest.LogCaptureFixture) -> None:
    server = Created([ApiError(403, "forbidden")])
    other = replace(SAID, message="and another")
    asyncio.run(announce(cast("Any", server), ABOUT, (SAID, other), NOW))
    expected = event(ABOUT, other, NOW)
    assert server.made == {f"/api/v1/namespaces/ns/events/{expected['metadata']['name']}": expected}
    assert caplog.messages == ["ns/quickstart: event LoadRunning was not recorded: 403: forbidden"]
