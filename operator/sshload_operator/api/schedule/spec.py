"""A schedule, as parsed from the spec of an SSHLoadTestSchedule."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum, unique
from typing import Any
from zoneinfo import ZoneInfo

from sshload_operator.api.schedule.calendars import Calendar
from sshload_operator.api.spec import LoadTestSpec


@unique
class ConcurrencyPolicy(StrEnum):
    """What is done at a scheduled time while an earlier test is under way."""

    FORBID = "Forbid"
    ALLOW = "Allow"
    REPLACE = "Replace"


@dataclass(frozen=True, slots=True)
class TestTemplate:
    """The tests that are made. `spec` is as it was written: the API server reads it again, as that of a test.

    `parsed` is what it means.
    """

    __test__ = False  # not a pytest class

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Mapping[str, Any]
    parsed: LoadTestSpec


@dataclass(frozen=True, slots=True)
class ScheduleSpec:
    """When tests are made, which, and how many are kept. No starting deadline: a start is never too late."""

    schedule: str
    zone: ZoneInfo
    calendar: Calendar
    starting_deadline: timedelta | None
    concurrency: ConcurrencyPolicy
    suspend: bool
    passed_limit: int
    failed_limit: int
    jitter: timedelta
    template: TestTemplate

    @property
    def calendar_text(self) -> str:
        """What the calendar follows from: where it changes, times before the change mean nothing any more."""
        return f"{self.schedule} {self.zone.key}"
