"""Errors at each limit of their rule: how many may fail, and which of them the generator may have caused."""

from dataclasses import replace
from typing import Any

import pytest
from lagging_generator import delayed, with_percentile
from plans import plan, quickstart
from runs import errors, held_step, load, retold, summary
from sshload_contract.judgement.error_rate import held_sessions, many_failed
from sshload_contract.load import HoldLoad
from sshload_contract.vocabulary import Outcome, RunEnd, Timing, Verdict, Window
from sshload_contract.wire.report import ErrorCount
from sshload_contract.wire.run_summary import RunSummary
from sshload_operator.decision.judgement import Judgement
from sshload_operator.decision.load_test.verdict import judge
from sshload_operator.state import Reason

BURST = {"burst": {"connections": 100, "repeat": 6, "interval": "5s"}}
USERS = {"users": {"stages": [{"users": 10, "duration": "30s"}]}}
HOLD = HoldLoad(sessions=50, ramp_up_s=5.0, duration_s=30.0, keep_alive_s=0.0, probe_rate=20.0)


def judged(found: RunSummary, below: str = "", **changes: Any) -> Judgement:
    """Return the judgement on a run, with a threshold on its error rate if one is given."""
    thresholds = [{"errorRate": {"below": below}}] if below else []
    return judge(plan(quickstart(thresholds=thresholds, **changes)), found)


def late(count: int, near_pause: int) -> tuple[ErrorCount, ...]:
    """Return the errors of iterations that timed out, of which so many were near a pause of the generator."""
    return (ErrorCount(Timing.TOTAL, Outcome.STEP_TIMEOUT, Window.MEASURED, count, "late", near_pause),)


@pytest.mark.parametrize(
    ("lag_us", "starts_us", "is_the_servers"),
    [
        pytest.param(99_999, 99_999, False, id="no pause is long"),
        pytest.param(100_000, 100_000, True, id="a long pause, which is known"),
        pytest.param(100_000, 120_000, True, id="starts that the pause explains"),
        pytest.param(100_000, 120_001, False, id="starts later than the pause explains"),
    ],
)
def test_refusals_far_from_pauses_are_the_servers_where_pauses_explain_all_that_came_together(
    lag_us: int, starts_us: int, *, is_the_servers: bool
) -> None:
    refused = summary(580, 20, errors=errors(20, Outcome.THROTTLED))
    found = judged(delayed(refused, starts_us, lag_us=lag_us), "1%")
    assert found.verdict is (Verdict.FAILED if is_the_servers else Verdict.INVALID)


@pytest.mark.parametrize(
    ("median_us", "is_together"), [(160_000, True), (159_999, False), (None, False)], ids=["long", "short", "unknown"]
)
def test_a_burst_came_together_if_its_spread_is_at_most_a_quarter_of_the_median(
    median_us: int | None, *, is_together: bool
) -> None:
    spread = delayed(summary(), 40_000)
    steps = tuple(
        replace(step, percentiles_us={**step.percentiles_us, "50": median_us}) if step.step == Timing.TOTAL else step
        for step in spread.trial.steps
    )
    found = judged(retold(spread, steps=steps), "1%", load=BURST)
    assert found.verdict is (Verdict.PASSED if is_together else Verdict.INVALID)


def test_a_burst_whose_iterations_are_long_at_the_tail_only_did_not_come_together() -> None:
    long = with_percentile(delayed(summary(), 40_000), Timing.TOTAL, 99, 900_000)
    assert judged(long, "1%", load=BURST).verdict is Verdict.INVALID


@pytest.mark.parametrize(("late_us", "is_made"), [(200.0, True), (201.0, False)])
def test_users_whom_delays_kept_from_a_tenth_of_the_load_and_no_more_have_made_it(
    late_us: float, *, is_made: bool
) -> None:
    """Iterations of 50 ms, in each of which the loop is waited for six times, 0.8 ms each: 5 ms with the late start."""
    lagging = delayed(summary(), 150_000)
    lagging = retold(lagging, generator=replace(lagging.trial.generator, loop_lag_mean_us=800))
    steps = tuple(
        replace(step, mean_us=late_us) if step.step == Timing.START_DELAY else step for step in lagging.trial.steps
    )
    found = judged(retold(lagging, steps=steps), "1%", load=USERS)
    assert found.verdict is (Verdict.PASSED if is_made else Verdict.INVALID)


def test_of_failures_near_pauses_and_others_only_those_near_pauses_are_told_as_the_generators() -> None:
    code = ErrorCount("exec", Outcome.EXIT_CODE, Window.MEASURED, 5, "code 1")
    found = judged(summary(982, 18, errors=(*late(13, 13), code)), "1%")
    assert (found.verdict, found.reason) == (Verdict.INVALID, Reason.GENERATOR_SATURATED)
    assert "may have caused 13 of these failures" in found.message


def test_one_failure_near_a_pause_is_no_excuse_where_the_others_are_within_noise_by_themselves() -> None:
    code = ErrorCount("exec", Outcome.EXIT_CODE, Window.MEASURED, 9, "code 1")
    found = judged(summary(590, 10, errors=(*late(1, 1), code)), "1%")
    assert (found.verdict, found.reason) == (Verdict.INCONCLUSIVE, Reason.WITHIN_NOISE)


def test_where_nothing_is_promised_about_errors_it_is_told_how_many_failed_and_how_many_may() -> None:
    assert judged(summary(450, 150)).message.startswith(
        "25 % failed (150 of 600). Without an errorRate threshold, less than 10 % may fail"
    )


def test_of_what_never_ended_no_share_has_failed() -> None:
    assert many_failed((), plan(quickstart()).spec.load, summary(0, steps=(), load=load(0)).trial) == ""


def test_the_only_iteration_of_a_run_fails_it() -> None:
    found = judged(summary(0, 1))
    assert (found.verdict, found.reason) == (Verdict.FAILED, Reason.ALL_FAILED)
    assert found.message.startswith("not one of 1 iterations succeeded")


@pytest.mark.parametrize(
    ("failed", "near_pause", "verdict"),
    [
        pytest.param(60, 1, Verdict.INVALID, id="one too many, near a pause"),
        pytest.param(61, 1, Verdict.FAILED, id="as many as may fail are the server's"),
        pytest.param(60, 0, Verdict.FAILED, id="none near a pause"),
    ],
)
def test_too_many_failures_are_the_generators_only_if_too_few_are_left_without_those_near_its_pauses(
    failed: int, near_pause: int, verdict: Verdict
) -> None:
    assert judged(summary(600 - failed, failed, errors=late(failed, near_pause))).verdict is verdict


def test_sessions_that_were_held_in_the_warm_up_were_not_held_to_the_end() -> None:
    before, measured = held_step("held.hold", 7, 0), held_step("held.hold", 37, 13)
    found = summary(steps=(*summary().trial.steps, replace(before, window=Window.WARM_UP), measured))
    assert held_sessions(HOLD, found.trial).failed == 13


def test_in_a_load_that_was_stopped_only_the_lost_sessions_have_ended() -> None:
    lost = (
        ErrorCount("held.hold", Outcome.DISCONNECTED, Window.MEASURED, 3, ""),
        ErrorCount("exec", Outcome.EXIT_CODE, Window.MEASURED, 5, ""),
        ErrorCount("held.hold", Outcome.DISCONNECTED, Window.WARM_UP, 7, ""),
    )
    found = held_sessions(HOLD, summary(end=RunEnd.STOPPED, errors=lost).trial)
    assert (found.ended, found.failed) == (3, 3)
