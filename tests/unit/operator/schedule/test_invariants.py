"""What holds whatever happens in whatever order: time that passes, kills, edits, ends of tests, clocks that are set."""

from datetime import timedelta

import pytest
from crd_schema import status_problems
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import EPOCH, SimSchedule, at, schedule

POLICIES = ("Forbid", "Allow", "Replace")
SCHEDULES = ("* * * * *", "*/15 * * * *", "0 * * * *", "30 1-3 * * *", "@every 7m")
VERDICTS = ("Passed", "Failed", "Invalid")

DEEDS = st.one_of(
    st.tuples(st.just("go"), st.integers(1, 200)),
    st.tuples(st.just("away"), st.integers(-120, 300)),
    st.tuples(st.just("kill"), st.integers(1, 60)),
    st.tuples(st.just("end"), st.sampled_from(VERDICTS)),
    st.tuples(st.just("policy"), st.sampled_from(POLICIES)),
    st.tuples(st.just("schedule"), st.sampled_from(SCHEDULES)),
    st.tuples(st.just("suspend"), st.booleans()),
    st.tuples(st.just("deadline"), st.sampled_from((None, 0, 60, 3600))),
    st.tuples(st.just("jitter"), st.sampled_from(("0s", "30s", "10m"))),
)


def do(found: SimSchedule, deed: str, value: object) -> None:
    match deed, value:
        case "go", int(minutes):
            found.go_to((found.now + timedelta(minutes=minutes)).isoformat())
        case "away", int(minutes):
            found.away_until((found.now + timedelta(minutes=minutes)).isoformat()).run_pass()
        case "kill", int(minutes):
            found.away_until((found.now + timedelta(minutes=minutes)).isoformat()).run_pass(killed_after_create=True)
        case "end", str(verdict):
            for name in [name for name, test in found.tests.items() if not test["status"]][:1]:
                found.finish(name, verdict)
        case "policy", policy:
            found.change(concurrencyPolicy=policy)
        case "deadline", deadline:
            found.change(startingDeadlineSeconds=deadline)
        case name, setting:
            found.change(**{name: setting})


def assert_holds(found: SimSchedule) -> None:
    """Hold what must be true after each pass. That no test is made twice, the world itself asserts."""
    assert status_problems(found.status, "sshloadtestschedules") == ()
    assert found.last is not None
    if found.last.status is None and found.last.create is None:
        assert found.last.requeue_after_s is None or found.last.requeue_after_s > 0
    finished = [test["status"]["verdict"] == "Passed" for test in found.tests.values() if test["status"]]
    assert sum(finished) <= 3
    assert len(finished) - sum(finished) <= 1
    assert found.active == sorted(name for name, test in found.tests.items() if not test["status"])


@pytest.mark.slow
@given(st.sampled_from(SCHEDULES), st.sampled_from(POLICIES), st.lists(DEEDS, max_size=10))
@settings(max_examples=60)
def test_whatever_happens_tests_are_made_once_and_in_order(
    written: str, policy: str, deeds: list[tuple[str, object]]
) -> None:
    found = schedule("09:55:30", schedule=written, concurrencyPolicy=policy).run_pass()
    for deed, value in deeds:
        do(found, deed, value)
        found.run_pass()
        assert_holds(found)
        if found.spec["concurrencyPolicy"] == "Replace" and found.last and found.last.create:
            assert len(found.active) <= 1
    times = [int(name.rpartition("-")[2]) for name in found.made]
    assert times == sorted(set(times))
    assert all(EPOCH + timedelta(minutes=minutes) >= at("09:55") for minutes in times)


@pytest.mark.slow
@given(st.sampled_from(SCHEDULES), st.lists(st.integers(1, 90), min_size=1, max_size=10))
@settings(max_examples=25)
def test_with_forbid_there_is_never_more_than_one_under_way(written: str, minutes: list[int]) -> None:
    found = schedule("09:55:30", schedule=written)
    found.duration = timedelta(minutes=20)
    for wait in minutes:
        found.go_to((found.now + timedelta(minutes=wait)).isoformat())
        assert len(found.active) <= 1
