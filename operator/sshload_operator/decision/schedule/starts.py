"""Which start is due: by CronJob's rules of missed starts, with a jitter that each scheduled time has for good."""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from sshload_operator.api.schedule.calendars import Calendar
from sshload_operator.api.schedule.spec import ScheduleSpec
from sshload_operator.api.status.schedule import ScheduleStatus
from sshload_operator.decision.schedule.facts import ScheduleIdentity

# Above so many CronJob warns of a clock that is wrong.
MANY_MISSED: Final = 100
_SECOND: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Starts:
    """The starts of one schedule: times later than `earliest`, which was served or came before the schedule did."""

    calendar: Calendar
    earliest: datetime
    jitter: timedelta
    uid: str

    def begin(self, time: datetime) -> datetime:
        """Return when the test of a scheduled time is to begin: always the same, whoever computes it and when."""
        jitter_s = self.jitter // _SECOND
        if jitter_s < 1:
            return time
        digest = hashlib.sha256(f"{self.uid}/{time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}".encode()).digest()
        return time + int.from_bytes(digest[:8]) % jitter_s * _SECOND

    def due(self, now: datetime) -> datetime | None:
        """Return the latest scheduled time whose test is to have begun by now; None if none is due.

        Only the latest one counts: however many were missed, one test makes up for all.
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
        """Return the scheduled time whose test begins next, and when that is; None if there is none any more."""
        found: tuple[datetime, datetime] | None = None
        time = self.calendar.first(self.calendar.last(self.earliest, now - self.jitter) or self.earliest)
        while time is not None and (found is None or time < found[1]):
            begin = self.begin(time)
            if begin > now and (found is None or begin < found[1]):
                found = time, begin
            time = self.calendar.first(time)
        return found


def starts(schedule: ScheduleIdentity, spec: ScheduleSpec, memory: ScheduleStatus, now: datetime) -> Starts:
    """Return the starts of a schedule: after the last one, else after its creation, and after its calendar's change."""
    earliest = memory.last_schedule_time or schedule.created
    since = calendar_since(spec, memory, now)
    return Starts(spec.calendar, max(earliest, since) if since else earliest, spec.jitter, schedule.uid)


def calendar_since(spec: ScheduleSpec, memory: ScheduleStatus, now: datetime) -> datetime | None:
    """Return the last change of the calendar, None if there was none. What it says of earlier times means nothing.

    CronJob's controller, too, waits for the next time of a calendar that was changed, and does not look back.
    """
    return now if memory.calendar not in ("", spec.calendar_text) else memory.calendar_since


def is_too_late(spec: ScheduleSpec, begin: datetime, now: datetime) -> bool:
    """Return whether the starting deadline of a start has passed, in whole seconds: nobody wakes at the instant."""
    return spec.starting_deadline is not None and begin + spec.starting_deadline < now.replace(microsecond=0)
