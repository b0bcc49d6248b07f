"""cautions of a search for the capacity."""

from typing import Any

import pytest
from plans import plan
from specs.search import SEARCH_ARRIVALS, SEARCH_BURST, SEARCH_HOLD, SEARCH_USERS
from specs.small import SMALL
from specs.spec import Spec, changed
from sshload_operator.planning.cautions import cautions

ERRORS = {"errorRate": {"below": "1%"}}
FINE: Spec = changed(SEARCH_ARRIVALS, "load.capacity.arrivals.process", "constant")


def latency(percentile: float, step: str = "total") -> dict[str, Any]:
    return {"latency": {"step": step, "percentile": percentile, "below": "1s"}}


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(FINE, id="arrivals"),
        pytest.param({**SEARCH_USERS, "thresholds": [latency(75), ERRORS]}, id="users"),
        pytest.param(changed({**SEARCH_BURST, "deadline": "30m"}, "load.capacity.burst.max", 128), id="bursts"),
        pytest.param({**SEARCH_HOLD, "thresholds": [latency(90), ERRORS]}, id="sessions"),
        pytest.param(
            changed({**SEARCH_USERS, "thresholds": [latency(99), ERRORS]}, "load.capacity.users.thinkTime", None),
            id="users-of-whom-the-server-decides",
        ),
    ],
)
def test_a_search_that_can_be_judged_in_its_time_needs_no_caution(spec: Spec) -> None:
    assert cautions(plan(spec)) == ()


def test_a_search_without_an_error_rate_is_told_what_it_does_not_see() -> None:
    (caution,) = cautions(plan(SEARCH_USERS))
    assert "spec.thresholds has no errorRate: connections that the server refuses or drops have no latency" in caution


def test_a_burst_is_held_against_the_backlog_at_its_most() -> None:
    (caution,) = cautions(plan({**SEARCH_BURST, "deadline": "30m"}))
    assert "spec.load.capacity.burst opens up to 2000 connections at once, and sshd's listen backlog is 128" in caution


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        pytest.param(
            {**FINE, "thresholds": [latency(99, "login"), ERRORS, *FINE["thresholds"][2:]]},
            "p99 of login below 1 s takes 299 samples. The least trial makes 300, and"
            " only 297 of them may remain, by chance",
            id="failures",
        ),
        pytest.param(
            changed(
                changed({**SEARCH_ARRIVALS, "thresholds": [latency(90), ERRORS]} | {"baseline": None},
                        "load.capacity.arrivals.min", 1.2),
                "load.capacity.arrivals.max", 50),
            "p90 of total below 1 s takes 29 samples. The least trial makes 36, and"
            " only 18 of them may remain, by chance",
            id="chance",
        ),
    ],
)  # fmt: skip
def test_a_percentile_that_the_least_trial_has_just_enough_samples_for_is_spoken_of(spec: Spec, says: str) -> None:
    (caution,) = cautions(plan(spec))
    assert says in caution


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        pytest.param(
            changed(FINE, "deadline", "9m"),
            "leaves the search 330 s, time for 10 trials of 32 s, and it may take 13",
            id="arrivals",
        ),
        pytest.param(
            {**SEARCH_HOLD, "thresholds": [latency(90), ERRORS], "deadline": "24m"},
            "leaves the search 1230 s, time for 12 trials of 100.3 s, and it may take 13",
            id="sessions-whose-ramp-grows",
        ),
    ],
)
def test_a_deadline_that_a_search_likely_does_not_keep_is_spoken_of(spec: Spec, says: str) -> None:
    (caution,) = cautions(plan(spec))
    assert says in caution


def test_what_all_trials_write_is_added_up() -> None:
    write = {"sftpWrite": {"path": "up-{iteration}", "size": "1Mi"}}
    search = {"arrivals": {"min": 1, "max": 2, "duration": "10s"}, "precision": "50%", "confirm": 0}
    spec = {
        **SMALL,
        "scenario": {"steps": [write]},
        "load": {"capacity": search},
        "thresholds": [ERRORS],
        "warmUp": "0s",
    }
    assert cautions(plan(spec)) == ()
    (caution,) = cautions(plan({**spec, "target": {"managed": {"fixtures": {"spare": "50Mi"}}}}))
    assert "is full after 50 iterations, and the run may make up to 80" in caution


def test_a_pool_is_held_against_the_sessions_at_most() -> None:
    scenario = {**SMALL["scenario"], "sessionReuse": "pool", "poolSize": 5}
    spec = {**SEARCH_USERS, "scenario": scenario, "thresholds": [ERRORS]}
    (caution,) = cautions(plan(spec))
    assert "up to 1000 iterations share the 5 sessions" in caution


def test_a_search_is_as_fine_as_what_it_is_held_against() -> None:
    assert cautions(plan(changed(FINE, "load.capacity.precision", "10%"))) == ()
    (caution,) = cautions(plan(changed(FINE, "load.capacity.precision", "10.1%")))
    assert "precision is 10.1%, and spec.thresholds asks for a capacity within 10% of the baseline's" in caution


def test_a_search_in_which_arrivals_are_dropped_before_a_latency_is_broken_is_told_so() -> None:
    few = changed(FINE, "load.capacity.arrivals.maxInFlight", 20)
    (caution,) = cautions(plan(few))
    assert "spec.load.capacity.arrivals.maxInFlight is 20, and at max " in caution
    assert "raise it to " in caution
    enough = int(caution.split("raise it to ")[1].split()[0])
    assert cautions(plan(changed(FINE, "load.capacity.arrivals.maxInFlight", enough))) == ()
