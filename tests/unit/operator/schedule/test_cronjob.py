"""CronJob's documented behaviour, case by case in virtual time: what Kubernetes' pages say of a Job, of a test.

https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ and the controller's own unit tests (1.36).
"""

from datetime import timedelta

import pytest
from schedules import at, quick, schedule
from sshload_operator.decision.owner import Cause, Obstacle


def test_a_test_is_made_at_each_scheduled_time() -> None:
    assert quick("09:55").go_to("13:30").starts == ["01T10:00", "01T11:00", "01T12:00", "01T13:00"]


def test_nothing_is_made_for_times_before_the_schedule_was_created() -> None:
    assert quick("10:00:01").go_to("10:59").starts == []


def test_a_time_at_the_very_second_of_the_creation_is_past() -> None:
    assert quick("10:00:00").go_to("10:59").starts == []


def test_a_test_is_called_by_the_minutes_since_1970_as_cronjobs_jobs_are() -> None:
    found = quick("09:55").go_to("10:00:30")
    assert found.made == [f"nightly-{int(at('10:00').timestamp()) // 60}"]
    assert found.made == ["nightly-29671800"]


def test_the_test_carries_the_scheduled_time_in_the_schedules_time_zone() -> None:
    found = quick("09:55", timeZone="Europe/Berlin").go_to("10:00:30")
    (test,) = found.tests.values()
    assert test["metadata"]["annotations"] == {"sshload.dev/scheduled-timestamp": "2026-06-01T12:00:00+02:00"}


def test_the_status_says_when_it_was_and_when_it_will_be() -> None:
    found = quick("09:55").go_to("10:30")
    assert found.status["lastScheduleTime"] == "2026-06-01T10:00:00Z"
    assert found.status["nextScheduleTime"] == "2026-06-01T11:00:00Z"
    assert found.status["lastSuccessfulTime"] == "2026-06-01T10:01:00Z"


class TestMissedStarts:
    """The operator was away at scheduled times."""

    def test_a_missed_start_is_made_up_for(self) -> None:
        assert quick("09:55").away_until("10:20").run_pass().starts == ["01T10:00"]

    def test_of_several_missed_starts_only_the_last_is_made_up_for(self) -> None:
        assert quick("09:55").away_until("13:20").run_pass().starts == ["01T13:00"]

    def test_a_start_that_was_served_is_not_made_up_for(self) -> None:
        found = quick("09:55").go_to("10:30").away_until("10:50").run_pass()
        assert found.starts == ["01T10:00"]

    def test_a_hundred_missed_starts_are_no_reason_to_warn(self) -> None:
        found = quick("09:00", schedule="* * * * *").away_until("10:40").run_pass()
        assert found.starts == ["01T10:40"]
        assert "TooManyMissedTimes" not in found.events

    def test_more_than_a_hundred_are_and_the_last_is_still_made_up_for(self) -> None:
        found = quick("09:00", schedule="* * * * *").away_until("10:41").run_pass()
        assert found.starts == ["01T10:41"]
        assert "TooManyMissedTimes" in found.events

    def test_with_a_deadline_only_the_starts_within_it_are_counted(self) -> None:
        found = quick("2026-01-01T00:00", schedule="* * * * *", startingDeadlineSeconds=600)
        found.away_until("10:41").run_pass()
        assert found.starts == ["01T10:41"]
        assert "TooManyMissedTimes" not in found.events

    def test_a_start_missed_before_the_weekend_is_made_up_for_on_it(self) -> None:
        """Where CronJob's estimate of the last missed time overshoots, and finds none."""
        found = quick("2026-06-04T00:00", schedule="30 6-16/4 * * 1-5").away_until("2026-06-06T12:00").run_pass()
        assert found.starts == ["05T14:30"]


