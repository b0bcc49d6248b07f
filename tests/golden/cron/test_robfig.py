"""Our calendars against robfig/cron, the library of the CronJob controller: what it takes, and when it fires.

`answers.json` is what the library itself said (see questions.py). In five zones it goes astray where clocks change by
half an hour or at midnight, or skip a day: it fires late, leaves out a whole day, or never returns. There the wall
clock is our measure, in tests/unit/operator/schedule.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sshload_operator.api.schedule.calendars import CronCalendar
from sshload_operator.api.schedule.cron import canonical

ANSWERS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "answers.json").read_text(encoding="utf-8"))
ASTRAY = {"Australia/Lord_Howe", "Asia/Beirut", "Asia/Tehran", "America/St_Johns", "Pacific/Apia"}
ZONES = sorted({answer["zone"] for answer in ANSWERS})


def calendar(answer: dict[str, Any]) -> CronCalendar:
    return CronCalendar(canonical(answer["schedule"]), ZoneInfo(answer["zone"]))


def is_refused(schedule: str) -> bool:
    try:
        canonical(schedule)
    except ValueError:
        return True
    return False


def our_times(answer: dict[str, Any]) -> list[datetime | None]:
    """Return as many times as the library gave."""
    times: list[datetime | None] = []
    after: datetime | None = datetime.fromisoformat(answer["after"])
    for _ in answer["next"]:
        after = calendar(answer).first(after) if after is not None else None
        times.append(after)
    return times


def never_fires(answer: dict[str, Any]) -> bool:
    return not answer["refused"] and not answer["hangs"] and not answer["next"]


def test_there_are_answers_of_every_sort() -> None:
    assert len(ANSWERS) > 400
    assert any(answer["refused"] for answer in ANSWERS)
    assert any(never_fires(answer) for answer in ANSWERS)


def test_the_same_schedules_are_taken_but_for_those_that_never_fire() -> None:
    refused = {answer["schedule"] for answer in ANSWERS if answer["refused"] or never_fires(answer)}
    assert {answer["schedule"] for answer in ANSWERS if is_refused(answer["schedule"])} == refused


@pytest.mark.parametrize("zone", [zone for zone in ZONES if zone not in ASTRAY])
def test_the_same_times_fire(zone: str) -> None:
    asked = [answer for answer in ANSWERS if answer["zone"] == zone and answer["next"]]
    assert asked
    for answer in asked:
        theirs = [datetime.fromisoformat(time).astimezone(UTC) for time in answer["next"]]
        assert our_times(answer) == theirs, answer


@pytest.mark.parametrize("zone", ZONES)
def test_looking_back_finds_what_looking_forward_found(zone: str) -> None:
    for answer in ANSWERS:
        if answer["zone"] != zone or not answer["next"]:
            continue
        found = calendar(answer)
        before = datetime.fromisoformat(answer["after"])
        for time in our_times(answer):
            assert time is not None
            assert found.last(before, time) == time
            assert found.last(before, time + timedelta(milliseconds=500)) == time
            assert found.last(before, time - timedelta(seconds=1)) is None
            before = time
