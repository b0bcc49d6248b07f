"""The verdict where the generator lagged: each threshold is judged by what the delay can change in it."""

from dataclasses import replace
from typing import Any

import pytest
from lagging_generator import delayed, with_percentile
from plans import plan, quickstart
from runs import errors, generator, load, retold, summary
from sshload_contract.judgement.pauses import DELAYABLE
from sshload_contract.vocabulary import Outcome, Timing, Verdict, Window
from sshload_contract.wire.report import ErrorCount
from sshload_contract.wire.run_summary import RunSummary
from sshload_operator.decision.judgement import Judgement
from sshload_operator.decision.load_test.verdict import judge
from sshload_operator.state import Reason

P99_BELOW_2S = {"latency": {"step": "total", "percentile": 99, "below": "2s"}}
ERRORS_BELOW_1_PERCENT = {"errorRate": {"below": "1%"}}
THROUGHPUT_ABOVE_19 = {"throughput": {"above": 19}}
PASSED = (Verdict.PASSED, Reason.THRESHOLDS_MET)
FAILED = (Verdict.FAILED, Reason.THRESHOLD_BROKEN)
SATURATED = (Verdict.INVALID, Reason.GENERATOR_SATURATED)
BURST = {"burst": {"connections": 100, "repeat": 6, "interval": "5s"}}
USERS = {"users": {"stages": [{"users": 10, "duration": "30s"}]}}


def judged(found: RunSummary, *thresholds: Any, **changes: Any) -> Judgement:
    return judge(plan(quickstart(thresholds=list(thresholds), **changes)), found)


def outcome(found: RunSummary, *thresholds: Any, **changes: Any) -> tuple[Verdict, Reason]:
    judgement = judged(found, *thresholds, **changes)
    return judgement.verdict, judgement.reason


def latency(below: str, step: str = "total", percentile: float = 99) -> dict[str, Any]:
    return {"latency": {"step": step, "percentile": percentile, "below": below}}


def test_promises_that_a_lagging_generator_saw_kept_with_a_wide_margin_are_kept() -> None:
    lagging = delayed(summary(599, 1), 300_000)
    judgement = judged(lagging, P99_BELOW_2S, ERRORS_BELOW_1_PERCENT, THROUGHPUT_ABOVE_19)
    assert (judgement.verdict, judgement.reason) == PASSED
    assert "Caution: p99 of total below 2 s: it was 90 ms" in judgement.message
    assert "300.0 ms late" in judgement.message


def test_a_promise_kept_by_less_than_twice_the_largest_delay_is_not_judged() -> None:
    assert outcome(delayed(summary(), 100_000), latency("400ms")) == PASSED
    judgement = judged(delayed(summary(), 160_000), latency("400ms"))
    assert (judgement.verdict, judgement.reason) == SATURATED
    assert judgement.thresholds[0].met is None
    assert judgement.thresholds[0].observed == "90 ms"
    assert "spec.workers.replicas" in judgement.message


def test_a_delay_above_a_quarter_of_the_limit_reshapes_the_load_too_much() -> None:
    assert outcome(delayed(summary(), 500_000), P99_BELOW_2S) == PASSED
    assert outcome(delayed(summary(), 500_001), P99_BELOW_2S) == SATURATED


@pytest.mark.parametrize("step", ["connect", "auth", "exec"])
def test_a_part_of_a_step_may_have_begun_late_and_is_not_judged_where_the_delay_is_not_small(step: str) -> None:
    assert outcome(delayed(summary(), 250_000), latency("2s", step)) == SATURATED
    assert outcome(delayed(summary(), 150_000), latency("2s", step)) == PASSED


def test_a_long_iteration_does_not_hide_the_delay_from_a_short_step() -> None:
    long = with_percentile(delayed(summary(), 310_000), Timing.TOTAL, 99, 8_880_000)
    for seen_us in (78_000, 341_000):
        assert outcome(with_percentile(long, Timing.AUTH, 99, seen_us), latency("250ms", "auth")) == SATURATED


