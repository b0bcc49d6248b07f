"""Calendars: an instant fires if and only if the wall clock shows a matching time then, on the strangest nights too."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sshload_operator.api.schedule.calendars import CronCalendar, EveryCalendar
from sshload_operator.api.schedule.cron import canonical

# Days around which clocks change: by an hour, by half of one, at midnight, and by a whole day.
NIGHTS = (
    ("Europe/Berlin", "2026-03-29"),
    ("Europe/Berlin", "2026-10-25"),
    ("America/New_York", "2026-11-01"),
    ("Australia/Lord_Howe", "2025-10-05"),
    ("Australia/Lord_Howe", "2025-04-06"),
    ("Asia/Beirut", "2024-03-31"),
    ("Asia/Tehran", "2021-09-22"),
    ("America/Havana", "2024-11-03"),
    ("Africa/Casablanca", "2024-03-10"),
    ("Pacific/Apia", "2011-12-30"),
    ("UTC", "2026-01-01"),
)
TERMS = {"minute": ("*", "0", "30", "*/15", "7,37"), "hour": ("*", "0", "1", "2", "3", "1-3", "*/2", "23")}
DAYS = ("*", "29", "30-31", "*/2")
MINUTE = timedelta(minutes=1)


Wanted = Sequence[AbstractSet[int] | None]


def read(expression: str) -> Wanted:
    """Return the values of an expression's fields, None for any; fields are `*` or lists."""
    return [None if text == "*" else set(map(int, text.split(","))) for text in expression.split()]


def matches(fields: Wanted, wall: datetime) -> bool:
    """Return whether a wall clock's time is one of an expression's."""
    values = (wall.minute, wall.hour, wall.day, wall.month, (wall.weekday() + 1) % 7)
    held = [wanted is None or value in wanted for wanted, value in zip(fields, values, strict=True)]
    either = fields[2] is not None and fields[4] is not None
    return held[0] and held[1] and held[3] and ((held[2] or held[4]) if either else (held[2] and held[4]))


@st.composite
def asked(draw: st.DrawFn) -> tuple[CronCalendar, datetime]:
    """Draw a calendar, and a minute within two days of a night."""
    zone, day = draw(st.sampled_from(NIGHTS))
    minute, hour = (draw(st.sampled_from(TERMS[name])) for name in ("minute", "hour"))
    weekdays = draw(st.sampled_from(("*", "0", "1-5")))
    written = f"{minute} {hour} {draw(st.sampled_from(DAYS))} * {weekdays}"
    after = datetime.fromisoformat(day).replace(tzinfo=UTC) + draw(st.integers(-2 * 1440, 1440)) * MINUTE
    return CronCalendar(canonical(written), ZoneInfo(zone)), after


@pytest.mark.slow
@given(asked())
@settings(max_examples=100)
def test_the_first_and_the_last_instant_are_those_of_the_wall_clock(drawn: tuple[CronCalendar, datetime]) -> None:
    calendar, after = drawn
    minutes = [after + count * MINUTE for count in range(1, 2 * 1440)]
    wanted = read(calendar.expression)
    firing = [time for time in minutes if matches(wanted, time.astimezone(calendar.zone))]
    first = calendar.first(after)
    if firing:
        assert first == firing[0]
    else:
        assert first is None or first > minutes[-1]
    assert calendar.last(after, minutes[-1]) == (firing[-1] if firing else None)


def test_an_instant_itself_is_not_after_itself() -> None:
    calendar, noon = CronCalendar("0 12 * * *", ZoneInfo("UTC")), datetime(2026, 6, 1, 12, tzinfo=UTC)
    assert calendar.first(noon) == noon + timedelta(days=1)
    assert calendar.first(noon - timedelta(milliseconds=1)) == noon
    assert calendar.last(noon, noon) is None
    assert calendar.last(noon - timedelta(milliseconds=1), noon) == noon


def test_29_february_is_found_over_a_century_that_has_none() -> None:
    calendar = CronCalendar("0 0 29 2 *", ZoneInfo("Europe/Berlin"))
    found = calendar.first(datetime(2096, 3, 1, tzinfo=UTC))
    assert found == datetime(2104, 2, 28, 23, tzinfo=UTC)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_a_thousand_steps_forward_lead_back_by_a_thousand(zone: str) -> None:
    calendar = CronCalendar(canonical("*/7 1-4 * * *"), ZoneInfo(zone))
    begin = datetime(2026, 3, 20, tzinfo=UTC)
    times: list[datetime] = []
    after: datetime | None = begin
    for _ in range(1000):
        assert after is not None
        after = calendar.first(after)
        assert after is not None
        times.append(after)
    back, until = [], times[-1]
    while (found := calendar.last(begin, until)) is not None:
        back.append(found)
        until = found - timedelta(seconds=1)
    assert back[::-1] == times


def test_an_interval_is_counted_from_where_it_begins() -> None:
    begin = datetime(2026, 6, 1, 9, 55, 0, 700_000, tzinfo=UTC)
    calendar = EveryCalendar(timedelta(minutes=90))
    assert calendar.first(begin) == datetime(2026, 6, 1, 11, 25, tzinfo=UTC)
    assert calendar.last(begin, begin + timedelta(hours=4)) == datetime(2026, 6, 1, 12, 55, tzinfo=UTC)
    assert calendar.last(begin, begin + timedelta(minutes=89)) is None
    assert calendar.last(begin, begin - timedelta(hours=4)) is None
