"""How a running load stands, in the units that its fields name, and no more of it than a status takes."""

from typing import Any

import pytest
from plans import plan, quickstart
from runs import snapshot
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.master_log import MOST_FAILURE_KINDS, FailureKind
from sshload_operator.api.status.head import written
from sshload_operator.api.status.load_test import FailuresSoFar
from sshload_operator.decision.load_test.results import progress

PLAN = plan(quickstart())
HOLD = plan(quickstart(load={"hold": {"sessions": 400, "rampUp": "5s", "duration": "30s"}}))


def stated(**seen: Any) -> dict[str, Any]:
    return written(progress(PLAN, snapshot(**seen)))


def test_times_are_in_seconds_latencies_in_milliseconds_and_failures_in_percent() -> None:
    seen = stated(p50_us=12_500, recent_p50_us=13_000, p99_us=90_000, in_flight=4, users=7, offered_rate=20.5)
    assert seen == {
        "stage": "measuring",
        "elapsedSeconds": 15.0,
        "remainingSeconds": 20.0,
        "workersConnected": 2,
        "users": 7,
        "inFlight": 4,
        "offeredRate": 20.5,
        "completedRate": 19.5,
        "iterations": 300,
        "failures": 3,
        "p50Ms": 12.5,
        "recentP50Ms": 13.0,
        "p99Ms": 90.0,
        "errorPercent": 1.0,
    }


@pytest.mark.parametrize(
    ("iterations", "failures", "percent"), [(0, 0, None), (0, 3, None), (4, 0, 0.0), (4, 4, 100.0), (4, 9, 100.0)]
)
def test_no_more_than_all_iterations_have_failed_and_of_none_there_is_no_share(
    iterations: int, failures: int, percent: float | None
) -> None:
    assert stated(iterations=iterations, failures=failures).get("errorPercent") == percent


@pytest.mark.parametrize("held", [0, 398])
def test_only_a_load_that_holds_sessions_says_how_many_it_holds(held: int) -> None:
    assert progress(HOLD, snapshot(held=held)).held == held
    assert progress(PLAN, snapshot(held=held)).held is None


def test_only_the_most_frequent_failures_are_named() -> None:
    kinds = [
        FailureKind(outcome, 9 - number) for number, outcome in enumerate(list(Outcome)[1 : MOST_FAILURE_KINDS + 3])
    ]
    named = progress(PLAN, snapshot(failure_kinds=tuple(kinds))).failure_kinds
    assert named == tuple(FailuresSoFar(kind.outcome, kind.count) for kind in kinds[:MOST_FAILURE_KINDS])
