"""The results of a hold: how many were held, what each took of the target, and what a newcomer saw of them."""

from dataclasses import replace
from typing import Any

import pytest
from crd_schema import problems, status_schema
from plans import plan, quickstart
from runs import held_step, load, retold, summary, target_stats
from sshload_contract.judgement.error_rate import Attempts, held_sessions
from sshload_contract.percentiles import percentile_key
from sshload_contract.vocabulary import Outcome, RunEnd, Timing, Window
from sshload_contract.wire.report import ErrorCount
from sshload_contract.wire.run_summary import RunSummary
from sshload_contract.wire.target import TargetStats
from sshload_operator.decision.load_test.hold import per_session
from statuses import results_json

HOLD = plan(quickstart(load={"hold": {"sessions": 400, "rampUp": "5s", "duration": "30s", "probeRate": 20}}))
SCHEMA = status_schema()["properties"]["results"]
IDLE = target_stats(0, memory_bytes=20_000_000, processes=3)
HELD = target_stats(500, memory_bytes=820_000_000, processes=803, sessions=400)


def results_of(found: RunSummary) -> dict[str, Any]:
    """Return the results, which are as the CRD has them."""
    results = results_json(HOLD, found)
    assert list(problems(results, SCHEMA, "results")) == []
    return results


def held_summary(held_target: TargetStats | None = HELD, **changes: Any) -> RunSummary:
    """Return the summary of a run that held 400 sessions."""
    held_load = load(600, held_most=400, held_least=400)
    return summary(load=held_load, target_before=IDLE, target_held=held_target, **changes)


def with_logins(found: RunSummary, window: Window, **percentiles_us: int | None) -> RunSummary:
    """Return the summary with these percentiles (p50, p99) of the logins in a window, known to a tenth."""
    stated = {percentile_key(float(name[1:])): value for name, value in percentiles_us.items()}
    low, high = ({key: value and round(value * by) for key, value in stated.items()} for by in (0.9, 1.1))
    steps = tuple(
        replace(step, percentiles_us=stated, percentiles_low_us=low, percentiles_high_us=high)
        if (step.step, step.window) == (Timing.LOGIN, window)
        else step
        for step in found.trial.steps
    )
    return retold(found, steps=steps)


def test_a_hold_tells_how_many_sessions_were_held_and_counts_the_lost_ones_as_errors() -> None:
    found = summary(load=load(600, held_most=398, held_least=390))
    results = results_of(retold(found, steps=(*found.trial.steps, held_step("held.hold", 390, 8))))
    assert (results["hold"]["heldMost"], results["hold"]["heldLeast"]) == (398, 390)
    assert results["errorPercent"] == 1.0
    assert (results["iterations"], results["failures"]) == (600, 0)


def test_of_the_sessions_of_a_hold_that_was_stopped_only_those_count_that_were_lost_before() -> None:
    errors = (
        ErrorCount("held.keepAlive", Outcome.DISCONNECTED, Window.MEASURED, 8, "gone"),
        ErrorCount("login", Outcome.AUTH_REJECTED, Window.MEASURED, 5, "no"),
    )
    found = held_summary(errors=errors, end=RunEnd.STOPPED)
    assert held_sessions(HOLD.spec.load, found.trial) == Attempts(failed=8, ended=8)


def test_a_hold_that_ended_before_its_ramp_did_tells_nothing_of_it() -> None:
    assert "hold" not in results_of(summary())


def test_no_other_load_speaks_of_held_sessions() -> None:
    results = results_json(plan(quickstart()), summary())
    assert "hold" not in results
    assert "memoryPerSessionBytes" not in results["target"]


def test_a_fresh_login_beside_the_held_sessions_is_set_against_one_with_nothing_held() -> None:
    found = with_logins(held_summary(), Window.WARM_UP, p50=40_000, p99=80_000)
    found = with_logins(found, Window.MEASURED, p50=50_000, p99=120_000)
    assert results_of(found)["hold"]["freshLogin"] == {
        "p50Ms": 50.0,
        "p99Ms": 120.0,
        "aloneP50Ms": 40.0,
        "aloneP99Ms": 80.0,
        "p50Ratio": 1.25,
        "p50RatioLow": 1.023,
        "p50RatioHigh": 1.528,
    }


