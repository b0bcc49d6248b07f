"""The spec of an SSHLoadTestSchedule, as it is written, to a ScheduleSpec: strictly, with the CRD's defaults.

It accepts what the CRD accepts, but for time zones, which the CRD knows by their form only.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse import parse
from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.readers import choice, duration, entries, flag, integer, mapping, shown, text
from sshload_operator.api.quantities import duration_s
from sshload_operator.api.schedule.calendars import Calendar, CronCalendar, EveryCalendar
from sshload_operator.api.schedule.cron import canonical
from sshload_operator.api.schedule.spec import ConcurrencyPolicy, ScheduleSpec, TestTemplate

# The child's name is the schedule's, a hyphen, and the minutes since 1970: eight digits until the year 2160.
_NAME_CHARACTERS: Final = 31
_NAME: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_EVERY: Final = re.compile(r"@every ((?:[0-9]{1,6}[smh])+)")
_LEAST_INTERVAL_S: Final = 60.0
_MOST_INTERVAL_S: Final = 87_600 * 3600.0
_MOST_DEADLINE_S: Final = 31_536_000
_MOST_KEPT: Final = 100
_ZONE: Final = r"[A-Za-z._0-9+][A-Za-z._0-9+-]{0,30}(/[A-Za-z._0-9+][A-Za-z._0-9+-]{0,30})*"


def parse_schedule(body_spec: Mapping[str, Any]) -> ScheduleSpec:
    """Return the values of `body_spec`, which is what stands under `spec`; raises SpecError naming the field."""
    fields = Fields(body_spec, "spec")
    schedule = fields.required("schedule", text(shortest=1, longest=128))
    zone = fields.defaulted("timeZone", _zone, "UTC")
    deadline_s = fields.optional("startingDeadlineSeconds", integer(0, _MOST_DEADLINE_S))
    spec = ScheduleSpec(
        schedule=schedule,
        zone=zone,
        calendar=_calendar(schedule, zone),
        starting_deadline=None if deadline_s is None else timedelta(seconds=deadline_s),
        concurrency=ConcurrencyPolicy(
            fields.defaulted("concurrencyPolicy", choice(*map(str, ConcurrencyPolicy)), str(ConcurrencyPolicy.FORBID))
        ),
        suspend=fields.defaulted("suspend", flag, default=False),
        passed_limit=fields.defaulted("successfulTestsHistoryLimit", integer(0, _MOST_KEPT), 3),
        failed_limit=fields.defaulted("failedTestsHistoryLimit", integer(0, _MOST_KEPT), 1),
        jitter=timedelta(seconds=fields.defaulted("jitter", duration("0s", "1h", whole_seconds=True), "0s")),
        template=fields.required("testTemplate", _template),
    )
    fields.end()
    return spec


def check_schedule_name(name: str) -> None:
    """Raise SpecError for a schedule's name that the CRD refuses, because the names of its tests are made from it."""
    if len(name) > _NAME_CHARACTERS or _NAME.fullmatch(name) is None:
        raise SpecError(
            "metadata.name",
            f"is {name!r}, but must be at most {_NAME_CHARACTERS} lower-case letters, digits and hyphens, beginning"
            " with a letter and ending with a letter or digit",
        )


def _calendar(schedule: str, zone: ZoneInfo) -> Calendar:
    every = _EVERY.fullmatch(schedule)
    if every is not None:
        interval_s = duration_s(every[1], whole_seconds=True)
        if not _LEAST_INTERVAL_S <= interval_s <= _MOST_INTERVAL_S:
            raise SpecError(
                "spec.schedule", f"{shown(schedule)} must be every minute at the most, every ten years at least"
            )
        return EveryCalendar(timedelta(seconds=interval_s))
    try:
        return CronCalendar(canonical(schedule), zone)
    except ValueError as error:
        raise SpecError("spec.schedule", f"{shown(schedule)} {error}") from error


def _zone(value: Any, path: str) -> ZoneInfo:
    name = text(shortest=1, longest=64, pattern=_ZONE, wanted="a time zone such as Europe/Berlin")(value, path)
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError) as error:
        raise SpecError(path, f"{shown(name)} is no time zone of the IANA's database") from error


def _template(value: Any, path: str) -> TestTemplate:
    fields = Fields(value, path)
    labels, annotations = fields.defaulted("metadata", _metadata, {})
    spec = fields.required("spec", mapping)
    fields.end()
    try:
        parsed = parse(spec)
    except SpecError as error:
        raise SpecError(f"{path}.{error.path}" if error.path else path, error.problem) from error
    return TestTemplate(labels, annotations, spec, parsed)


def _metadata(value: Any, path: str) -> tuple[dict[str, str], dict[str, str]]:
    fields = Fields(value, path)
    labels = fields.defaulted("labels", entries(text(longest=63), most=32), {})
    annotations = fields.defaulted("annotations", entries(text(longest=4096), most=32), {})
    fields.end()
    return labels, annotations
