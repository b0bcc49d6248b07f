"""Capacities held against a baseline's."""

from typing import Any

import pytest
from baselines import NAMED, finished, run_to_end, seen, slower
from crd_schema import problems, status_schema
from lagging_generator import delayed
from passes import Passes
from plans import quickstart
from searches import failed, passed, searched
from sshload_contract.vocabulary import SearchEnd
from sshload_contract.wire.run_summary import RunSummary

SCHEMA = status_schema()
PROMISED = [{"latency": {"step": "total", "percentile": 99, "below": "2s"}}, {"errorRate": {"below": "1%"}}]
SEARCH = {"arrivals": {"min": 10, "max": 500, "duration": "30s"}}
WITHIN = [*PROMISED, {"capacity": {"within": "10%"}}]


def spec(*, relative: bool, **changes: Any) -> dict[str, Any]:
    own: dict[str, Any] = {"load": {"capacity": SEARCH}, "thresholds": PROMISED, "deadline": "2h"}
    return quickstart(**{**own, **({"thresholds": WITHIN, "baseline": NAMED} if relative else {}), **changes})


def found(lower: float, upper: float, **changes: Any) -> RunSummary:
    """Return a search that ended between these bounds."""
    return searched(passed(lower), failed(upper), lower=lower, upper=upper, **changes)


def most_held(**changes: Any) -> RunSummary:
    return searched(passed(500), end=SearchEnd.MOST_HELD, lower=500, **changes)


def against(new: RunSummary, *tests: Any, **changes: Any) -> Passes:
    passes = run_to_end(spec(relative=True, **changes), new, seen(*tests))
    assert list(problems(passes.status, SCHEMA)) == []
    return passes


BEFORE = finished(found(118, 121), spec(relative=False))


def test_the_baseline_has_found_its_capacity() -> None:
    assert BEFORE["status"]["reason"] == "CapacityFound"


@pytest.mark.parametrize(
    ("lower", "upper", "verdict", "reason"),
    [
        pytest.param(118, 121, "Passed", "CapacityFound", id="the same"),
        pytest.param(200, 210, "Passed", "CapacityFound", id="more"),
        pytest.param(109, 112, "Passed", "CapacityFound", id="less, surely within"),
        pytest.param(90, 94, "Failed", "ThresholdBroken", id="surely less"),
        pytest.param(104, 108, "Inconclusive", "WithinNoise", id="it may be less"),
    ],
)
def test_a_capacity_is_held_against_the_baselines(lower: float, upper: float, verdict: str, reason: str) -> None:
    assert against(found(lower, upper), BEFORE).said() == (verdict, reason)


def test_what_was_compared_is_told_with_its_bounds() -> None:
    passes = against(found(90, 94), BEFORE)
    assert passes.status["message"].endswith(
        "capacity within 10 % of the baseline before, but it was 90 to 94, "
        "0.763 (0.744 to 0.797) times the baseline's 118 to 121"
    )


def test_bounds_too_far_apart_are_told_which_precision_would_do() -> None:
    message = against(found(104, 125), BEFORE).status["message"]
    assert "spec.load.capacity.precision of 5% or finer" in message


def test_a_search_that_held_the_most_passes_where_that_is_enough() -> None:
    assert against(most_held(), BEFORE).said()[0] == "Passed"


def test_a_baseline_that_held_the_most_has_no_upper_bound_to_pass_by() -> None:
    before = finished(most_held(), spec(relative=False), verdict="Passed")
    assert against(found(480, 490), before).said() == ("Inconclusive", "WithinNoise")
    assert against(found(118, 121), before).said() == ("Failed", "ThresholdBroken")


def test_a_baseline_that_found_none_is_none() -> None:
    before = finished(searched(failed(10), end=SearchEnd.LEAST_BROKEN, upper=10), spec(relative=False))
    assert before["status"]["verdict"] == "Failed"
    assert against(found(118, 121), before).said() == ("Inconclusive", "NoBaseline")


def test_a_search_that_was_cut_short_is_not_held_against_anything() -> None:
    short = searched(passed(10), failed(20), end=SearchEnd.OUT_OF_TIME, lower=10, upper=20)
    assert against(short, BEFORE).said() == ("Inconclusive", "SearchUnfinished")


@pytest.mark.parametrize(
    ("field", "theirs"),
    [
        pytest.param("spec.thresholds", {"thresholds": PROMISED[:1]}, id="another promise"),
        pytest.param(
            "spec.load", {"load": {"capacity": {"users": {"min": 10, "max": 500, "duration": "30s"}}}}, id="of users"
        ),
    ],
)
def test_a_capacity_of_something_else_is_not_compared(field: str, theirs: dict[str, Any]) -> None:
    before = finished(found(118, 121), spec(relative=False, **theirs))
    passes = against(found(118, 121), before)
    assert passes.said() == ("Inconclusive", "BaselineDiffers")
    assert field in passes.status["message"]


@pytest.mark.parametrize(
    "theirs",
    [
        pytest.param({"min": 50, "max": 200, "duration": "30s"}, id="other bounds"),
        pytest.param({"min": 10, "max": 400, "duration": "60s"}, id="longer trials"),
    ],
)
def test_how_the_capacity_was_searched_may_differ(theirs: dict[str, Any]) -> None:
    other = {"capacity": {"arrivals": theirs, "precision": "2%", "confirm": 1}}
    before = finished(found(118, 121), spec(relative=False, load=other))
    assert against(found(118, 121), before).said() == ("Passed", "CapacityFound")


def test_capacities_are_compared_though_a_generator_lagged_because_their_trials_were_judged() -> None:
    assert against(delayed(found(118, 121), 300_000), BEFORE).said() == ("Passed", "CapacityFound")
    lagged = finished(delayed(found(118, 121), 300_000), spec(relative=False))
    assert against(found(118, 121), lagged).said() == ("Passed", "CapacityFound")


def test_a_fixed_load_is_no_baseline_of_a_search() -> None:
    before = finished(slower(1.0), quickstart(thresholds=PROMISED))
    passes = against(found(118, 121), before)
    assert passes.said() == ("Inconclusive", "BaselineDiffers")
    assert "spec.load is a search by trials such as " in passes.status["message"]
