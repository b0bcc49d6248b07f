"""Deliveries to a real receiver: what finds no room, what is too old, and what the API server does not note."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest
from running_target import wait_until
from sshload_operator.api.kinds import TEST, Kind
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.control.channels import deliveries as deliveries_module
from sshload_operator.control.channels.channel import Sender
from sshload_operator.control.channels.deliveries import Counts, Deliveries
from sshload_operator.control.channels.ends import EndEvent, notified_annotation
from sshload_operator.control.channels.webhook import Webhook
from webhook_receiver import Receiver, key_folder, webhook_receiver

_MAX_AGE_S = 3_600.0


@dataclass
class PlayedCluster:
    """The tests that there are, by name, and the errors with which the next annotations fail."""

    tests: dict[str, dict[str, Any]] = field(default_factory=dict)
    errors: list[ApiError] = field(default_factory=list)
    lists: int = 0

    async def list_ours(self, kind: Kind, _namespace: str, _selector: str, facts: Callable[[Any], None]) -> list[None]:
        self.lists += 1
        return [facts(body) for body in tuple(self.tests.values()) if kind is TEST]

    async def annotate(self, _kind: Kind, metadata: Mapping[str, Any], annotations: Mapping[str, str]) -> bool:
        if self.errors:
            raise self.errors.pop(0)
        self.tests[metadata["name"]]["metadata"]["annotations"] |= annotations
        return True

    def end(self, name: str) -> dict[str, Any]:
        """Return a test whose run has just ended."""
        now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        metadata = {"namespace": "ns", "name": name, "uid": f"uid-{name}", "annotations": {}}
        status = {"phase": "Finished", "run": 1, "verdict": "Passed", "completionTime": now}
        self.tests[name] = {"metadata": metadata, "status": status}
        return self.tests[name]

    def marked(self) -> set[str]:
        """Return the names of those that are noted as delivered."""
        return {
            name
            for name, body in self.tests.items()
            if notified_annotation("webhook") in body["metadata"]["annotations"]
        }


@dataclass
class Play:
    """Deliveries with what they count."""

    deliveries: Deliveries
    outcomes: Counter[str]

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for a condition."""
        await asyncio.to_thread(wait_until, holds, "the condition")


@pytest.fixture(name="receiver")
def _receiver() -> Iterator[Receiver]:
    with webhook_receiver() as receiver:
        yield receiver


@pytest.fixture(name="play")
def _play(receiver: Receiver, tmp_path: Path) -> Callable[..., Play]:
    folder = key_folder(tmp_path)

    def play(cluster: Any, most_pending: int = 1_000) -> Play:
        outcomes: Counter[str] = Counter()
        webhook = Webhook(url=receiver.url, events=tuple(EndEvent), max_age_s=_MAX_AGE_S)
        counts = Counts(lambda outcome, times: outcomes.update({outcome: times}), lambda _: None)
        sender = Sender(webhook, folder)
        return Play(Deliveries(cluster, "webhook", webhook, sender, (), counts, most_pending), outcomes)

    return play


@pytest.mark.slow
def test_what_finds_no_room_is_listed_and_delivered_once_there_is_room(
    play: Callable[..., Play], receiver: Receiver
) -> None:
    cluster = PlayedCluster()

    async def scenario() -> None:
        played = play(cluster, most_pending=4)
        for number in range(30):
            played.deliveries.object_changed(TEST, cluster.end(f"t{number}"))
        await played.until(lambda: len(cluster.marked()) == 30)
        await played.deliveries.stop()
        assert played.outcomes["delivered"] == 30

    asyncio.run(scenario())
    assert cluster.lists > 0
    assert len({found.event["id"] for found in receiver.received}) == len(receiver.received) == 30


def test_an_end_that_nobody_takes_in_time_is_given_up_and_not_noted(
    play: Callable[..., Play], receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    class TooLateAfterAnAttempt(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + timedelta(seconds=_MAX_AGE_S if receiver.received else 0.0)

    monkeypatch.setattr(deliveries_module, "datetime", TooLateAfterAnAttempt)
    receiver.answer = 500
    cluster = PlayedCluster()

    async def scenario() -> None:
        played = play(cluster)
        played.deliveries.object_changed(TEST, cluster.end("late"))
        await played.until(lambda: played.outcomes["given_up"] == 1)
        await played.deliveries.stop()

    asyncio.run(scenario())
    assert receiver.received
    assert cluster.marked() == set()


def test_a_delivery_that_cannot_be_noted_is_noted_later_and_not_made_again(
    play: Callable[..., Play], receiver: Receiver
) -> None:
    cluster = PlayedCluster(errors=[ApiError(0, "no answer"), ApiError(403, "forbidden")])

    async def scenario() -> None:
        played = play(cluster)
        body = cluster.end("noted")
        for _ in range(3):
            played.deliveries.object_changed(TEST, body)
        await played.until(lambda: cluster.marked() == {"noted"})
        await played.deliveries.stop()

    asyncio.run(scenario())
    assert len(receiver.received) == 1


def test_an_old_version_after_the_note_is_not_delivered_again(play: Callable[..., Play], receiver: Receiver) -> None:
    cluster = PlayedCluster()

    async def scenario() -> None:
        played = play(cluster)
        body = cluster.end("old")
        old = {**body, "metadata": {**body["metadata"], "annotations": {}}}
        played.deliveries.object_changed(TEST, body)
        await played.until(lambda: cluster.marked() == {"old"})
        played.deliveries.object_changed(TEST, old)
        played.deliveries.object_changed(TEST, cluster.end("next"))
        await played.until(lambda: cluster.marked() == {"old", "next"})
        await played.deliveries.stop()

    asyncio.run(scenario())
    assert [found.event["data"]["name"] for found in receiver.received] == ["old", "next"]


def test_without_a_key_nothing_is_posted_until_there_is_one(
    play: Callable[..., Play], receiver: Receiver, tmp_path: Path
) -> None:
    cluster = PlayedCluster()
    key = tmp_path / "webhook/key"

    async def scenario() -> None:
        played = play(cluster)
        content = key.read_bytes()
        key.unlink()
        played.deliveries.object_changed(TEST, cluster.end("unsigned"))
        await played.until(lambda: played.outcomes["unreadable"] == 1)
        assert receiver.received == []
        key.write_bytes(content)
        await played.until(lambda: cluster.marked() == {"unsigned"})
        await played.deliveries.stop()

    asyncio.run(scenario())
