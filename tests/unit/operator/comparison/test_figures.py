"""Which figures of a test are compared."""

from typing import Any

import pytest
from sshload_contract.vocabulary import SearchEnd
from sshload_operator.api.status.compared import (
    Figures,
    compared_figures,
    is_latency,
    most_of_each,
    most_telling,
    place,
)
from statuses import RESULTS, read_test_status, step_json

MEASURED = {
    **RESULTS,
    "completedRate": 19.5,
    "errorPercent": 0,
    "p99Ms": 50.0,
    "steps": [
        step_json("login", {50: 12.5, 99: 40}, maxMs=50, meanMs=14.5),
        step_json("up.exec", {90: 3}, meanMs=2.5),
    ],
    "target": {"cpuPerLoginMs": 7.5, "memoryPeakBytes": 1_000_000, "accepted": 10},
    "proxy": {"cpuPerLoginMs": 0.5, "cpuPerIterationMs": 0.25, "memoryPeakBytes": 3_000_000, "cpuSeconds": 5},
    "gateway": {"cpuPerIterationMs": 1.25, "memoryPeakBytes": 4_000_000, "cpuSeconds": 6},
    "generator": {"cpuPerIterationMs": 1.5, "memoryPeakBytes": 2_000_000, "workersExpected": 1},
}


def stated(**status: Any) -> Figures:
    return compared_figures(read_test_status(status))


def capacity(**found: Any) -> dict[str, Any]:
    return {"unit": "arrivals/s", "trials": [], **found}


def test_whole_tests_figures_each_steps_percentiles_and_whole_steps_means_are_compared() -> None:
    assert stated(results=MEASURED) == {
        "errorPercent": 0.0,
        "completedRate": 19.5,
        "cpuPerLoginMs": 7.5,
        "memoryPeakBytes": 1e6,
        "proxyCpuPerLoginMs": 0.5,
        "proxyCpuPerIterationMs": 0.25,
        "proxyMemoryPeakBytes": 3e6,
        "gatewayCpuPerIterationMs": 1.25,
        "gatewayMemoryPeakBytes": 4e6,
        "generatorCpuPerIterationMs": 1.5,
        "generatorMemoryPeakBytes": 2e6,
        "login.meanMs": 14.5,
        "login.p50Ms": 12.5,
        "login.p99Ms": 40.0,
        "up.exec.p90Ms": 3.0,
    }


def test_what_a_test_does_not_state_is_absent() -> None:
    assert stated() == {}
    assert stated(results={**RESULTS, "steps": []}) == {"completedRate": 20.0}


def test_of_a_search_only_the_capacity_is_compared() -> None:
    assert stated(capacity=capacity(value=90, end="found"), results=MEASURED) == {"capacity": 90.0}


@pytest.mark.parametrize("end", [end for end in SearchEnd if end is not SearchEnd.FOUND])
def test_a_bound_at_which_a_search_ended_is_no_capacity(end: SearchEnd) -> None:
    assert stated(capacity=capacity(value=90, end=str(end)), results=MEASURED) == {}


def test_where_there_are_too_many_figures_parts_of_steps_go_first_and_the_whole_iteration_stays() -> None:
    """The steps stand as they happened, and the whole iteration happens last."""
    parts = [f"s{number}.{part}" for number in range(20) for part in ("open", "write", "close", "sftpWrite")]
    names = ["connect", "login", *parts, "total"]
    found = stated(results={**RESULTS, "steps": [step_json(name, {50: 1.0}) for name in names]})
    kept = most_telling(found, 25)
    wholes = {f"s{number}.sftpWrite.p50Ms" for number in range(20)}
    assert {"completedRate", "total.p50Ms", "login.p50Ms", *wholes} <= kept
    assert len(kept) == 25
    assert most_telling(reversed(list(found)), 25) == kept


@pytest.mark.parametrize(("tests", "each"), [(2, 150), (100, 150), (200, 75)])
def test_each_test_keeps_as_many_figures_as_all_have_room_for(tests: int, each: int) -> None:
    assert most_of_each(tests) == each


def test_figures_stand_as_the_steps_happen_whatever_became_of_their_order() -> None:
    stand = [
        "completedRate",
        "errorPercent",
        "proxyCpuPerLoginMs",
        "startDelay.p50Ms",
        "via1.connect.p50Ms",
        "via1.login.p50Ms",
        "via2.connect.p50Ms",
        "connect.p50Ms",
        "kex.p50Ms",
        "auth.p50Ms",
        "login.p50Ms",
        "login.p99Ms",
        "channelOpen.p50Ms",
        "close.p50Ms",
        "command.p50Ms",
        "custom.p50Ms",
        "up.open.p50Ms",
        "up.write.p50Ms",
        "total.p50Ms",
        "total.p90Ms",
    ]
    assert sorted(sorted(stand), key=place) == stand
    assert sorted(sorted(stand, reverse=True), key=place) == stand


def test_a_load_that_was_ended_by_a_threshold_has_no_figures() -> None:
    early = {"afterSeconds": 0.7, "threshold": "error rate below 1 %"}
    assert stated(results={**MEASURED, "endedEarly": early}) == {}


def test_of_whole_tests_the_first_by_name_stay_and_the_whole_iteration_before_whole_steps() -> None:
    given = ["errorPercent", "command.p50Ms", "total.p50Ms", "completedRate", "login.p50Ms"]
    stay = ["completedRate", "errorPercent", "total.p50Ms", "command.p50Ms", "login.p50Ms"]
    for most in range(6):
        for order in (given, given[::-1]):
            assert most_telling(order, most) == set(stay[:most])


@pytest.mark.parametrize(("key", "is_one"), [("up.p50Ms", True), ("cpuPerLoginMs", False), ("up.exec.rate", False)])
def test_milliseconds_of_a_step_are_a_latency(key: str, *, is_one: bool) -> None:
    assert is_latency(key) is is_one
