"""The message for people: what it has, and that nothing in it which somebody else said can act."""

import asyncio
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import statuses
from sshload_operator.api.kinds import API_VERSION, COMPARISON, SCHEDULE, TEST, Kind
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.control.channels import read_channels
from sshload_operator.control.channels.channel import Sender
from sshload_operator.control.channels.ends import EndEvent, Notification, due
from sshload_operator.control.channels.slack import Slack, message_of
from sshload_operator.control.posting import Attempt, Posted
from webhook_receiver import PATH, Receiver, webhook_receiver

NOW = datetime(2026, 11, 21, 6, 1, tzinfo=UTC)
SLACK = Slack(events=tuple(EndEvent), max_age_s=3_600)
PAGES = "https://sshload.example.com"
RELATIVE = {"kind": "latency", "step": "total", "percentile": 99, "limit": 10, "unit": "% of the baseline"}
MESSAGE = "p99 of total at most 10 % above the baseline: 912 ms, 14 % above"


def ended(kind: Kind = TEST, **status: Any) -> Notification:
    """Return the end of a run of a schedule's test, or of a comparison."""
    known = {"phase": "Finished", "run": 3, "verdict": "Failed", "completionTime": "2026-11-21T06:00:00Z"}
    owner = {"apiVersion": API_VERSION, "kind": SCHEDULE.name, "name": "nightly", "uid": "o1", "controller": True}
    metadata = {"namespace": "bastion", "name": "nightly-1", "uid": "u1", "ownerReferences": [owner]}
    found = due(kind, {"metadata": metadata, "status": {**known, **status}}, "slack", SLACK, NOW)
    assert found is not None
    return found


def test_a_message_has_the_verdict_headline_figures_the_change_against_the_baseline_and_a_link() -> None:
    broken = {**RELATIVE, "value": 14, "met": False, "message": MESSAGE}
    met = {"kind": "errorRate", "limit": 1, "unit": "%", "value": 0.1, "met": True, "message": "0.1 %"}
    message = message_of(
        ended(
            message="p99 is 14 % above",
            results={**statuses.RESULTS, "errorPercent": 2.5},
            thresholds=[met, broken],
            baseline={"test": "nightly-0"},
        ),
        f"{PAGES}/",
    )
    first, *others = message.splitlines()
    assert first == "*Failed*: test `bastion/nightly-1`, by schedule `nightly`"
    assert others[0] == "`p99 is 14 % above`"
    assert "• completed: 20/s" in others
    assert "• failed: 2.5 %" in others
    assert others[-2] == f"• broken: `{MESSAGE}` (baseline `nightly-0`)"
    assert others[-1] == f"<{PAGES}/ui/bastion/tests/nightly-1|Report>"
    assert "0.1 %" not in message


def test_a_change_against_the_baseline_that_is_not_too_large_is_told_too() -> None:
    met = {**RELATIVE, "value": 1, "met": True, "message": "1 % above"}
    assert "• compared: `1 % above`" in message_of(ended(verdict="Passed", thresholds=[met]), "")


def test_a_search_tells_its_capacity() -> None:
    capacity = {"unit": "arrivals/s", "end": "found", "value": 87, "inWords": "87 arrivals/s", "trials": []}
    assert "• capacity: `87 arrivals/s`" in message_of(ended(capacity=capacity), "")


def test_a_comparison_tells_its_verdict_and_links_to_itself() -> None:
    message = message_of(ended(COMPARISON, verdict="Conclusive", message="5 rounds"), PAGES)
    assert message.splitlines() == [
        "*Conclusive*: comparison `bastion/nightly-1`",
        "`5 rounds`",
        f"<{PAGES}/ui/bastion/comparisons/nightly-1|Report>",
    ]