def test_the_99th_9_percentile_is_held_against_the_longest_pause() -> None:
    paused = summary(generator=generator(loop_lag_p99_us=5_900, loop_lag_p999_us=200_000, loop_lag_max_us=346_800))
    assert outcome(with_percentile(paused, Timing.TOTAL, 99.9, 315_600), latency("100ms", percentile=99.9)) == SATURATED
    assert outcome(paused, latency("50ms", percentile=50)) == (Verdict.INCONCLUSIVE, Reason.WITHIN_NOISE)
    assert outcome(paused, latency("60ms", percentile=50)) == PASSED


def test_a_latency_that_is_too_long_even_without_ten_of_the_largest_delays_is_broken() -> None:
    slow = with_percentile(delayed(summary(), 300_000), Timing.TOTAL, 99, 5_000_000)
    assert outcome(slow, P99_BELOW_2S) == FAILED
    nearer = with_percentile(slow, Timing.TOTAL, 99, 4_999_999)
    assert outcome(nearer, P99_BELOW_2S) == SATURATED


def test_a_limit_below_the_shortest_latency_of_all_is_broken_however_long_single_delays_were() -> None:
    strict = latency("1ms", percentile=50)
    assert outcome(delayed(summary(), 400_000), strict) == FAILED
    assert outcome(delayed(summary(), 20_000), strict) == FAILED
    always = delayed(summary(), 400_000)
    always = retold(always, generator=replace(always.trial.generator, loop_lag_p50_us=4_000))
    assert outcome(always, strict) == SATURATED


def test_a_sound_generator_says_nothing_where_the_value_is_as_near_to_the_limit_as_its_own_delay() -> None:
    near = (Verdict.INCONCLUSIVE, Reason.WITHIN_NOISE)
    assert outcome(summary(), latency("98.1ms")) == PASSED
    assert outcome(summary(), latency("98ms")) == near
    assert outcome(summary(), latency("74.1ms")) == near
    assert outcome(summary(), latency("74ms")) == FAILED
    assert (
        "too near to the limit, because the generator's own delays may be 4 ms"
        in judged(summary(), latency("98ms")).message
    )


def test_a_used_up_core_is_judged_by_the_delay_that_it_makes() -> None:
    busy = generator(cpu_share=0.95)
    assert outcome(summary(generator=busy), P99_BELOW_2S) == PASSED
    assert outcome(summary(generator=busy), latency("100ms")) == SATURATED
    assert "95% of the CPU that it may use" in judged(summary(generator=busy), latency("100ms")).message


def test_stolen_cpu_time_is_named_as_the_cause_and_more_workers_are_no_advice() -> None:
    lagging = generator(loop_lag_max_us=400_000, loop_lag_p99_us=400_000, loop_lag_p999_us=400_000)
    stolen, own = (
        judged(summary(generator=replace(lagging, stolen_share=share)), latency("1s")) for share in (0.2, 0.01)
    )
    assert (stolen.reason, own.reason) == (Reason.CPU_STOLEN, Reason.GENERATOR_SATURATED)
    assert "gave 20% of its CPU time to others (steal)" in stolen.message
    assert "Use another machine, or one with dedicated CPUs" in stolen.message
    assert "Use more workers" not in stolen.message
    assert "Use more workers" in own.message


def test_late_starts_have_a_reason_of_their_own() -> None:
    late = delayed(summary(), 400_000, lag_us=10_000)
    assert outcome(late, latency("1s")) == (Verdict.INVALID, Reason.LATE_ARRIVALS)


def test_lag_cannot_turn_one_exit_code_into_another() -> None:
    failed = summary(0, 600, errors=errors(600, Outcome.EXIT_CODE, "exit code 3"))
    assert outcome(delayed(failed, 400_000), ERRORS_BELOW_1_PERCENT) == FAILED
    assert outcome(delayed(failed, 400_000)) == (Verdict.FAILED, Reason.ALL_FAILED)


def near_pauses(found: RunSummary) -> RunSummary:
    """Return the summary of workers who counted all of their failures near a pause of theirs."""
    return retold(found, errors=tuple(replace(error, near_pause=error.count) for error in found.trial.errors))


