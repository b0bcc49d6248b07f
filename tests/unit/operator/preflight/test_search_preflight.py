"""preflight of a search for the capacity: what its least or its largest trial cannot be."""

from typing import Any

import pytest
from plans import plan
from specs.search import SEARCH_ARRIVALS, SEARCH_BURST, SEARCH_HOLD, SEARCH_USERS
from specs.spec import Spec, changed
from sshload_operator.planning.preflight import SOURCE_PORTS, preflight
from sshload_operator.state import Reason

ERRORS = {"errorRate": {"below": "1%"}}
ONE_PROBE = {"min": 100, "max": 200, "loginRate": 20, "duration": "50s", "probeRate": 0.02}
PAUSES = {"min": "5s", "max": "5s"}
POOL = {"steps": [{"exec": {"command": "true"}}], "sessionReuse": "pool", "poolSize": 9}


def refused(spec: Spec) -> str:
    """Return why the run must not be started."""
    refusal = preflight(plan(spec))
    assert refusal is not None
    assert refusal[0] is Reason.LOAD_IMPOSSIBLE
    return refusal[1]


def latency(percentile: float, step: str = "total") -> list[dict[str, Any]]:
    return [{"latency": {"step": step, "percentile": percentile, "below": "1s"}}, ERRORS]


@pytest.mark.parametrize("least", [pytest.param(9.9, id="too-few"), pytest.param(10, id="enough")])
def test_the_least_trial_must_make_the_samples_of_each_percentile(least: float) -> None:
    spec = {**SEARCH_ARRIVALS, "thresholds": latency(99), "baseline": None}
    spec = changed(spec, "load.capacity.arrivals.min", least)
    if least == 10:
        assert preflight(plan(spec)) is None
    else:
        assert refused(spec) == (
            "spec.thresholds: p99 of total below 1 s takes 299 samples, and a trial of spec.load.capacity.arrivals.min"
            " (9.9) makes about 297: make its duration longer, raise min, or ask for a lower percentile"
        )


@pytest.mark.parametrize(("step", "says"), [("rare.exec", "makes about 75:"), ("often.exec", None), ("total", None)])
def test_a_step_of_some_alternatives_has_as_many_samples_as_their_weights_make(step: str, says: str | None) -> None:
    """A trial has 300 iterations, of which a quarter do the rare step."""
    steps = [{"exec": {"name": name, "command": "true"}} for name in ("often", "rare")]
    alternatives = [{"weight": 3, "steps": ["often"]}, {"weight": 1, "steps": ["often", "rare"]}]
    spec = {**SEARCH_ARRIVALS, "thresholds": latency(99, step), "baseline": None}
    spec |= {"scenario": {"steps": steps, "alternatives": alternatives}}
    spec = changed(spec, "load.capacity.arrivals.min", 10)
    assert says in refused(spec) if says else preflight(plan(spec)) is None


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        pytest.param({**SEARCH_BURST, "thresholds": latency(99)}, "makes about 150", id="bursts"),
        pytest.param({**SEARCH_HOLD, "thresholds": latency(99)}, "raise probeRate", id="probes"),
        pytest.param({**SEARCH_HOLD, "thresholds": latency(99, "held.login")}, "makes about 100", id="held-sessions"),
        pytest.param(
            changed({**SEARCH_USERS, "thresholds": latency(90)}, "load.capacity.users.thinkTime", PAUSES),
            "spec.load.capacity.users.min (1) makes about 5",
            id="users-who-think",
        ),
        pytest.param(
            {**SEARCH_ARRIVALS, "scenario": POOL, "thresholds": latency(50, "login"), "baseline": None},
            "p50 of login below 1 s cannot be judged, because a trial has no sample of it",
            id="logins-of-a-pool",
        ),
        pytest.param(
            changed({**SEARCH_HOLD, "thresholds": [ERRORS]}, "load.capacity.hold.probeRate", 0.01),
            "begins not one probe",
            id="no-probe",
        ),
        pytest.param(
            SEARCH_ARRIVALS | {"thresholds": [{"throughput": {"above": 10}}], "baseline": None},
            "throughput above 10/s cannot hold in a trial of spec.load.capacity.arrivals.min (10), which begins 10",
            id="throughput-of-arrivals",
        ),
        pytest.param(
            {**SEARCH_HOLD, "thresholds": [{"throughput": {"above": 3}}]},
            "begins 2.5 iterations",
            id="throughput-of-probes",
        ),
        pytest.param(
            {**SEARCH_BURST, "thresholds": [{"throughput": {"above": 5}}]},
            "begins 5 iterations",
            id="throughput-of-bursts",
        ),
    ],
)
def test_a_least_trial_that_cannot_hold_is_refused(spec: Spec, says: str) -> None:
    assert says in refused(spec)


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(
            changed({**SEARCH_USERS, "thresholds": latency(99)}, "load.capacity.users.thinkTime", None),
            id="users-of-whom-the-server-decides",
        ),
        pytest.param({**SEARCH_HOLD, "thresholds": latency(90)}, id="probes"),
        pytest.param(changed({**SEARCH_HOLD, "thresholds": [ERRORS]}, "load.capacity.hold", ONE_PROBE), id="one-probe"),
        pytest.param({**SEARCH_USERS, "thresholds": [{"throughput": {"above": 10}}]}, id="throughput-of-users"),
        pytest.param(
            SEARCH_ARRIVALS | {"thresholds": [{"throughput": {"above": 9.9}}], "baseline": None}, id="throughput"
        ),
    ],
)
def test_a_least_trial_that_may_hold_passes(spec: Spec) -> None:
    assert preflight(plan(spec)) is None


def test_the_largest_trial_must_find_source_ports() -> None:
    spec = changed(SEARCH_ARRIVALS, "load.capacity.arrivals.max", 2000)
    assert "the largest trial of spec.load.capacity needs 64000 source ports" in refused(spec)
    assert "set spec.workers.replicas to at least 3, or lower its max" in refused(spec)
    assert preflight(plan({**spec, "workers": {"replicas": 3}})) is None


def test_the_sessions_that_are_held_at_most_must_find_source_ports() -> None:
    assert "to at least 2" in refused(changed(SEARCH_HOLD, "load.capacity.hold.max", SOURCE_PORTS))


def test_the_largest_trial_must_have_room_for_what_sleeps() -> None:
    spec = changed(SEARCH_ARRIVALS, "scenario.steps", [{"sleep": "2s"}])
    said = refused(spec)
    assert "spec.load.capacity.arrivals.maxInFlight is 900, but the scenario sleeps 2 s" in said
    assert "the largest trial of spec.load.capacity has 1001 sessions open at once" in said
    assert preflight(plan(changed(spec, "load.capacity.arrivals.maxInFlight", 1001))) is None