@pytest.mark.parametrize(
    "hostile",
    [
        "<!here> <@U024BE7LH> <https://evil.example|log in>",
        "@here @channel @all &lt;!channel&gt;",
        "https://evil.example www.evil.example mailto:a@b",
        "`*bold*` [log in](https://evil.example) ```",
        "one\n<!here>\r\ttwo\u2028\u202e",
    ],
)
def test_nothing_that_a_server_said_is_a_link_a_mention_or_formatting(hostile: str) -> None:
    broken = {**RELATIVE, "met": False, "message": hostile}
    message = message_of(ended(message=hostile, thresholds=[broken], baseline={"test": "nightly-0"}), "")
    assert "<" not in message
    assert ">" not in message
    assert re.search(r"&(?!amp;|lt;|gt;)", message) is None
    assert all(line.count("`") % 2 == 0 for line in message.split("\n"))
    outside = re.sub(r"`[^`\n]*`", "", message)
    assert outside.split() == ["*Failed*:", "test", ",", "by", "schedule", "•", "broken:", "(baseline", ")"]
    assert re.search(r"@(?!\u200b)|:(?=//)|www\.", message) is None
    assert all(character.isprintable() or character in "\n\u200b" for character in message)


def test_the_longest_message_is_short_enough_for_slack() -> None:
    broken = {**RELATIVE, "met": False, "message": "&" * 500}
    message = message_of(ended(message="<" * 4_000, thresholds=[broken] * 20), "")
    assert "• and 15 more" in message
    assert len(message) < 40_000


def post(receiver: Receiver, secret: Path, url: str | None = None) -> Attempt:
    """Post an end to a receiver, whose URL is in the Secret."""
    (secret / "url").write_text(f"{receiver.url if url is None else url}\n", encoding="utf-8")
    return asyncio.run(Sender(SLACK, secret).post(ended(message="5 < 6"), NOW))


def test_the_message_is_posted_as_json_to_the_url_of_the_secret(tmp_path: Path) -> None:
    with webhook_receiver() as receiver:
        assert post(receiver, tmp_path) == Attempt(Posted.DELIVERED)
    (received,) = receiver.received
    assert (received.path, received.headers["content-type"]) == (PATH, "application/json")
    sent = json.loads(received.body)
    assert list(sent) == ["text"]
    assert "`5 &lt; 6`" in sent["text"]


def test_nothing_of_the_url_is_said_where_the_receiver_refuses_or_is_away(tmp_path: Path) -> None:
    with webhook_receiver() as receiver:
        receiver.answer, receiver.content = 404, b"no_service"
        refused = post(receiver, tmp_path)
    away = post(receiver, tmp_path)
    assert (refused.end, away.end) == (Posted.REFUSED, Posted.UNREACHABLE)
    for text in (refused.message, away.message, SLACK.receiver):
        assert PATH not in text
        assert "127.0.0.1" not in text
        assert "no_service" not in text


@pytest.mark.parametrize("url", ["", "S3CRET", "ftp://S3CRET", "https://u:S3CRET@a", "https://a/" + "S3CRET" * 400])
def test_a_url_that_is_none_is_refused_in_words_without_it(url: str, tmp_path: Path) -> None:
    attempt = post(Receiver(), tmp_path, url)
    assert attempt.end is Posted.UNREADABLE
    assert "the Secret's file url" in attempt.message
    assert "S3CRET" not in attempt.message


def test_a_secret_without_a_url_is_unreadable_and_the_file_is_named(tmp_path: Path) -> None:
    attempt = asyncio.run(Sender(SLACK, tmp_path).post(ended(), NOW))
    assert attempt.end is Posted.UNREADABLE
    assert attempt.message.endswith("FileNotFoundError at url")


def test_the_address_of_the_pages_is_a_url_or_absent() -> None:
    written = {"events": ["test"], "pagesUrl": "https://sshload.example.com"}
    assert read_channels({"slack": written})["slack"] == Slack(
        events=(EndEvent.TEST,), max_age_s=86_400, pages_url=PAGES
    )
    assert read_channels({"slack": {**written, "pagesUrl": ""}})["slack"] == Slack(
        events=(EndEvent.TEST,), max_age_s=86_400
    )
    with pytest.raises(SpecError, match=r"channels\.slack\.pagesUrl"):
        read_channels({"slack": {**written, "pagesUrl": "javascript:alert(1)"}})
