"""The judgement against a baseline beside that on the run alone: which is told, and where nothing is compared."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from baselines import EARLY, asked, finished, run_to_end, seen, slower
from plans import plan, quickstart
from runs import summary
from sshload_contract.vocabulary import RunEnd, Verdict
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.decision.baseline.judge import against_baseline
from sshload_operator.decision.judgement import Judgement
from sshload_operator.state import Reason
from statuses import read_test_status

START: datetime = EARLY + timedelta(hours=1)
PASSED = Judgement(Verdict.PASSED, Reason.NO_THRESHOLDS, "no thresholds")


def judged(by_itself: Judgement, slowness: float) -> Judgement:
    """Return the judgement on a run that is so many times as slow as its baseline."""
    measured = read_test_status(run_to_end(quickstart(), slower(slowness)).status)
    return against_baseline(plan(asked()), by_itself, measured, seen(finished(slower(1.0))), START)


def thresholds(found: Any) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = run_to_end(asked(), found, seen(finished(slower(1.0)))).status.get("thresholds", [])
    return told


def test_without_a_threshold_within_a_baseline_the_run_is_judged_alone() -> None:
    assert against_baseline(plan(), PASSED, TestStatus(), None, START) is PASSED


def test_a_run_that_has_measured_nothing_has_no_threshold_that_is_left_open() -> None:
    error = Judgement(Verdict.ERROR, Reason.IMAGE_UNAVAILABLE, "no such image")
    assert against_baseline(plan(asked()), error, TestStatus(), None, START) is error


@pytest.mark.parametrize("iterations", [0, 1])
def test_a_run_that_was_ended_leaves_its_thresholds_open_from_its_first_iteration_on(iterations: int) -> None:
    told = thresholds(summary(iterations, end=RunEnd.STOPPED))
    assert [one.get("met") for one in told] == [None] * iterations


def test_a_threshold_that_was_broken_too_is_added_to_what_failed_the_run_only_if_that_was_a_threshold() -> None:
    broken = Judgement(Verdict.FAILED, Reason.THRESHOLD_BROKEN, "errors")
    assert judged(broken, 2.0).message.startswith("errors; p90 of total within 10 % of the baseline before, but it was")
    assert judged(broken, 1.0).message == "errors"
    other = Judgement(Verdict.FAILED, Reason.CAPACITY_BELOW_MIN, "less than min")
    assert (judged(other, 2.0).reason, judged(other, 2.0).message) == (other.reason, other.message)


def test_a_latency_of_a_second_and_more_is_told_by_four_digits() -> None:
    assert "it was 1.235 s, " in judged(PASSED, 20.576).message
