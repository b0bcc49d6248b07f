"""Jitter: later than scheduled, by less than asked for, and by the same whoever computes it."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from schedules import at, quick
from sshload_operator.api.schedule.calendars import EveryCalendar
from sshload_operator.decision.schedule.starts import MANY_MISSED, Starts

UIDS = st.uuids().map(str)
TIMES = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)).map(  # noqa: DTZ001 - hypothesis wants bounds without a zone
    lambda time: time.replace(microsecond=0)
)


def starts(uid: str, jitter_s: int) -> Starts:
    return Starts(EveryCalendar(timedelta(hours=1)), at("09:00"), timedelta(seconds=jitter_s), uid)


@given(UIDS, TIMES, st.integers(0, 3600))
def test_a_test_begins_at_its_time_or_less_than_the_jitter_later(uid: str, time: datetime, jitter_s: int) -> None:
    begin = starts(uid, jitter_s).begin(time)
    assert time <= begin < time + timedelta(seconds=max(1, jitter_s))
    assert begin == starts(uid, jitter_s).begin(time)


def test_it_is_the_same_in_every_version_to_come() -> None:
    assert starts("11111111-2222-3333-4444-555555555555", 3600).begin(at("10:00")) == at("10:28:54")


def test_schedules_with_the_same_times_begin_at_different_ones() -> None:
    begins = {starts(f"uid-{number}", 600).begin(at("10:00")) for number in range(100)}
    assert len(begins) > 80
    spread = [(begin - at("10:00")).total_seconds() for begin in begins]
    assert min(spread) < 60
    assert max(spread) > 540


def test_times_of_one_schedule_begin_at_different_ones() -> None:
    found = starts("uid", 600)
    assert len({(found.begin(at(f"{hour:02}:00")) - at(f"{hour:02}:00")) for hour in range(24)}) > 20


def test_the_test_is_made_when_it_is_to_begin_and_called_by_the_scheduled_time() -> None:
    found = quick("09:55", jitter="30m")
    assert found.run_pass().last is not None
    begin = found.now + timedelta(seconds=found.last.requeue_after_s or 0) if found.last else found.now
    assert at("10:00") < begin < at("10:30")
    found.now = begin - timedelta(seconds=1)
    assert found.run_pass().starts == []
    found.now = begin
    assert found.run_pass().starts == ["01T10:00"]
    assert found.status["lastScheduleTime"] == "2026-06-01T10:00:00Z"


def test_a_start_is_missed_only_after_its_own_begin() -> None:
    begin = starts("11111111-2222-3333-4444-555555555555", 3600).begin(at("10:00"))
    found = quick("09:55", jitter="1h", startingDeadlineSeconds=60)
    found.now = begin + timedelta(seconds=60)
    assert found.run_pass().starts == ["01T10:00"]


def test_a_jitter_longer_than_the_interval_leaves_starts_out_and_makes_none_twice() -> None:
    found = quick("09:55", schedule="*/5 * * * *", jitter="20m", concurrencyPolicy="Allow")
    found.go_to("14:00")
    assert found.starts == sorted(set(found.starts))
    assert 5 < len(found.starts) < 49


@dataclass
class Listed:
    """A calendar of these instants, which counts how often it is asked."""

    times: list[datetime]
    asked: int = 0

    def first(self, after: datetime) -> datetime | None:
        """Return the first instant after this one."""
        self.asked += 1
        return next((time for time in self.times if time > after), None)

    def last(self, after: datetime, until: datetime) -> datetime | None:
        """Return the last instant in between."""
        self.asked += 1
        return next((time for time in reversed(self.times) if after < time <= until), None)


MINUTES = [at("10:00") + timedelta(minutes=count) for count in range(30)]


@pytest.mark.parametrize("uid", [f"uid {number}" for number in range(20)])
@pytest.mark.parametrize("jitter_s", [0, 5, 300])
def test_the_test_that_begins_next_is_that_of_the_earliest_begin_and_of_two_that_begin_together_the_first(
    uid: str, jitter_s: int
) -> None:
    found = Starts(Listed(MINUTES), at("09:59"), timedelta(seconds=jitter_s), uid)
    for minutes in (-10, 0, 3, 12, 40):
        now = at("10:00") + timedelta(minutes=minutes)
        to_come = [(found.begin(time), time) for time in MINUTES if found.begin(time) > now]
        begin_and_time = min(to_come, default=None)
        assert found.next(now) == (None if begin_and_time is None else begin_and_time[::-1])


def test_a_test_that_begins_now_is_due_and_not_the_next() -> None:
    found = Starts(Listed(MINUTES), at("09:59"), timedelta(0), "uid")
    assert found.due(at("10:05")) == at("10:05")
    assert found.next(at("10:05")) == (at("10:06"), at("10:06"))


def test_the_next_start_costs_as_little_after_a_year_without_a_start_as_after_a_minute() -> None:
    calendar = Listed([at("10:00") - timedelta(hours=hours) for hours in range(2_000, -2, -1)])
    found = Starts(calendar, at("10:00") - timedelta(days=365), timedelta(0), "uid")
    assert found.next(at("10:30")) == (at("11:00"), at("11:00"))
    assert calendar.asked < 10


def test_missed_starts_are_counted_up_to_one_more_than_many() -> None:
    found = Starts(Listed(MINUTES), at("09:59"), timedelta(0), "uid")
    assert found.missed(MINUTES[-1], at("09:00")) == 30
    assert found.missed(MINUTES[-2], at("09:00")) == 29
    assert found.missed(MINUTES[-1], at("10:10")) == 19
    many = [at("10:00") + timedelta(minutes=count) for count in range(3 * MANY_MISSED)]
    calendar = Listed(many)
    assert Starts(calendar, at("09:59"), timedelta(0), "uid").missed(many[-1], at("09:00")) == MANY_MISSED + 1
    assert calendar.asked <= MANY_MISSED + 2
