"""The spec of an SSHLoadTestSchedule: as it is written (`WrittenSchedule`), and as values (`ScheduleSpec`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum, unique
from typing import Annotated, Any, Final
from zoneinfo import ZoneInfo

from sshload_contract.declared import Absent, Check, Default, Duration, Entries, FreeForm, Text, Whole
from sshload_contract.quantities import duration_s

from sshload_operator.api.load_test import parse
from sshload_operator.api.schedule.calendars import Calendar, CronCalendar, EveryCalendar
from sshload_operator.api.schedule.cron import EVERY, SCHEDULE_RULES, canonical
from sshload_operator.api.shapes.errors import Problem, SpecError, collect, shown
from sshload_operator.api.shapes.reading import read
from sshload_operator.api.spec import LoadTestSpec

_TESTS: Final = "spec.testTemplate.spec"
_MOST_DEADLINE_S: Final = 31_536_000
_MOST_KEPT: Final = 100
_KEPT: Final = Whole(0, _MOST_KEPT)


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


def _problem_of_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        return f"{shown(name)} is not a time zone of the IANA database"
    return ""


@dataclass(frozen=True, slots=True)
class _WrittenMetadata:
    """Metadata of the tests, beside the label sshload.dev/schedule and the annotation of the scheduled time."""

    labels: Annotated[
        Mapping[str, Annotated[str, Text(longest=63), "The value of a label."]],
        Entries(32),
        Absent({}),
        "Labels of the tests.",
    ]
    annotations: Annotated[
        Mapping[str, Annotated[str, Text(longest=4096), "The value of an annotation."]],
        Entries(32),
        Absent({}),
        "Annotations of the tests.",
    ]


@dataclass(frozen=True, slots=True)
class _WrittenTemplate:
    """The tests that are made."""

    metadata: Annotated[_WrittenMetadata, Default({})]
    spec: Annotated[Mapping[str, Any], FreeForm()]  # the CRD has the schema of a test's spec here


@dataclass(frozen=True, slots=True)
class WrittenSchedule:
    """When tests are started, and which."""

    schedule: Annotated[
        str,
        Text(shortest=1, longest=128),
        *SCHEDULE_RULES,
        "A cron expression as in a CronJob: minute, hour, day of the month, month, day of the week (0 is Sunday), each"
        " a number, a range, a list, a step or a star; months and days of the week also by their first three letters."
        " Or @hourly, @daily, @weekly, @monthly, @yearly, or @every with a duration of at least a minute. If both days"
        " of the month and days of the week are restricted, either is enough. A day that comes in none of the months,"
        " such as 31 in 4-6/2, is told by sshload validate and the condition Valid.",
    ]
    time_zone: Annotated[
        str,
        Text(
            shortest=1,
            longest=64,
            pattern=r"[A-Za-z._0-9+][A-Za-z._0-9+-]{0,30}(/[A-Za-z._0-9+][A-Za-z._0-9+-]{0,30})*",
            wanted="a time zone such as Europe/Berlin",
        ),
        Check(_problem_of_zone),
        Default("UTC"),
        "The time zone of the schedule by its name in the IANA database, such as Europe/Berlin. A time that is"
        " skipped when clocks go forward does not fire; one that occurs twice when they go back fires twice. A name"
        " that the database does not have is told by sshload validate and the condition Valid.",
    ]
    starting_deadline_seconds: Annotated[
        int | None,
        Whole(0, _MOST_DEADLINE_S),
        "How late a test may start if it could not start at its scheduled time, because the operator was down, the"
        " schedule was suspended, or an earlier test was under way. Without it a start is never too late. One test"
        " makes up for all missed starts.",
    ]
    concurrency_policy: Annotated[
        ConcurrencyPolicy,
        Default("Forbid"),
        "What happens at a scheduled time while an earlier test of the schedule is not finished. Forbid: the new test"
        " waits until the earlier one is finished, within the starting deadline. Allow: both run, and share the"
        " server. Replace: the earlier test is deleted.",
    ]
    suspend: Annotated[bool, Default(False), "Whether to stop starting tests. A test that is under way goes on."]
    successful_tests_history_limit: Annotated[
        int,
        _KEPT,
        Default(3),
        "How many tests that passed are kept. They also make up the trend. The baseline of the next test"
        " (baseline.lastPassed) is kept in any case.",
    ]
    failed_tests_history_limit: Annotated[
        int,
        _KEPT,
        Default(1),
        "How many finished tests of any other verdict are kept. The baseline of the next test (baseline.lastPassed)"
        " is kept in any case.",
    ]
    jitter_s: Annotated[
        float,
        Duration("0s", "1h", whole_seconds=True),
        Default("0s"),
        "Delay each start by a number of seconds below this one. The delay is computed from the schedule's uid and"
        " the scheduled time, so that schedules with the same times do not start together.",
    ]
    test_template: _WrittenTemplate


def parse_schedule(body_spec: Mapping[str, Any]) -> ScheduleSpec:
    """Return the values of `body_spec`, which is what stands under `spec`; raises SpecError with all that is wrong.

    It accepts what the CRD accepts, but for time zones, which the CRD knows by their form only.
    """
    problems: list[Problem] = []
    written = collect(lambda: read(WrittenSchedule, body_spec, "spec"), problems)
    tests = None if any(path.startswith(_TESTS) for path, _ in problems) else _tests_of(body_spec)
    parsed = None if tests is None else collect(lambda: parse(tests, _TESTS), problems)
    if written is None or parsed is None:
        raise SpecError.of(problems)
    return _values(written, parsed)


def _tests_of(body_spec: Any) -> Mapping[str, Any] | None:
    """Return the spec of the tests, None if it is not an object."""
    template = body_spec.get("testTemplate") if isinstance(body_spec, Mapping) else None
    tests = template.get("spec") if isinstance(template, Mapping) else None
    return tests if isinstance(tests, Mapping) else None


def _values(written: WrittenSchedule, parsed: LoadTestSpec) -> ScheduleSpec:
    zone, deadline_s = ZoneInfo(written.time_zone), written.starting_deadline_seconds
    template = written.test_template
    return ScheduleSpec(
        schedule=written.schedule,
        zone=zone,
        calendar=_calendar(written.schedule, zone),
        starting_deadline=None if deadline_s is None else timedelta(seconds=deadline_s),
        concurrency=written.concurrency_policy,
        suspend=written.suspend,
        passed_limit=written.successful_tests_history_limit,
        failed_limit=written.failed_tests_history_limit,
        jitter=timedelta(seconds=written.jitter_s),
        template=TestTemplate(template.metadata.labels, template.metadata.annotations, template.spec, parsed),
    )


def _calendar(schedule: str, zone: ZoneInfo) -> Calendar:
    every = EVERY.fullmatch(schedule)
    if every is not None:
        return EveryCalendar(timedelta(seconds=duration_s(every[1], whole_seconds=True)))
    return CronCalendar(canonical(schedule), zone)
