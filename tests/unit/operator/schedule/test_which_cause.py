"""Of several causes that hold a schedule up at once, which one is told, and when the operator looks again."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from schedules import UID, SimSchedule, at, quick, schedule
from sshload_operator.api.schedule.spec import ScheduleSpec
from sshload_operator.decision.life_cycle import decide
from sshload_operator.decision.owner import Cause, Obstacle, OwnerDecision
from sshload_operator.decision.schedule.decide import ScheduleSubject
from sshload_operator.decision.schedule.facts import ScheduleIdentity, identity
from sshload_operator.state import Announcement
from statuses import RESULTS

FULL = Obstacle(Cause.REFUSED, "exceeded quota: none")


def subject(found: SimSchedule, **facts: Any) -> ScheduleSubject:
    """Return the facts of the next decision about a simulated schedule."""
    return replace(found.subject(), **facts)


def ready(decision: OwnerDecision) -> str:
    assert decision.status is not None
    return next(one["reason"] for one in decision.status["conditions"] if one["type"] == "Ready")


def events(decision: OwnerDecision) -> list[str]:
    return [str(one.reason) for one in decision.announcements]


def test_a_start_that_is_too_late_is_missed_though_another_test_is_active_too() -> None:
    found = schedule("09:55", startingDeadlineSeconds=60).go_to("10:30").away_until("11:10")
    assert events(decide(subject(found, obstacle=FULL))) == ["MissSchedule"]


def test_a_test_under_way_is_told_before_what_the_api_server_refused() -> None:
    found = schedule("09:55").go_to("10:30").away_until("11:10")
    assert events(decide(subject(found, obstacle=FULL))) == ["TestAlreadyActive"]


@pytest.mark.parametrize(("cause", "reason"), [(Cause.REFUSED, "CreateRefused"), (Cause.NAME_TAKEN, "NameTaken")])
def test_a_refusal_is_an_event_and_a_condition_in_its_own_words(cause: Cause, reason: str) -> None:
    decision = decide(subject(quick("09:55").away_until("10:00:01"), obstacle=Obstacle(cause, "why not")))
    assert decision.announcements == (
        Announcement(decision.announcements[0].reason, "why not", warning=True, occasion="2026-06-01T10:00:00Z"),
    )
    assert (events(decision), ready(decision)) == ([reason], reason)
    assert decision.create is None


def test_a_refused_test_is_tried_again_after_half_a_minute_or_at_the_next_start_if_that_is_sooner() -> None:
    every_minute = quick("09:55", schedule="* * * * *")
    assert decide(subject(every_minute.away_until("10:00:10"), obstacle=FULL)).requeue_after_s == 30
    assert decide(subject(every_minute.away_until("10:00:45"), obstacle=FULL)).requeue_after_s == 15


def test_a_schedule_that_is_deleted_says_so_though_it_is_suspended_too() -> None:
    found = quick("09:55", suspend=True)
    decision = decide(subject(found, deleting=True))
    assert ready(decision) == "Deleted"


def test_a_deleted_schedule_makes_no_test_that_is_due_and_deletes_those_that_it_has() -> None:
    found = schedule("09:55").go_to("10:30").away_until("11:10")
    decision = decide(subject(found, deleting=True))
    assert (decision.create, decision.requeue_after_s) == (None, None)
    assert [test.name for test in decision.delete] == found.made


def test_a_spec_that_cannot_be_read_is_told_once_for_each_generation_as_a_warning() -> None:
    found = quick("09:55", timeZone="Mars/Olympus")
    found.generation = 7
    (said,) = decide(subject(found)).announcements
    assert (str(said.reason), said.warning, said.occasion) == ("InvalidSpec", True, "7")
    assert "Mars/Olympus" in said.message


def test_the_deletion_of_a_replaced_test_is_told_of_its_own_time_and_the_creation_of_the_new_one() -> None:
    found = schedule("09:55", concurrencyPolicy="Replace").go_to("10:30").away_until("11:00:01")
    decision = decide(subject(found))
    assert [(str(one.reason), one.message, one.warning, one.occasion) for one in decision.announcements] == [
        ("SuccessfulDelete", f"deleted the test {found.made[0]}", False, "2026-06-01T10:00:00Z"),
        ("SuccessfulCreate", "created the test nightly-29671860", False, "2026-06-01T11:00:00Z"),
    ]
    assert decision.status is None, "the status must not name a test before it was created"
    assert decision.requeue_after_s == 0


def test_tests_beyond_the_history_are_told_when_they_are_deleted() -> None:
    found = schedule("09:55", successfulTestsHistoryLimit=0).go_to("10:30")
    found.finish(found.made[0])
    assert found.events == ["SuccessfulCreate", "SuccessfulDelete"]


def test_a_test_belongs_to_this_schedule_by_its_uid_and_has_the_templates_labels() -> None:
    found = schedule("09:55")
    template = {**found.spec["testTemplate"], "metadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}}}
    found.spec = {**found.spec, "testTemplate": template}
    found.go_to("10:00:10")
    metadata = found.tests[found.made[0]]["metadata"]
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("SSHLoadTestSchedule", "nightly", UID)
    assert metadata["labels"] == {"team": "a", "sshload.dev/schedule": "nightly"}
    assert metadata["annotations"]["note"] == "b"
    assert metadata["namespace"] == "ns"


def test_an_earlier_test_of_the_same_name_is_the_one_that_is_due() -> None:
    """An operator that was killed after the creation must serve the next start, not this one again."""
    found = quick("09:55").away_until("10:00:01").run_pass(killed_after_create=True)
    decision = decide(subject(found))
    assert decision.create is None
    assert decision.status is not None
    assert decision.status["lastScheduleTime"] == "2026-06-01T10:00:00Z"
    assert decision.status["nextScheduleTime"] == "2026-06-01T11:00:00Z"
    assert decision.requeue_after_s == (at("11:00") - found.now) / timedelta(seconds=1)


def test_the_jitter_counts_as_time_within_the_deadline_when_missed_starts_are_counted() -> None:
    found = quick("09:00", schedule="* * * * *", startingDeadlineSeconds=3600, jitter="1h").away_until("11:40")
    assert "TooManyMissedTimes" in events(decide(subject(found)))


def test_a_start_that_comes_in_no_time_is_waited_for_a_little() -> None:
    found = quick("09:55").away_until("10:59:59.995")
    found.status = {"lastScheduleTime": "2026-06-01T10:00:00Z", "conditions": []}
    assert decide(subject(found)).requeue_after_s == pytest.approx(0.01)


class Ended:
    """A calendar that names no instant any more."""

    def first(self, after: datetime) -> datetime | None:
        """Return none."""

    def last(self, after: datetime, until: datetime) -> datetime | None:
        """Return none."""


def test_a_calendar_that_has_ended_is_told_and_waited_for_by_nobody() -> None:
    facts = subject(quick("09:55"))
    assert isinstance(facts.spec, ScheduleSpec)
    decision = decide(replace(facts, spec=replace(facts.spec, calendar=Ended())))
    assert ready(decision) == "NeverFires"
    assert decision.requeue_after_s is None
    assert decision.status is not None
    assert "nextScheduleTime" not in decision.status


def test_a_schedule_on_its_way_out_names_no_next_time() -> None:
    decision = decide(subject(quick("09:55"), deleting=True))
    assert decision.status is not None
    assert "nextScheduleTime" not in decision.status
    assert decision.announcements == ()


def test_the_next_time_is_the_scheduled_one_though_its_test_begins_later() -> None:
    decision = decide(subject(quick("09:55", jitter="30m")))
    assert decision.status is not None
    assert decision.status["nextScheduleTime"] == "2026-06-01T10:00:00Z"
    assert decision.requeue_after_s is not None
    assert decision.requeue_after_s > 5 * 60


def test_only_what_somebody_should_look_at_is_a_warning() -> None:
    late = decide(subject(schedule("09:55", startingDeadlineSeconds=60).away_until("10:30")))
    active = decide(subject(schedule("09:55").go_to("10:30").away_until("11:10")))
    many = decide(subject(quick("09:00", schedule="* * * * *").away_until("10:41")))
    told = [(str(one.reason), one.warning) for decision in (late, active, many) for one in decision.announcements]
    assert told == [
        ("MissSchedule", True),
        ("TestAlreadyActive", False),
        ("SuccessfulCreate", False),
        ("TooManyMissedTimes", True),
    ]


def test_the_trend_leaves_out_a_test_that_is_deleted_with_this_status() -> None:
    found = schedule("09:55", successfulTestsHistoryLimit=0).go_to("10:30")
    found.finish(found.made[0])
    assert "trend" not in found.status


def test_a_schedule_is_who_its_object_says() -> None:
    metadata = {"namespace": "ns", "name": "nightly", "uid": UID, "generation": 7}
    found = identity({"metadata": {**metadata, "creationTimestamp": "2026-06-01T09:55:00Z"}})
    assert found == ScheduleIdentity("ns", "nightly", UID, 7, at("09:55"))


def test_a_test_with_a_delay_of_its_own_generator_is_known_by_it() -> None:
    found = schedule("09:55").go_to("10:30")
    results = {**RESULTS, "generator": {"latenciesMayIncludeMs": 50.0}}
    found.finish(found.made[0], results=results)
    assert [test.delay_ms for test in found.observed()] == [50.0]
