"""Which tests of a schedule are kept, and what its status says of those that are there."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from baselines import LAST_PASSED, asked
from schedules import at, quick, schedule_spec
from sshload_contract.vocabulary import Verdict
from sshload_operator.api.schedule.spec import ScheduleSpec, parse_schedule
from sshload_operator.api.status.head import remembered
from sshload_operator.api.status.schedule import MOST_POINTS, ScheduleStatus
from sshload_operator.decision.schedule.facts import Figures, ScheduledTest
from sshload_operator.decision.schedule.status import (
    ScheduleTimes,
    in_order,
    last_completed,
    last_passed_time,
    status,
    surplus,
    trend,
)
from sshload_operator.planning.differs import comparable_hash

NOTHING = Figures(None, None, None, None)
AGAINST_LAST = {"testTemplate": {"spec": asked(baseline=LAST_PASSED)}}
NONE_KEPT = {"successfulTestsHistoryLimit": 0, "failedTestsHistoryLimit": 0}


def of(**fields: Any) -> ScheduleSpec:
    return parse_schedule(schedule_spec(**fields))


MEASURED = comparable_hash(of(**AGAINST_LAST).template.parsed)


def a_test(name: str, hour: int, verdict: Verdict | None = Verdict.PASSED, **changes: Any) -> ScheduledTest:
    """Return a test of that hour, which took a minute if it has a verdict."""
    time = at(f"{hour:02}:00")
    found = ScheduledTest(
        name=name,
        uid=f"uid of {name}",
        time=time,
        deleting=False,
        finished=verdict is not None,
        verdict=verdict,
        completion_time=None if verdict is None else time + timedelta(minutes=1),
        figures=NOTHING,
        measured=MEASURED,
    )
    return replace(found, **changes)


def names(tests: Any) -> list[str]:
    return [test.name for test in tests]


def test_a_test_that_is_deleted_already_is_neither_counted_nor_deleted_again() -> None:
    tests = [a_test("a", 1, deleting=True), a_test("b", 2), a_test("c", 3)]
    assert names(surplus(of(successfulTestsHistoryLimit=1), tests)) == ["b"]
    assert names(surplus(of(successfulTestsHistoryLimit=2), tests)) == []


def test_the_oldest_by_their_scheduled_time_go_first_whatever_their_names() -> None:
    tests = [a_test("a", 3), a_test("c", 1), a_test("b", 2)]
    assert names(surplus(of(successfulTestsHistoryLimit=1), tests)) == ["c", "b"]
    assert names(in_order([a_test("b", 1), a_test("a", 1), a_test("z", 0)])) == ["z", "a", "b"]


def kept(*tests: ScheduledTest, **fields: Any) -> list[str]:
    """Return the tests that are kept only as baselines."""
    spec = of(**{**AGAINST_LAST, **NONE_KEPT, **fields})
    gone = surplus(spec, tests)
    return [test.name for test in tests if test not in gone]


def test_the_oldest_and_the_last_that_passed_are_kept_of_those_that_measured_the_same() -> None:
    others = (
        a_test("of something else", 0, measured="another"),
        a_test("not comparable", 9, measured=None),
        a_test("lagged", 0, delay_ms=50.0),
    )
    tests = (a_test("first", 1), a_test("second", 2), a_test("last", 3))
    assert kept(*others, *tests) == ["first", "last"]
    failed = a_test("failed", 5, Verdict.FAILED)
    assert kept(*others, *tests, failed) == ["first", "last"]


def test_of_tests_of_which_none_passed_the_oldest_and_the_newest_are_kept() -> None:
    tests = tuple(a_test(name, hour, Verdict.INCONCLUSIVE) for name, hour in (("a", 1), ("b", 2), ("c", 3)))
    assert kept(*tests) == ["a", "c"]
    assert kept(tests[0]) == ["a"]


def test_tests_are_old_or_new_by_when_they_were_over_and_then_by_name() -> None:
    late = a_test("late", 1, completion_time=at("09:00"))
    assert kept(a_test("a", 2), late, a_test("b", 3)) == ["a", "late"]
    together = [a_test(name, 1, completion_time=at("09:00")) for name in ("b", "c", "a")]
    assert kept(*together) == ["c", "a"]


def test_only_tests_on_pods_with_the_resources_of_the_newest_are_kept_and_those_that_do_not_say_theirs() -> None:
    tests = (
        a_test("silent", 1),
        a_test("other", 2, installed="one"),
        a_test("same", 3, installed="two"),
        a_test("newest", 4, installed="two"),
    )
    assert kept(*tests) == ["silent", "newest"]
    assert kept(*tests[1:]) == ["same", "newest"]
    assert kept(tests[1], tests[2], a_test("silent and newest", 4)) == ["other", "silent and newest"]


@pytest.mark.parametrize("baseline", [None, {"testRef": {"name": "golden"}}])
def test_without_a_baseline_of_its_own_a_schedule_keeps_none(baseline: Any) -> None:
    spec = asked(baseline=baseline) if baseline else {**asked(), "thresholds": []}
    if not baseline:
        del spec["baseline"]
    parsed = of(testTemplate={"spec": spec}, **NONE_KEPT)
    tests = [
        a_test(name, hour, measured=comparable_hash(parsed.template.parsed)) for name, hour in (("a", 1), ("b", 2))
    ]
    assert names(surplus(parsed, tests)) == ["a", "b"]


def test_the_run_that_ended_last_is_one_that_has_ended() -> None:
    under_way = a_test("under way", 5, None, completion_time=at("05:30"))
    untimed = a_test("untimed", 6, completion_time=None)
    tests = [a_test("a", 1), a_test("b", 2), under_way, untimed]
    found = last_completed(tests)
    assert found is not None
    assert found.name == "b"
    assert last_completed([under_way, untimed]) is None
    failed = a_test("failed", 3, Verdict.FAILED)
    assert last_passed_time([*tests, failed]) == at("02:01")
    assert last_passed_time([failed]) is None


def test_the_trend_has_as_many_ended_runs_as_there_is_room_for_and_the_newest() -> None:
    many = [a_test(f"t{number}", 0, time=at("00:00") + timedelta(minutes=number)) for number in range(MOST_POINTS + 2)]
    points = trend([*many, a_test("under way", 23, None)])
    assert [point.test for point in points] == names(many)[2:]


def seen(*tests: ScheduledTest, **past: Any) -> ScheduleStatus:
    """Return the status by these tests, and by what is remembered."""
    facts = replace(quick("09:55").subject(), tests=tests, remembered=remembered(ScheduleStatus, past))
    facts = replace(facts, schedule=replace(facts.schedule, generation=7))
    return status(facts, ScheduleTimes(None, None), tests)


def text(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"


def test_a_status_is_of_the_generation_that_was_seen() -> None:
    assert seen().observed_generation == 7


def test_the_last_success_is_the_later_one_of_those_that_are_there_and_the_remembered() -> None:
    passed = a_test("a", 3)
    for remembered_at, told in (("02:00", "03:01"), ("04:00", "04:00")):
        assert seen(passed, lastSuccessfulTime=text(at(remembered_at))).last_successful_time == at(told)
    assert seen(lastSuccessfulTime=text(at("02:00"))).last_successful_time == at("02:00")
    assert seen().last_successful_time is None


@pytest.mark.parametrize(
    ("remembered_at", "told"), [("02:00", (Verdict.FAILED, "03:01")), ("04:00", (Verdict.INVALID, "04:00"))]
)
def test_a_run_that_is_remembered_counts_until_a_later_one_has_ended(
    remembered_at: str, told: tuple[Verdict, str]
) -> None:
    past = {"lastCompletionTime": text(at(remembered_at)), "lastVerdict": "Invalid"}
    found = seen(a_test("a", 3, Verdict.FAILED), **past)
    assert (found.last_verdict, found.last_completion_time) == (told[0], at(told[1]))


def test_of_two_runs_that_ended_together_the_one_that_is_seen_counts() -> None:
    past = {"lastCompletionTime": text(at("03:01")), "lastVerdict": "Invalid"}
    assert seen(a_test("a", 3, Verdict.FAILED), **past).last_verdict is Verdict.FAILED


def test_active_tests_are_named_by_their_uids_in_order() -> None:
    found = seen(a_test("b", 2, None), a_test("over", 1), a_test("a", 3, None))
    assert [(one.name, one.uid) for one in found.active] == [("b", "uid of b"), ("a", "uid of a")]
    assert found.active_count == 2
