"""Jitter: later than scheduled, by less than asked for, and by the same whoever computes it."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from schedules import at, quick
from sshload_operator.api.schedule.calendars import EveryCalendar
from sshload_operator.decision.schedule.starts import Starts

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