def test_a_percentile_of_too_few_logins_is_absent_and_so_is_its_ratio() -> None:
    found = with_logins(held_summary(), Window.WARM_UP, p50=None, p99=None)
    found = with_logins(found, Window.MEASURED, p50=50_000, p99=None)
    assert results_of(found)["hold"]["freshLogin"] == {"p50Ms": 50.0}


def test_a_hold_without_probes_says_nothing_of_fresh_logins() -> None:
    assert "freshLogin" not in results_of(held_summary(steps=()))["hold"]


def test_memory_and_processes_per_session_are_what_the_target_took_beyond_its_idle_self() -> None:
    target = results_of(held_summary())["target"]
    assert target["memoryPerSessionBytes"] == 2_000_000
    assert target["processesPerSession"] == 2.0
    assert target["memoryPerSessionUpperBound"] is False


def test_memory_that_counts_twice_what_is_shared_is_said_to_be_an_upper_bound() -> None:
    assert results_of(held_summary(replace(HELD, memory_is_upper_bound=True)))["target"]["memoryPerSessionUpperBound"]


@pytest.mark.parametrize(
    "then",
    [
        pytest.param(None, id="it did not answer"),
        pytest.param(replace(HELD, memory_bytes=IDLE.memory_bytes), id="it took no more than before"),
        pytest.param(replace(HELD, processes=IDLE.processes), id="it had no more processes than before"),
        pytest.param(replace(HELD, sessions=0), id="it had no session"),
        pytest.param(replace(HELD, accepted=-1), id="it was restarted"),
    ],
)
def test_what_a_session_takes_is_absent_where_it_cannot_be_told(then: TargetStats | None) -> None:
    assert (
        results_of(held_summary(then))["target"]
        .keys()
        .isdisjoint({"memoryPerSessionBytes", "memoryPerSessionUpperBound", "processesPerSession"})
    )


def test_a_single_session_of_one_process_and_one_byte_is_told() -> None:
    one = replace(IDLE, memory_bytes=IDLE.memory_bytes + 1, processes=IDLE.processes + 1, sessions=1)
    target = results_of(held_summary(one))["target"]
    assert (target["memoryPerSessionBytes"], target["processesPerSession"]) == (1, 1.0)


def test_a_target_that_was_not_read_before_tells_no_use_per_session() -> None:
    assert per_session(held_summary().trial) is not None
    assert per_session(retold(held_summary(), target_before=None).trial) is None


@pytest.mark.parametrize(
    "known", [{"held_most": 400, "held_least": None}, {"held_most": None, "held_least": 400}], ids=["most", "fewest"]
)
def test_a_hold_of_which_only_one_number_is_known_tells_nothing(known: dict[str, Any]) -> None:
    assert "hold" not in results_of(summary(load=load(600, **known)))


def test_what_was_there_before_the_sessions_is_not_theirs() -> None:
    busy = replace(IDLE, sessions=80, accepted=500)
    target = results_of(retold(held_summary(), target_before=busy))["target"]
    assert (target["memoryPerSessionBytes"], target["processesPerSession"]) == (2_500_000, 2.5)


@pytest.mark.parametrize("window", [Window.WARM_UP, Window.MEASURED])
def test_logins_that_took_no_time_have_no_ratio(window: Window) -> None:
    other = Window.MEASURED if window is Window.WARM_UP else Window.WARM_UP
    found = with_logins(with_logins(held_summary(), window, p50=0, p99=80_000), other, p50=40_000, p99=80_000)
    assert "p50Ratio" not in results_of(found)["hold"]["freshLogin"]


@pytest.mark.parametrize("window", Window)
def test_without_logins_in_a_window_the_others_are_told(window: Window) -> None:
    found = held_summary()
    steps = tuple(step for step in found.trial.steps if (step.step, step.window) != (Timing.LOGIN, window))
    told = results_of(retold(found, steps=steps))["hold"]["freshLogin"]
    names = ("aloneP50Ms", "aloneP99Ms") if window is Window.MEASURED else ("p50Ms", "p99Ms")
    assert told == dict(zip(names, (45.0, 90.0), strict=True))
