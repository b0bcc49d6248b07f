"""The status as a whole: it fits the CRD's schema, is read back as it was written, and leaves out what is not known."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from crd_schema import problems, status_schema
from passes import Passes
from plans import plan, quickstart
from runs import pod, snapshot, summary
from sshload_contract.thresholds import LatencyThreshold, ThresholdResult
from sshload_contract.vocabulary import Verdict
from sshload_contract.wire.master_log import Stage
from sshload_operator.api.status.head import Condition, remembered, written
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.decision.load_test.results import progress, results_status
from sshload_operator.decision.load_test.thresholds import threshold_status
from sshload_operator.state import ConditionStatus, ConditionType, Phase, Reason, Role
from statuses import progress_json

P99 = LatencyThreshold("total", 99, 2.0).terms
NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
CONDITIONS = tuple(
    Condition(kind, ConditionStatus.UNKNOWN, Reason.LOAD_RUNNING, "under way", NOW) for kind in ConditionType
)


def standing(**changes: Any) -> TestStatus:
    facts: dict[str, Any] = {
        "observed_generation": 4,
        "run": 3,
        "spec_hash": "0123456789abcdef",
        "phase": Phase.RUNNING,
        "reason": Reason.LOAD_RUNNING,
        "message": "the load runs",
        "conditions": CONDITIONS,
        "start_time": NOW,
    }
    return TestStatus(**{**facts, **changes})


FINISHED = standing(
    phase=Phase.FINISHED,
    verdict=Verdict.PASSED,
    completion_time=NOW + timedelta(seconds=40),
    progress=progress(plan(), snapshot()),
    results=results_status(plan(), summary(), Verdict.PASSED),
    thresholds=(
        threshold_status(ThresholdResult(LatencyThreshold("total", 99, 2.0).terms, "90 ms", True, 90.0, 85.5, 95.4)),
        threshold_status(ThresholdResult(LatencyThreshold("total", 99.9, 3.0).terms, None, None)),
    ),
    results_config_map="quickstart-a1b2c3d4e5-results",
)


@pytest.mark.parametrize("facts", [standing(), FINISHED], ids=["running", "finished"])
def test_a_status_is_as_the_schema_of_the_crd_has_it(facts: TestStatus) -> None:
    assert list(problems(written(facts), status_schema())) == []


def test_what_is_not_known_is_left_out() -> None:
    assert set(written(standing())) == {
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
    assert written(FINISHED)["thresholds"] == [
        {
            "kind": "latency",
            "step": "total",
            "percentile": 99,
            "limit": 2000.0,
            "unit": "ms",
            "value": 90.0,
            "low": 85.5,
            "high": 95.4,
            "met": True,
            "message": "p99 of total below 2 s: 90 ms, 95.5 % below",
        },
        {
            "kind": "latency",
            "step": "total",
            "percentile": 99.9,
            "limit": 3000.0,
            "unit": "ms",
            "message": "p99.9 of total below 3 s: too few samples",
        },
    ]


def test_what_is_remembered_is_what_was_written() -> None:
    body = written(FINISHED)
    known = remembered(TestStatus, body)
    assert (known.status.run, known.status.spec_hash, known.status.phase, known.status.verdict) == (
        3,
        "0123456789abcdef",
        Phase.FINISHED,
        Verdict.PASSED,
    )
    assert (known.status.start_time, known.status.completion_time) == (NOW, NOW + timedelta(seconds=40))
    assert known.status.conditions == CONDITIONS
    assert known.written == body


@pytest.mark.parametrize("empty", [None, {}], ids=["no-status", "empty-status"])
def test_nothing_is_remembered_of_a_test_without_a_status(empty: dict[str, Any] | None) -> None:
    known = remembered(TestStatus, empty)
    assert (known.status.run, known.status.spec_hash, known.status.phase, known.status.conditions) == (0, "", None, ())


def test_words_of_another_version_count_as_absent() -> None:
    body = written(standing())
    body["phase"] = "Meditating"
    body["verdict"] = "Splendid"
    body["conditions"][0]["type"] = "Whim"
    known = remembered(TestStatus, body)
    assert (known.status.phase, known.status.verdict) == (None, None)
    assert known.status.conditions == CONDITIONS[1:]


def test_times_are_whole_seconds_of_utc() -> None:
    body = written(standing(start_time=NOW + timedelta(microseconds=999_999)))
    assert body["startTime"] == "2026-11-21T12:00:00Z"


def test_a_message_never_exceeds_what_the_schema_takes() -> None:
    passes = Passes()
    passes.run()
    passes.run(pod(Role.TARGET, phase="Failed", exit_code=1, termination_message="x" * 10_000))
    assert passes.said() == ("Error", "TargetFailed")
    assert list(problems(passes.status, status_schema())) == []


def test_the_progress_of_a_hold_says_how_many_sessions_are_held() -> None:
    hold = plan(quickstart(load={"hold": {"sessions": 5000, "rampUp": "1m", "duration": "5m"}}))
    assert progress_json(hold, snapshot(held=4999))["held"] == 4999
    assert progress_json(hold, snapshot())["held"] == 0


def test_progress_is_the_snapshot_in_the_statuss_units() -> None:
    assert progress_json(plan(), snapshot()) == {
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
    shown = progress_json(plan(), snapshot(Stage.WARM_UP, iterations=0, failures=0, p99_us=None))
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
    body = written(FINISHED)
    changed = [{**item, "lastTransitionTime": time} for item in body["conditions"]]
    past = remembered(TestStatus, {**body, "startTime": time, "completionTime": time, "conditions": changed})
    assert (past.status.start_time, past.status.completion_time, past.status.conditions) == (None, None, ())


def test_more_failures_than_iterations_are_no_more_than_all() -> None:
    said = progress_json(plan(quickstart()), snapshot(iterations=1, failures=3))
    assert said["errorPercent"] == 100
