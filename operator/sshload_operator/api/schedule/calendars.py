"""Calendars: which instants a schedule names. CronSim finds matching times of day; here they become instants.

An instant is named if the wall clock of the time zone shows a matching time at that instant. So a time that is skipped
when clocks go forward does not fire, and one that occurs twice when they go back fires twice, as CronJob has it.
CronSim itself is asked in wall-clock time without a zone only, because it treats these nights as Debian's cron does.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo

from cronsim import CronSim

_SECOND = timedelta(seconds=1)
_DAY = timedelta(days=1)


class Calendar(Protocol):
    """The instants that a schedule names, in UTC and in whole seconds."""

    def first(self, after: datetime) -> datetime | None:
        """Return the first instant after this one; None if there is none within 50 years."""

    def last(self, after: datetime, until: datetime) -> datetime | None:
        """Return the last instant after the one and not after the other; None if there is none."""


@dataclass(frozen=True, slots=True)
class EveryCalendar:
    """`@every 90m`: an interval after the time before, which for the first is the creation of the schedule."""

    interval: timedelta

    def first(self, after: datetime) -> datetime | None:
        """Return the instant one interval later."""
        return after.replace(microsecond=0) + self.interval

    def last(self, after: datetime, until: datetime) -> datetime | None:
        """Return the last whole number of intervals later."""
        begin = after.replace(microsecond=0)
        count = (until - begin) // self.interval
        return begin + count * self.interval if count > 0 else None


@dataclass(frozen=True, slots=True)
class CronCalendar:
    """A canonical cron expression in a time zone."""

    expression: str
    zone: ZoneInfo

    def first(self, after: datetime) -> datetime | None:
        """Return the first instant after this one."""
        since = after.astimezone(UTC).replace(microsecond=0)  # the last second that is over
        while True:
            offset = self._offset(since + _SECOND)
            wall = next(CronSim(self.expression, _wall(since, offset)), None)
            found = _instant(wall, offset) if wall is not None else None
            # What was found holds only if the clocks keep their offset until then.
            change = self._first_change(since + _SECOND, found or since + 366 * _DAY)
            if change is None:
                return found
            since = change - _SECOND

    def last(self, after: datetime, until: datetime) -> datetime | None:
        """Return the last instant in between."""
        latest = until.astimezone(UTC).replace(microsecond=0)
        while latest > after:
            offset = self._offset(latest)
            walls = CronSim(self.expression, _wall(latest + _SECOND, offset), reverse=True)
            wall = next(walls, None)
            found = _instant(wall, offset) if wall is not None else None
            change = self._last_change(max(found or after, after), latest)
            if change is None:
                return found if found is not None and found > after else None
            latest = change - _SECOND
        return None

    def _first_change(self, begin: datetime, end: datetime) -> datetime | None:
        """Return the first instant after `begin`, and not after `end`, at which the clocks are changed."""
        return next((self._change(low, high) for low, high in _days(begin, end) if self._differ(low, high)), None)

    def _last_change(self, begin: datetime, end: datetime) -> datetime | None:
        """Return the last such instant."""
        days = list(_days(begin, end))
        return next((self._change(low, high) for low, high in reversed(days) if self._differ(low, high)), None)

    def _differ(self, one: datetime, other: datetime) -> bool:
        return self._offset(one) != self._offset(other)

    def _change(self, low: datetime, high: datetime) -> datetime:
        """Return the first instant after `low` that has the offset of `high`; a day has one change at most."""
        wanted = self._offset(high)
        while high - low > _SECOND:
            middle = low + timedelta(seconds=(high - low) // _SECOND // 2)
            low, high = (low, middle) if self._offset(middle) == wanted else (middle, high)
        return high

    def _offset(self, instant: datetime) -> timedelta:
        return instant.astimezone(self.zone).utcoffset() or timedelta()


def _wall(instant: datetime, offset: timedelta) -> datetime:
    """Return what clocks with this offset show, without a zone."""
    return (instant + offset).replace(tzinfo=None)


def _instant(wall: datetime, offset: timedelta) -> datetime:
    return wall.replace(tzinfo=UTC) - offset


def _days(begin: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Yield the span in pieces of a day at most: as long as clocks keep what they show, at the least."""
    while begin < end:
        following = min(begin + _DAY, end)
        yield begin, following
        begin = following