class TestStartingDeadline:
    """spec.startingDeadlineSeconds."""

    def test_a_start_within_the_deadline_is_made_up_for(self) -> None:
        found = quick("09:55", startingDeadlineSeconds=200).away_until("10:03:20").run_pass()
        assert found.starts == ["01T10:00"]

    def test_a_start_beyond_it_is_not_and_an_event_says_so(self) -> None:
        found = quick("09:55", startingDeadlineSeconds=200).away_until("10:03:21").run_pass()
        assert found.starts == []
        assert found.events == ["MissSchedule"]

    def test_the_next_time_is_served_as_ever(self) -> None:
        found = quick("09:55", startingDeadlineSeconds=200).away_until("10:30").go_to("11:00:10")
        assert found.starts == ["01T11:00"]

    def test_the_documented_case_down_from_08_29_to_10_21_without_a_deadline(self) -> None:
        found = quick("08:30", schedule="* * * * *").away_until("10:21").run_pass()
        assert found.starts == ["01T10:21"]

    def test_the_documented_case_down_from_08_29_to_10_21_with_a_deadline_of_200_s(self) -> None:
        found = quick("08:30", schedule="* * * * *", startingDeadlineSeconds=200).away_until("10:21").run_pass()
        assert found.starts == ["01T10:21"]
        assert "TooManyMissedTimes" not in found.events

    @pytest.mark.parametrize(("now", "starts"), [("10:00:00.06", ["01T10:00"]), ("10:00:01", [])])
    def test_a_deadline_of_none_at_all_serves_the_very_second_only(self, now: str, starts: list[str]) -> None:
        """An operator wakes a little after the time, never at it."""
        assert quick("09:55", startingDeadlineSeconds=0).away_until(now).run_pass().starts == starts


class TestForbid:
    """spec.concurrencyPolicy: Forbid, the default here; CronJob's own is Allow."""

    def test_a_time_is_skipped_while_the_test_before_is_under_way(self) -> None:
        found = schedule("09:55", concurrencyPolicy="Forbid").go_to("11:30")
        assert found.starts == ["01T10:00"]
        assert "TestAlreadyActive" in found.events

    def test_the_last_schedule_time_stays_that_of_the_test_that_was_made(self) -> None:
        found = schedule("09:55", concurrencyPolicy="Forbid").go_to("11:30")
        assert found.status["lastScheduleTime"] == "2026-06-01T10:00:00Z"

    def test_the_skipped_start_is_made_up_for_as_soon_as_the_test_ends(self) -> None:
        found = schedule("09:55", concurrencyPolicy="Forbid").go_to("11:30")
        assert found.finish(found.made[0]).starts == ["01T10:00", "01T11:00"]

    def test_but_not_beyond_the_starting_deadline(self) -> None:
        found = schedule("09:55", concurrencyPolicy="Forbid", startingDeadlineSeconds=600).go_to("11:30")
        assert found.finish(found.made[0]).starts == ["01T10:00"]

    def test_a_test_that_was_deleted_is_not_under_way(self) -> None:
        found = schedule("09:55", concurrencyPolicy="Forbid").go_to("10:30")
        del found.tests[found.made[0]]
        assert found.go_to("11:00:10").starts == ["01T10:00", "01T11:00"]

    def test_a_test_on_its_way_out_is_under_way_until_it_is_gone(self) -> None:
        """A finalizer of somebody else's keeps it, and until it is gone its load may run on."""
        found = schedule("09:55", concurrencyPolicy="Forbid").go_to("10:30")
        found.tests[found.made[0]]["metadata"]["deletionTimestamp"] = "2026-06-01T10:30:00Z"
        assert found.go_to("11:00:10").starts == ["01T10:00"]
        assert found.active == found.made
        del found.tests[found.made[0]]
        assert found.run_pass().starts == ["01T10:00", "01T11:00"]

    def test_a_test_that_was_deleted_is_not_made_again(self) -> None:
        found = schedule("09:55", concurrencyPolicy="Forbid").go_to("10:30")
        del found.tests[found.made[0]]
        assert found.go_to("10:40").starts == ["01T10:00"]
        assert found.active == []


class TestAllow:
    """spec.concurrencyPolicy: Allow."""

    def test_tests_run_beside_each_other(self) -> None:
        found = schedule("09:55", concurrencyPolicy="Allow").go_to("12:30")
        assert found.starts == ["01T10:00", "01T11:00", "01T12:00"]
        assert found.active == found.made
        assert found.status["activeCount"] == 3


