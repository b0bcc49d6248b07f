"""The specs of an SSHLoadTestSchedule and of an SSHLoadTestComparison, as they are parsed.

Input: `schedule` or `comparison` and a line end, then the spec's JSON.
Oracle: only SpecError is raised. The first time of a schedule that was read is also the last one up to itself.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from api_server_json import RefusedError, handed_on
from fuzz_texts import assert_plain_text
from json_mutation import mutate_json
from schedules import schedule_spec
from specs import comparisons
from sshload_operator.api.comparison.spec import parse_comparison
from sshload_operator.api.schedule.spec import parse_schedule
from sshload_operator.api.shapes.errors import SpecError

_NOW = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
_CALENDARS = ("*/5 * * * *", "@daily", "@every 90m", "0 4 29 2 MON", "0 0 31 2 *", "1-5/2,7 0-23 ? jan-mar sun")


def seeds() -> Iterator[bytes]:
    """Yield schedules with calendars of each kind, and every good comparison that the unit tests know."""
    for calendar in _CALENDARS:
        yield _input("schedule", schedule_spec(schedule=calendar, timeZone="Europe/Berlin"))
    for spec in comparisons.GOOD.values():
        yield _input("comparison", spec)


def _input(kind: str, spec: Any) -> bytes:
    return f"{kind}\n{json.dumps(spec)}".encode()


def mutate(data: bytes, seed: int) -> bytes:
    """Change the spec as JSON."""
    kind, end, said = data.partition(b"\n")
    return kind + end + mutate_json(said, seed)


def check(data: bytes) -> None:
    """Parse the spec."""
    kind, _, said = data.partition(b"\n")
    try:
        spec = handed_on(said)
        if kind == b"comparison":
            parse_comparison(spec)
        else:
            _assert_times(spec)
    except RefusedError:
        return
    except SpecError as error:
        assert_plain_text(str(error))


def _assert_times(spec: Any) -> None:
    calendar = parse_schedule(spec).calendar
    first = calendar.first(_NOW)
    if first is not None:
        assert first > _NOW
        assert calendar.last(_NOW, first) == first
