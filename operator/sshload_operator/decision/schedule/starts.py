"""Which start is due, by CronJob's rules for missed starts, with a jitter that is fixed for each scheduled time."""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from sshload_operator.api.schedule.calendars import Calendar
from sshload_operator.api.schedule.spec import ScheduleSpec
from sshload_operator.api.status.schedule import ScheduleStatus
from sshload_operator.decision.schedule.facts import ScheduleIdentity

# Above this number CronJob warns that a clock may be wrong.
MANY_MISSED: Final = 100
_SECOND: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Starts:
    """The starts of one schedule: times later than `earliest`, which was served or is before the schedule existed."""

    calendar: Calendar
    earliest: datetime
    jitter: timedelta
    uid: str

    def begin(self, time: datetime) -> datetime:
        """Return when the test of a scheduled time must begin. The result is the same in every process."""
        jitter_s = self.jitter // _SECOND
        if jitter_s < 1:
            return time
        digest = hashlib.sha256(f"{self.uid}/{time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}".encode()).digest()
        return time + int.from_bytes(digest[:8]) % jitter_s * _SECOND

    def due(self, now: datetime) -> datetime | None:
        """Return the latest scheduled time whose test should have begun by now; None if none is due.

        Only the latest one counts: one test makes up for all missed ones.
        """
        until = now
        while True:
            time = self.calendar.last(self.earliest, until)
            if time is None or self.begin(time) <= now:
                return time
            until = time - _SECOND

    def missed(self, due: datetime, since: datetime) -> int:
        """Return how many scheduled times from `since` to the due one were not served, up to MANY_MISSED + 1."""
        count, time = 0, self.calendar.first(max(self.earliest, since))
        while time is not None and time <= due and count <= MANY_MISSED:
            count, time = count + 1, self.calendar.first(time)
        return count

    def next(self, now: datetime) -> tuple[datetime, datetime] | None:
        """Return the scheduled time whose test begins next, and when it begins; None if there is none."""
        found: tuple[datetime, datetime] | None = None
        time = self.calendar.first(self.calendar.last(self.earliest, now - self.jitter) or self.earliest)
        while time is not None and (found is None or time < found[1]):
            begin = self.begin(time)
            if begin > now and (found is None or begin < found[1]):
                found = time, begin
            time = self.calendar.first(time)
        return found


def starts(schedule: ScheduleIdentity, spec: ScheduleSpec, memory: ScheduleStatus, now: datetime) -> Starts:
    """Return the starts of a schedule: after the last one or else its creation, and after a change of its calendar."""
    earliest = memory.last_schedule_time or schedule.created
    since = calendar_since(spec, memory, now)
    return Starts(spec.calendar, max(earliest, since) if since else earliest, spec.jitter, schedule.uid)


def calendar_since(spec: ScheduleSpec, memory: ScheduleStatus, now: datetime) -> datetime | None:
    """Return when the calendar was last changed, None if it never was. Its times before that do not count.

    CronJob's controller also waits for the next time of a changed calendar, and ignores earlier ones.
    """
    return now if memory.calendar not in ("", spec.calendar_text) else memory.calendar_since


def is_too_late(spec: ScheduleSpec, begin: datetime, now: datetime) -> bool:
    """Return whether the starting deadline of a start has passed, in whole seconds, because passes are never exact."""
    return spec.starting_deadline is not None and begin + spec.starting_deadline < now.replace(microsecond=0)
