"""The status as a whole: it fits the CRD's schema, is read back as it was written, and leaves out what is not known."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from crd_schema import problems, status_schema
from plans import plan, quickstart
from runs import snapshot, summary
from sshload_contract.snapshot import Stage
from sshload_contract.thresholds import ThresholdResult
from sshload_contract.vocabulary import Verdict
from sshload_operator.decision.results import to_status
from sshload_operator.decision.status import Standing, progress, remembered, status
from sshload_operator.state import Condition, ConditionStatus, ConditionType, Phase, Reason

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
CONDITIONS = tuple(
    Condition(kind, ConditionStatus.UNKNOWN, Reason.LOAD_RUNNING, "under way", NOW) for kind in ConditionType
)


def standing(**changes: Any) -> Standing:
    facts: dict[str, Any] = {
        "generation": 4,
        "run": 3,
        "spec_hash": "0123456789abcdef",
        "phase": Phase.RUNNING,
        "reason": Reason.LOAD_RUNNING,
        "message": "the load runs",
        "conditions": CONDITIONS,
        "start_time": NOW,
    }
    return Standing(**{**facts, **changes})


FINISHED = standing(
    phase=Phase.FINISHED,
    verdict=Verdict.PASSED,
    completion_time=NOW + timedelta(seconds=40),
    progress=progress(plan(), snapshot()),
    results=to_status(plan(), summary()),
    thresholds=(ThresholdResult("p99", "90 ms", passed=True), ThresholdResult("p99.9", None, None)),
    results_config_map="quickstart-a1b2c3d4e5-results",
)


@pytest.mark.parametrize("facts", [standing(), FINISHED], ids=["running", "finished"])
def test_a_status_is_as_the_schema_of_the_crd_has_it(facts: Standing) -> None:
    assert list(problems(status(facts), status_schema())) == []


def test_what_is_not_known_is_left_out() -> None:
    assert set(status(standing())) == {
        "observedGeneration",
        "run",
        "specHash",
        "phase",
        "reason",
        "message",
        "startTime",
        "conditions",
    }


def test_a_threshold_that_cannot_be_judged_says_neither_what_was_seen_nor_whether_it_held() -> None:
    assert status(FINISHED)["thresholds"] == [
        {"threshold": "p99", "observed": "90 ms", "passed": True},
        {"threshold": "p99.9"},
    ]


def test_what_is_remembered_is_what_was_written() -> None:
    written = status(FINISHED)
    known = remembered(written)
    assert (known.run, known.spec_hash, known.phase, known.verdict) == (
        3,
        "0123456789abcdef",
        Phase.FINISHED,
        Verdict.PASSED,
    )
    assert (known.start_time, known.completion_time) == (NOW, NOW + timedelta(seconds=40))
    assert known.conditions == CONDITIONS
    assert known.written == written


@pytest.mark.parametrize("empty", [None, {}], ids=["no-status", "empty-status"])
def test_nothing_is_remembered_of_a_test_without_a_status(empty: dict[str, Any] | None) -> None:
    known = remembered(empty)
    assert (known.run, known.spec_hash, known.phase, known.conditions) == (0, "", None, ())


def test_words_of_another_version_count_as_absent() -> None:
    written = status(standing())
    written["phase"] = "Meditating"
    written["verdict"] = "Splendid"
    written["conditions"][0]["reason"] = "Whim"
    known = remembered(written)
    assert (known.phase, known.verdict) == (None, None)
    assert known.conditions == CONDITIONS[1:]


def test_times_are_whole_seconds_of_utc() -> None:
    written = status(standing(start_time=NOW + timedelta(microseconds=999_999)))
    assert written["startTime"] == "2026-11-21T12:00:00Z"


def test_a_message_never_exceeds_what_the_schema_takes() -> None:
    assert list(problems(status(standing(message="x" * 10_000)), status_schema())) == []


def test_the_progress_of_a_hold_says_how_many_sessions_are_held() -> None:
    hold = plan(quickstart(load={"hold": {"sessions": 5000, "rampUp": "1m", "duration": "5m"}}))
    assert progress(hold, snapshot(held=4999))["held"] == 4999
    assert progress(hold, snapshot())["held"] == 0


def test_progress_is_the_snapshot_in_the_statuss_units() -> None:
    assert progress(plan(), snapshot()) == {
        "stage": "measuring",
        "elapsedSeconds": 15.0,
        "remainingSeconds": 20.0,
        "workersConnected": 2,
        "users": 0,
        "inFlight": 1,
        "offeredRate": 20.0,
        "completedRate": 19.5,
        "iterations": 300,
        "failures": 3,
        "p99Ms": 90.0,
        "errorPercent": 1.0,
    }


def test_progress_states_no_rate_and_no_percentile_of_nothing() -> None:
    shown = progress(plan(), snapshot(Stage.WARM_UP, iterations=0, failures=0, p99_us=None))
    assert "errorPercent" not in shown
    assert "p99Ms" not in shown


@pytest.mark.parametrize(
    "time",
    [
        pytest.param("0000-01-01T00:00:00Z", id="the year 0"),
        pytest.param("2026-01-01t00:00:00z", id="small letters"),
        pytest.param("2026-01-01T00:00:00+99:99", id="a zone far away"),
        pytest.param("0001-01-01T00:00:00+14:00", id="before all time in UTC"),
        pytest.param("9999-12-31T23:59:59-14:00", id="after all time in UTC"),
    ],
)
def test_a_time_that_the_api_server_takes_and_nobody_can_compute_with_counts_as_absent(time: str) -> None:
    written = status(FINISHED)
    changed = [{**item, "lastTransitionTime": time} for item in written["conditions"]]
    past = remembered({**written, "startTime": time, "completionTime": time, "conditions": changed})
    assert (past.start_time, past.completion_time, past.conditions) == (None, None, ())


def test_more_failures_than_iterations_are_no_more_than_all() -> None:
    said = progress(plan(quickstart()), snapshot(iterations=1, failures=3))
    assert said["errorPercent"] == 100
