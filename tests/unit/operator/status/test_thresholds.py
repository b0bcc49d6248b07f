"""A threshold in a status: numbers, and one sentence that says how far from its limit the value was."""

from typing import Any

import pytest
from sshload_contract.thresholds import (
    BASELINE_UNIT,
    ErrorRateThreshold,
    LatencyThreshold,
    Terms,
    ThresholdResult,
    ThroughputThreshold,
)
from sshload_operator.api.shapes.reading import read
from sshload_operator.api.status.head import written
from sshload_operator.api.status.thresholds import ThresholdStatus
from sshload_operator.decision.load_test.thresholds import threshold_status

P99 = LatencyThreshold("total", 99, 2.0).terms
P90 = LatencyThreshold("total", 90, 0.09).terms
ERRORS = ErrorRateThreshold(0.01).terms
RATE = ThroughputThreshold(90).terms
SLOWER, FEWER = Terms("latency", 10, BASELINE_UNIT, "total", 99), Terms("throughput", 10, BASELINE_UNIT)
CAPACITY = Terms("capacity", 100, "arrivals/s")


@pytest.mark.parametrize(
    ("terms", "value", "message"),
    [
        pytest.param(P99, 500, "p99 of total below 2 s: seen, 75 % below", id="latency"),
        pytest.param(P99, 2500, "p99 of total below 2 s: seen, 25 % above", id="too slow"),
        pytest.param(ERRORS, 3.2, "error rate below 1 %: seen, 2.2 points above", id="errors"),
        pytest.param(RATE, 99, "throughput above 90/s: seen, 10 % above", id="throughput"),
        pytest.param(SLOWER, 4, "p99 of total within 10 % of the baseline: seen, 6 points to spare", id="slower"),
        pytest.param(
            FEWER, -12, "throughput within 10 % of the baseline: seen, 2 points too many", id="fewer than the baseline"
        ),
        pytest.param(P99, None, "p99 of total below 2 s: too few samples", id="nothing seen"),
        pytest.param(P90, 90.5, "p90 of total below 90 ms: seen, 0.556 % above", id="by less than one"),
        pytest.param(
            SLOWER, 9.5, "p99 of total within 10 % of the baseline: seen, 0.5 points to spare", id="half a point"
        ),
        pytest.param(
            Terms("capacity", 0.5, "users"), 1, "capacity above 0.5 users: seen, 100 % above", id="a small limit"
        ),
        pytest.param(Terms("capacity", 0, "users"), 3, "capacity above 0 users: seen", id="no limit to divide by"),
        pytest.param(ERRORS, 1, "error rate below 1 %: seen, at the limit", id="errors at the limit"),
        pytest.param(P90, 90, "p90 of total below 90 ms: seen, at the limit", id="just as slow"),
        pytest.param(
            FEWER,
            -10,
            "throughput within 10 % of the baseline: seen, at the limit",
            id="at the limit of the baseline",
        ),
        pytest.param(
            SLOWER, None, "p99 of total within 10 % of the baseline: not compared with a baseline", id="no baseline"
        ),
        pytest.param(P90, 1100, "p90 of total below 90 ms: seen, 1,122 % above", id="by more than ten times"),
        pytest.param(
            ThroughputThreshold(1.2345).terms, 1.2351, "throughput above 1.2345/s: seen, 0.0486 % above", id="nearly"
        ),
        pytest.param(
            ThroughputThreshold(0.0004).terms, 0.0002, "throughput above 0.0004/s: seen, 50 % below", id="a rare one"
        ),
        pytest.param(
            ErrorRateThreshold(0.07).terms, 7, "error rate below 7 %: seen, at the limit", id="errors just at it"
        ),
        pytest.param(CAPACITY, None, "capacity above 100 arrivals/s: no capacity is known", id="nothing found"),
    ],
)
def test_each_threshold_says_how_far_from_its_limit_it_was(terms: Terms, value: float | None, message: str) -> None:
    assert threshold_status(ThresholdResult(terms, None if value is None else "seen", None, value)).message == message


def test_a_threshold_that_broke_unseen_is_not_said_to_lack_samples() -> None:
    assert threshold_status(ThresholdResult(P99, None, met=False)).message == "p99 of total below 2 s"


def test_what_a_threshold_has_not_is_absent() -> None:
    found = written(threshold_status(ThresholdResult(CAPACITY, "118 arrivals/s", True, 118.0, 118.0, 121.0)))
    assert found == {
        "kind": "capacity",
        "limit": 100.0,
        "unit": "arrivals/s",
        "value": 118.0,
        "low": 118.0,
        "high": 121.0,
        "met": True,
        "message": "capacity above 100 arrivals/s: 118 arrivals/s, 18 % above",
    }


def test_the_smallest_limit_of_errors_is_stated_as_it_is() -> None:
    least = ErrorRateThreshold(0.000001).terms
    assert threshold_status(ThresholdResult(least, "0 % (0 of 9)", None, 0.0)).limit == 0.0001


def test_a_small_capacity_is_stated_with_the_digits_that_it_has_in_the_search() -> None:
    found = threshold_status(ThresholdResult(CAPACITY, "0.0123457 arrivals/s", False, 0.01234567, 0.01234567, 0.0131))
    assert (found.value, found.low, found.high) == (0.0123457, 0.0123457, 0.0131)


FINE = ThroughputThreshold(1.23456), ThroughputThreshold(0.0004), LatencyThreshold("total", 99.95, 0.0001234)


@pytest.mark.parametrize(
    "terms",
    [P99, P90, ERRORS, RATE, SLOWER, FEWER, CAPACITY, *(one.terms for one in FINE)],
    ids=lambda terms: terms.words,
)
def test_what_a_threshold_asks_for_is_read_of_its_numbers(terms: Terms) -> None:
    stated: dict[str, Any] = written(threshold_status(ThresholdResult(terms, "seen", met=True, value=1.0)))
    assert read(ThresholdStatus, stated).words == terms.words