def test_time_outs_near_the_pauses_of_a_generator_break_nothing_and_count_twice_where_a_promise_is_kept() -> None:
    late = summary(580, 20, errors=errors(20, Outcome.KEX_TIMEOUT))
    assert outcome(late, ERRORS_BELOW_1_PERCENT) == FAILED
    paused = delayed(near_pauses(late), 400_000)
    assert outcome(paused, ERRORS_BELOW_1_PERCENT) == SATURATED
    assert outcome(paused, {"errorRate": {"below": "6%"}}) == SATURATED
    assert outcome(paused, {"errorRate": {"below": "9%"}}) == PASSED
    both = retold(late, errors=(*errors(12), *errors(8, Outcome.STEP_TIMEOUT)))
    assert outcome(delayed(near_pauses(both), 400_000), ERRORS_BELOW_1_PERCENT) == FAILED
    none_left = summary(0, 600, errors=errors(600, Outcome.CONNECT_TIMEOUT))
    assert outcome(none_left) == (Verdict.FAILED, Reason.ALL_FAILED)
    assert outcome(delayed(near_pauses(none_left), 400_000)) == SATURATED


def test_time_outs_far_from_each_pause_are_the_servers_unless_the_generator_was_late_all_the_time() -> None:
    late = summary(580, 20, errors=errors(20, Outcome.STEP_TIMEOUT))
    assert outcome(delayed(late, 400_000), ERRORS_BELOW_1_PERCENT) == FAILED
    none_left = summary(0, 600, errors=errors(600, Outcome.STEP_TIMEOUT))
    assert outcome(delayed(none_left, 400_000)) == (Verdict.FAILED, Reason.ALL_FAILED)
    for always in ({"loop_lag_p50_us": 5_001}, {"cpu_share": 0.95}):
        lagging = delayed(late, 400_000)
        lagging = retold(lagging, generator=replace(lagging.trial.generator, **always))
        assert outcome(lagging, ERRORS_BELOW_1_PERCENT) == SATURATED
    assert outcome(delayed(late, 400_000), {"errorRate": {"below": "6%"}}) == SATURATED


def test_refusals_of_connections_that_the_delay_may_have_brought_together_are_not_surely_the_servers() -> None:
    refused = summary(580, 20, errors=errors(20, Outcome.THROTTLED))
    assert outcome(refused, ERRORS_BELOW_1_PERCENT) == FAILED
    for paused in (delayed(near_pauses(refused), 90_000), delayed(refused, 90_000, lag_us=10_000)):
        assert judged(paused, ERRORS_BELOW_1_PERCENT).verdict is Verdict.INVALID
        assert judged(paused, {"errorRate": {"below": "6%"}}).verdict is Verdict.INVALID
        assert outcome(paused, {"errorRate": {"below": "9%"}}) == PASSED


@pytest.mark.parametrize("doubted", sorted(DELAYABLE - {Outcome.PENALISED}))
def test_pauses_excuse_no_server_of_which_a_third_fails_all_the_time(doubted: Outcome) -> None:
    """In a minute the generator pauses once for a second, and is near that pause for ten more."""
    always = (ErrorCount("total", doubted, Window.MEASURED, 200, "", 37),)
    for found in (summary(400, 200, errors=always), summary(0, 200, errors=always)):
        paused = delayed(found, 1_000_000)
        assert judged(paused, ERRORS_BELOW_1_PERCENT).verdict is Verdict.FAILED
        assert judged(paused).verdict is Verdict.FAILED


def test_a_penalty_may_last_longer_than_any_pause_is_felt() -> None:
    penalised = delayed(summary(400, 200, errors=errors(200, Outcome.PENALISED)), 400_000)
    assert outcome(penalised, ERRORS_BELOW_1_PERCENT) == SATURATED


def test_what_the_pause_of_one_worker_brings_together_is_refused_to_the_others_too() -> None:
    near_one = (ErrorCount("total", Outcome.THROTTLED, Window.MEASURED, 40, "", 20),)
    for lag_us in (0, 400_000):
        found = summary(560, 40, errors=near_one)
        found = delayed(found, lag_us) if lag_us else found
        assert outcome(found, ERRORS_BELOW_1_PERCENT) == SATURATED
        alone = retold(found, generator=replace(found.trial.generator, workers_expected=1, workers_connected=1))
        assert outcome(alone, ERRORS_BELOW_1_PERCENT) == FAILED