class TestReplace:
    """spec.concurrencyPolicy: Replace."""

    def test_the_test_under_way_is_deleted_for_the_new_one(self) -> None:
        found = schedule("09:55", concurrencyPolicy="Replace").go_to("11:30")
        assert found.starts == ["01T10:00", "01T11:00"]
        assert found.deleted == found.made[:1]
        assert found.active == found.made[1:]

    def test_a_test_on_its_way_out_holds_nothing_up_and_is_not_deleted_twice(self) -> None:
        found = schedule("09:55", concurrencyPolicy="Replace").go_to("10:30")
        found.tests[found.made[0]]["metadata"]["deletionTimestamp"] = "2026-06-01T10:30:00Z"
        assert found.go_to("11:30").starts == ["01T10:00", "01T11:00"]
        assert found.deleted == []

    def test_a_finished_test_is_kept(self) -> None:
        found = quick("09:55", concurrencyPolicy="Replace").go_to("11:30")
        assert found.deleted == []


class TestSuspend:
    """spec.suspend."""

    def test_nothing_is_made_while_it_is_suspended(self) -> None:
        found = quick("09:55", suspend=True).go_to("13:30")
        assert found.starts == []
        assert "nextScheduleTime" not in found.status

    def test_a_test_under_way_goes_on(self) -> None:
        found = schedule("09:55").go_to("10:30").change(suspend=True).go_to("11:30")
        assert found.active == found.made
        assert found.deleted == []

    def test_missed_starts_are_made_up_for_at_once_when_it_is_resumed_without_a_deadline(self) -> None:
        found = quick("09:55", suspend=True).go_to("13:30").change(suspend=False)
        assert found.starts == ["01T13:00"]

    def test_with_a_deadline_those_beyond_it_are_not(self) -> None:
        found = quick("09:55", suspend=True, startingDeadlineSeconds=60).go_to("13:30").change(suspend=False)
        assert found.starts == []


class TestHistory:
    """spec.successfulTestsHistoryLimit and spec.failedTestsHistoryLimit."""

    def test_three_that_passed_and_one_other_are_kept_by_default(self) -> None:
        found = schedule("2026-06-01T00:55")
        for hour in range(1, 13):
            found.go_to(f"{hour:02}:30").finish(found.made[-1], "Failed" if hour % 3 == 0 else "Passed")
        assert found.starts == [f"01T{hour:02}:00" for hour in range(1, 13)]
        kept = [found.starts[found.made.index(name)] for name in found.tests]
        assert kept == ["01T08:00", "01T10:00", "01T11:00", "01T12:00"]

    @pytest.mark.parametrize("verdict", ["Failed", "Inconclusive", "Invalid", "Error", "Aborted"])
    def test_every_verdict_but_passed_counts_as_failed(self, verdict: str) -> None:
        found = schedule("09:55", failedTestsHistoryLimit=0, successfulTestsHistoryLimit=5).go_to("10:30")
        assert found.finish(found.made[0], verdict).tests == {}

    def test_a_limit_of_none_keeps_none_and_what_became_of_them_is_remembered(self) -> None:
        found = schedule("09:55", successfulTestsHistoryLimit=0).go_to("10:30")
        found.finish(found.made[0])
        assert found.tests == {}
        assert found.go_to("10:40").starts == ["01T10:00"]

    def test_tests_under_way_are_not_counted(self) -> None:
        found = schedule("09:55", concurrencyPolicy="Allow", successfulTestsHistoryLimit=0).go_to("12:30")
        assert len(found.tests) == 3


class TestTimeZones:
    """spec.timeZone and nights on which clocks are changed."""

    def test_the_time_zone_decides(self) -> None:
        found = quick("2026-06-01T00:00", schedule="0 3 * * *", timeZone="America/New_York").go_to("2026-06-01T12:00")
        assert found.starts == ["01T07:00"]

    def test_a_time_that_is_skipped_does_not_fire(self) -> None:
        found = quick("2026-03-28T00:00", schedule="30 2 * * *", timeZone="Europe/Berlin").go_to("2026-03-30T12:00")
        assert found.starts == ["28T01:30", "30T00:30"]

    def test_a_time_that_occurs_twice_fires_twice(self) -> None:
        found = quick("2026-10-24T12:00", schedule="30 2 * * *", timeZone="Europe/Berlin").go_to("2026-10-26T00:00")
        assert found.starts == ["25T00:30", "25T01:30"]

    def test_every_hour_stays_every_hour(self) -> None:
        found = quick("2026-03-28T23:30", schedule="@hourly", timeZone="Europe/Berlin").go_to("2026-03-29T03:30")
        assert found.starts == ["29T00:00", "29T01:00", "29T02:00", "29T03:00"]


