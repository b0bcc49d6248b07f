"""Schedules whose tests are held against the last one that passed, in virtual time."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from baselines import ALLOWING, LAST_PASSED, asked, run_to_end, seen, slower
from schedules import SimSchedule, schedule
from sshload_operator.planning.installation import Installation

HALF = {"arrivals": {"stages": [{"rate": 10, "duration": "30s"}]}}


def held(**limits: int) -> SimSchedule:
    """Return an hourly schedule whose tests are held against the last one that passed."""
    return schedule(testTemplate={"spec": asked(baseline=LAST_PASSED)}, **limits)


def run_next(world: SimSchedule, hour: int, slowness: float, installation: Installation = ALLOWING) -> tuple[Any, ...]:
    """Let the test of an hour run on a server so slow; return its verdict, its reason, and when its baseline began."""
    world.go_to(f"{hour}:00")
    (name,) = world.active
    beside = [test for other, test in world.tests.items() if other != name]
    ended = run_to_end(world.tests[name]["spec"], slower(slowness), seen(*beside), world.now, installation)
    world.now = ended.now + timedelta(seconds=1)
    world.finish(name, **ended.status)
    baseline = ended.status.get("baseline", {}).get("test")
    started = dict(zip(world.made, world.starts, strict=True))
    return *ended.said(), started[baseline][-5:] if baseline else None


def test_each_is_held_against_the_last_that_passed_before_it() -> None:
    world = held()
    assert [
        run_next(world, hour, slowness) for hour, slowness in enumerate([1.0, 1.02, 1.3, 1.0, 0.7, 1.0], start=10)
    ] == [
        ("Inconclusive", "NoBaseline", None),
        ("Passed", "ThresholdsMet", "10:00"),
        ("Failed", "ThresholdBroken", "11:00"),
        ("Passed", "ThresholdsMet", "11:00"),
        ("Passed", "ThresholdsMet", "13:00"),
        ("Failed", "ThresholdBroken", "14:00"),
    ]


def test_the_least_history_is_enough() -> None:
    world = held(successfulTestsHistoryLimit=1, failedTestsHistoryLimit=1)
    verdicts = [run_next(world, hour, 1.0)[:2] for hour in range(10, 15)]
    assert verdicts == [("Inconclusive", "NoBaseline"), *[("Passed", "ThresholdsMet")] * 4]
    assert len(world.tests) == 2


def test_baselines_are_kept_whatever_the_history_limits() -> None:
    world = held(successfulTestsHistoryLimit=0, failedTestsHistoryLimit=0)
    assert [run_next(world, hour, slowness) for hour, slowness in ((10, 1.0), (11, 1.0), (12, 2.0), (13, 1.0))] == [
        ("Inconclusive", "NoBaseline", None),
        ("Passed", "ThresholdsMet", "10:00"),
        ("Failed", "ThresholdBroken", "11:00"),
        ("Passed", "ThresholdsMet", "11:00"),
    ]
    world.run_pass()
    assert len(world.tests) == 2  # the first, and the last that passed


def test_a_regression_never_becomes_its_own_baseline() -> None:
    world = held(failedTestsHistoryLimit=1)
    verdicts = [run_next(world, 10 + night, 1.0 if night == 0 else 2.0)[0] for night in range(6)]
    assert verdicts == ["Inconclusive", *["Failed"] * 5]


def test_a_changed_template_begins_a_new_row() -> None:
    world = held()
    assert [run_next(world, hour, 1.0)[1] for hour in (10, 11)] == ["NoBaseline", "ThresholdsMet"]
    world.change(testTemplate={"spec": asked(baseline=LAST_PASSED, load=HALF)})
    assert [run_next(world, hour, 2.0) for hour in (12, 13, 14)] == [
        ("Inconclusive", "BaselineDiffers", "11:00"),
        ("Passed", "ThresholdsMet", "12:00"),
        ("Passed", "ThresholdsMet", "13:00"),
    ]


def test_other_resources_of_the_installation_begin_a_new_row_that_no_history_limit_ends() -> None:
    world = held(successfulTestsHistoryLimit=0, failedTestsHistoryLimit=0)
    more = replace(ALLOWING, worker_resources={"requests": {"cpu": "2"}})
    assert [run_next(world, hour, 1.0)[1] for hour in (10, 11)] == ["NoBaseline", "ThresholdsMet"]
    assert [run_next(world, hour, slowness, more) for hour, slowness in ((12, 0.5), (13, 0.5), (14, 1.0))] == [
        ("Inconclusive", "BaselineDiffers", "11:00"),
        ("Passed", "ThresholdsMet", "12:00"),
        ("Failed", "ThresholdBroken", "13:00"),
    ]


def test_a_slow_drift_fails_once_it_is_beyond_the_limit() -> None:
    world = held()
    drifting = [run_next(world, 10 + night, 1.03**night)[0] for night in range(8)]
    assert drifting == ["Inconclusive", "Passed", "Passed", "Inconclusive", *["Failed"] * 4]