def test_a_burst_that_was_spread_proves_no_error_rate_and_its_latency_only_below_half_of_the_limit() -> None:
    assert outcome(delayed(summary(), 11_000), ERRORS_BELOW_1_PERCENT, load=BURST) == PASSED
    spread = judged(delayed(summary(), 40_000), ERRORS_BELOW_1_PERCENT, load=BURST)
    assert (spread.verdict, spread.reason) == SATURATED
    assert "the generator's own delays may have prevented failures (timeouts, and" in spread.message
    assert outcome(delayed(summary(), 240_000), latency("1200ms"), load=BURST) == PASSED
    assert outcome(delayed(summary(), 260_000), latency("1200ms"), load=BURST) == SATURATED


def test_users_whom_the_lag_kept_from_a_tenth_of_the_load_prove_nothing_that_was_kept() -> None:
    calm = delayed(summary(), 150_000)
    assert outcome(calm, P99_BELOW_2S, ERRORS_BELOW_1_PERCENT, load=USERS) == PASSED
    slowed = retold(calm, generator=replace(calm.trial.generator, loop_lag_mean_us=2_000))
    assert outcome(slowed, latency("1s"), load=USERS) == SATURATED
    assert outcome(slowed, ERRORS_BELOW_1_PERCENT, load=USERS) == SATURATED
    assert outcome(slowed, THROUGHPUT_ABOVE_19, load=USERS) == SATURATED
    assert outcome(slowed, {"throughput": {"above": 9}}, load=USERS) == PASSED
    assert outcome(slowed, {"throughput": {"above": 21}}, load=USERS) == SATURATED
    assert outcome(slowed, {"throughput": {"above": 30}}, load=USERS) == FAILED


def test_users_of_whom_some_were_refused_prove_no_error_rate_that_was_kept() -> None:
    refused = delayed(summary(999, 1, errors=errors(1, Outcome.THROTTLED)), 150_000)
    assert outcome(refused, ERRORS_BELOW_1_PERCENT) == PASSED
    assert outcome(refused, ERRORS_BELOW_1_PERCENT, load=USERS) == SATURATED


def test_a_generator_that_stood_still_for_more_than_a_tenth_of_the_window_has_not_made_the_load() -> None:
    for delay_us, expected in ((3_000_000, PASSED), (3_000_001, SATURATED)):
        assert outcome(delayed(summary(), delay_us), ERRORS_BELOW_1_PERCENT) == expected


def test_a_pause_that_had_arrivals_dropped_may_have_cost_many_times_its_length() -> None:
    paused = retold(summary(), generator=generator(loop_lag_max_us=500_000))
    assert outcome(paused, {"throughput": {"above": 21}}) == FAILED
    dropped = retold(paused, load=load(600, dropped=1))
    assert judged(dropped, {"throughput": {"above": 21}}).thresholds[0].met is None


def test_a_throughput_that_only_the_delay_of_a_sound_generator_may_have_cost_is_one_of_noise() -> None:
    sound = retold(summary(), generator=generator(loop_lag_max_us=15_000))
    assert outcome(sound, {"throughput": {"above": 20.005}})[0] is Verdict.INCONCLUSIVE


def test_a_throughput_is_judged_but_for_what_the_delay_moved_across_the_end() -> None:
    lagging = delayed(summary(), 400_000)
    assert outcome(lagging, THROUGHPUT_ABOVE_19) == PASSED
    assert outcome(lagging, {"throughput": {"above": 19.7}}) == SATURATED
    assert outcome(lagging, {"throughput": {"above": 23}}) == FAILED


def test_a_run_without_thresholds_passes_with_a_caution() -> None:
    judgement = judged(delayed(summary(), 300_000))
    assert (judgement.verdict, judgement.reason) == (Verdict.PASSED, Reason.NO_THRESHOLDS)
    assert "Caution: latencies may include 300.0 ms of the generator's own delay" in judgement.message
    assert "Caution" not in judged(summary()).message


def test_a_broken_threshold_outranks_one_that_the_delay_hides_and_that_outranks_dropped_arrivals() -> None:
    lagging = delayed(summary(500, 100, errors=errors(100)), 400_000)
    assert outcome(lagging, latency("100ms"), ERRORS_BELOW_1_PERCENT) == FAILED
    dropped = delayed(summary(load=load(600, scheduled=601, dropped=1)), 400_000)
    assert outcome(dropped, latency("100ms")) == SATURATED
    assert outcome(dropped, P99_BELOW_2S) == (Verdict.INVALID, Reason.ARRIVALS_DROPPED)