class TestClock:
    """The clock is set."""

    def test_a_clock_that_is_put_back_makes_no_test_twice(self) -> None:
        found = quick("09:55").go_to("12:30").away_until("10:30").go_to("12:59")
        assert found.starts == ["01T10:00", "01T11:00", "01T12:00"]
        assert found.go_to("13:00:10").starts == ["01T10:00", "01T11:00", "01T12:00", "01T13:00"]

    def test_a_clock_that_is_put_forward_makes_one_test(self) -> None:
        assert quick("09:55").go_to("10:30").away_until("2026-06-03T10:30").run_pass().starts == [
            "01T10:00",
            "03T10:00",
        ]

    def test_an_operator_whose_clock_is_behind_the_api_servers_waits(self) -> None:
        found = quick("10:30").away_until("09:30").go_to("10:59")
        assert found.starts == []


class TestChanges:
    """The spec is changed."""

    def test_a_new_schedule_says_nothing_about_times_before(self) -> None:
        found = quick("09:55").go_to("10:30").change(schedule="15 * * * *").go_to("11:14")
        assert found.starts == ["01T10:00"]
        assert found.go_to("11:15:10").starts == ["01T10:00", "01T11:15"]

    def test_nor_does_a_new_time_zone(self) -> None:
        found = quick("09:55", schedule="0 10 * * *").go_to("10:30").change(timeZone="Europe/Berlin").go_to("12:00")
        assert found.starts == ["01T10:00"]

    def test_another_change_leaves_missed_starts_as_they_are(self) -> None:
        found = quick("09:55").away_until("10:30").change(successfulTestsHistoryLimit=7)
        assert found.starts == ["01T10:00"]

    def test_a_schedule_that_was_refused_for_a_while_makes_up_for_the_last_start(self) -> None:
        found = quick("09:55").go_to("10:30").change(timeZone="Mars/Olympus").go_to("12:10").change(timeZone="UTC")
        assert found.starts == ["01T10:00", "01T12:00"]


class TestRestarts:
    """The operator is killed, or what it does is refused."""

    def test_an_operator_that_was_killed_between_the_test_and_the_status_makes_none_twice(self) -> None:
        found = quick("09:55").away_until("10:00:01").run_pass(killed_after_create=True)
        assert found.status == {}
        assert found.run_pass().starts == ["01T10:00"]
        assert found.status["lastScheduleTime"] == "2026-06-01T10:00:00Z"
        assert found.active == found.made

    def test_what_the_api_server_refuses_is_a_condition_and_tried_again(self) -> None:
        found = quick("09:55").away_until("10:00:01")
        found.obstacle = Obstacle(Cause.REFUSED, "exceeded quota: none")
        found.run_pass()
        held = {condition["type"]: condition["status"] for condition in found.status["conditions"]}
        assert (held["Ready"], held["Stalled"], held["Valid"]) == ("False", "True", "True")
        assert found.last is not None
        assert found.last.requeue_after_s == 30
        found.obstacle = None
        found.now += timedelta(seconds=30)
        assert found.run_pass().starts == ["01T10:00"]


class TestEvery:
    """@every, which CronJob takes too."""

    def test_it_counts_from_the_creation_and_from_the_start_before(self) -> None:
        found = quick("09:55", schedule="@every 1h30m").go_to("13:00")
        assert [test["metadata"]["annotations"] for test in found.tests.values()] == [
            {"sshload.dev/scheduled-timestamp": "2026-06-01T11:25:00+00:00"},
            {"sshload.dev/scheduled-timestamp": "2026-06-01T12:55:00+00:00"},
        ]

    def test_it_keeps_its_beat_over_missed_starts(self) -> None:
        found = quick("09:55", schedule="@every 1h").away_until("13:10").run_pass()
        assert found.starts == ["01T12:55"]
