"""What the tests make of a watch's answer."""

import json

from api_requests import events_in

ADDED = {"type": "ADDED", "object": {"metadata": {"name": "a"}, "status": {"phase": "Finished"}}}
ERROR = {"type": "ERROR", "object": {"kind": "Status", "status": "Failure", "code": 504}}


def lines(*events: object) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def test_an_event_is_read_however_the_answer_is_cut() -> None:
    text = lines(ADDED, ADDED)
    assert list(events_in([text[:7], text[7:50], text[50:]])) == [ADDED, ADDED]


def test_a_failure_of_the_api_server_is_not_taken_for_an_object() -> None:
    assert list(events_in([lines(ADDED, ERROR, ADDED)])) == [ADDED]
