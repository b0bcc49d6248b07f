"""What is promised of latencies and rates at each limit of the rule on the generator's own delay."""

from dataclasses import replace
from typing import Any

import pytest
from lagging_generator import delayed, with_percentile
from plans import plan, quickstart
from runs import errors, generator, load, retold, summary
from sshload_contract.judgement.figures import shortfall
from sshload_contract.judgement.own_delay import own_delay
from sshload_contract.judgement.threshold import judge_threshold, why_too_few
from sshload_contract.judgement.validity import figures_spoiled
from sshload_contract.load import Load, ThinkTime, UsersLoad, UsersStage
from sshload_contract.thresholds import ErrorRateThreshold, LatencyThreshold, Threshold, ThroughputThreshold
from sshload_contract.vocabulary import Invalidity, Outcome, Timing, Verdict, Window
from sshload_contract.wire.report import ErrorCount
from sshload_contract.wire.run_summary import RunSummary, StepStats
from sshload_operator.decision.judgement import Judgement
from sshload_operator.decision.load_test.verdict import judge

BURST = {"burst": {"connections": 100, "repeat": 6, "interval": "5s"}}
USERS = {"users": {"stages": [{"users": 10, "duration": "30s"}]}}
ARRIVALS = plan(quickstart()).spec.load
PASSED, FAILED, NOISE, DELAY = Verdict.PASSED, Verdict.FAILED, Verdict.INCONCLUSIVE, Verdict.INVALID


def judged(found: RunSummary, threshold: dict[str, Any], **changes: Any) -> Judgement:
    return judge(plan(quickstart(thresholds=[threshold], **changes)), found)


def verdict(found: RunSummary, threshold: dict[str, Any], **changes: Any) -> Verdict:
    return judged(found, threshold, **changes).verdict


def latency(below: str, percentile: float = 99) -> dict[str, Any]:
    return {"latency": {"step": "total", "percentile": percentile, "below": below}}


def above(rate: float) -> dict[str, Any]:
    return {"throughput": {"above": rate}}


def settled(threshold: Threshold, found: RunSummary) -> bool | None:
    """Return what a search takes for measured where a threshold is in doubt."""
    return judge_threshold(threshold, ARRIVALS, found.trial).settled().result.met


def changed(found: RunSummary, name: str, **figures: Any) -> RunSummary:
    """Return the summary with other figures of a step of the measured window."""
    steps = tuple(
        replace(step, **figures) if (step.step, step.window) == (name, Window.MEASURED) else step
        for step in found.trial.steps
    )
    return retold(found, steps=steps)


@pytest.mark.parametrize(("percentile", "delay_ms"), [(90, 1.5), (99, 4), (99.9, 9)])
def test_a_percentile_is_near_its_limit_by_twice_the_delay_that_is_ten_times_as_rare(
    percentile: float, delay_ms: float
) -> None:
    seen_ms = {90: 60, 99: 90, 99.9: 120}[percentile] + 2 * delay_ms
    assert verdict(summary(), latency(f"{seen_ms + 0.1}ms", percentile)) is PASSED
    assert verdict(summary(), latency(f"{seen_ms}ms", percentile)) is NOISE


@pytest.mark.parametrize(("delay_us", "expected"), [(20_000, NOISE), (20_001, DELAY)])
def test_a_delay_of_20_ms_is_that_of_a_sound_generator(delay_us: int, expected: Verdict) -> None:
    lagging = generator(loop_lag_p99_us=delay_us, loop_lag_p999_us=delay_us, loop_lag_max_us=delay_us)
    assert verdict(summary(generator=lagging), latency("30ms", 90)) is expected


@pytest.mark.parametrize(("delay_us", "is_told"), [(40_000, False), (40_001, True)])
def test_a_delay_of_a_tenth_of_the_limit_needs_no_caution(delay_us: int, *, is_told: bool) -> None:
    found = judged(delayed(summary(), delay_us), latency("400ms"))
    assert found.verdict is PASSED
    assert ("Caution: p99 of total below 400 ms: it was 90 ms" in found.message) is is_told


@pytest.mark.parametrize(("cpu_share", "expected"), [(None, PASSED), (0.9, PASSED), (0.91, DELAY)])
def test_more_than_nine_tenths_of_a_core_are_a_core_that_is_used_up(cpu_share: float | None, expected: Verdict) -> None:
    assert verdict(summary(generator=generator(cpu_share=cpu_share)), latency("100ms")) is expected


@pytest.mark.parametrize(("median_us", "expected"), [(5_000, FAILED), (5_001, DELAY)])
def test_a_worker_whose_median_delay_is_5_ms_is_late_in_its_pauses_only(median_us: int, expected: Verdict) -> None:
    late = delayed(summary(580, 20, errors=errors(20, Outcome.STEP_TIMEOUT)), 400_000)
    late = retold(late, generator=replace(late.trial.generator, loop_lag_p50_us=median_us))
    assert verdict(late, {"errorRate": {"below": "1%"}}) is expected


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"stolen_share": 0.03}, Invalidity.CPU_STOLEN),
        ({"stolen_share": 0.029}, Invalidity.LATE_ARRIVALS),
        ({"stolen_share": None}, Invalidity.LATE_ARRIVALS),
        ({"cpu_share": None}, Invalidity.LATE_ARRIVALS),
        ({"cpu_share": 0.95}, Invalidity.GENERATOR_SATURATED),
        ({"loop_lag_max_us": 400_000}, Invalidity.GENERATOR_SATURATED),
    ],
)
def test_the_cause_of_late_starts_is_steal_or_a_used_up_core_or_the_event_loop_where_these_explain_them(
    changes: dict[str, Any], cause: Invalidity
) -> None:
    late = delayed(summary(), 400_000, lag_us=10_000)
    assert own_delay(retold(late, generator=replace(late.trial.generator, **changes)).trial).invalidity is cause


def test_the_delay_is_told_with_all_that_was_seen_of_it() -> None:
    late = delayed(summary(), 400_000, lag_us=123_400)
    assert own_delay(late.trial).advice == (
        "A worker's event loop woke up to 123.4 ms late (123.4 ms at p99), iterations began up to 400.0 ms after they"
        " were due, a worker used 20% of the CPU that it may use in its busiest second, and for 2% of the time it was"
        " ready to run and got no CPU. Use more workers (spec.workers.replicas), whole CPUs for them, or nodes that"
        " they do not share with the target"
    )
    unknown = retold(late, generator=replace(late.trial.generator, cpu_share=None, run_delay_share=None))
    assert (
        "its CPU use is not known, because the run took less than a second, and this kernel does not report how long it"
        " waited for a CPU"
    ) in own_delay(unknown.trial).advice


def test_where_no_start_was_timed_the_delay_is_that_of_the_event_loop() -> None:
    found = retold(summary(), steps=tuple(step for step in summary().trial.steps if step.step != Timing.START_DELAY))
    assert own_delay(found.trial).largest_us == 9_000


@pytest.mark.parametrize(
    ("starts_us", "delays_us"),
    [
        ((2_000, 3_000, 5_000, 10_000), (2_000, 3_000, 5_000, 10_000)),
        ((50, 1_000, 3_000, 8_000), (100, 1_500, 4_000, 9_000)),
    ],
    ids=["starts", "the event loop"],
)
def test_the_delay_at_each_percentile_is_that_of_starts_or_of_the_event_loop_whichever_is_longer(
    starts_us: tuple[int, ...], delays_us: tuple[int, ...]
) -> None:
    *percentiles_us, max_us = starts_us
    stated = dict(zip(("50", "99", "99.9"), percentiles_us, strict=True))
    found = own_delay(changed(summary(), Timing.START_DELAY, percentiles_us=stated, max_us=max_us).trial)
    assert (found.p50_us, found.p99_us, found.p999_us, found.largest_us) == delays_us


def test_of_few_starts_the_longest_delay_stands_for_each_percentile() -> None:
    few = changed(summary(), Timing.START_DELAY, max_us=30_000, percentiles_us={"50": 100, "99": None, "99.9": None})
    assert (own_delay(few.trial).p50_us, own_delay(few.trial).p99_us, own_delay(few.trial).p999_us) == (
        100,
        30_000,
        30_000,
    )
    untold = changed(few, Timing.START_DELAY, max_us=None)
    assert own_delay(untold.trial).largest_us == 9_000


@pytest.mark.parametrize(("below", "expected"), [("19ms", FAILED), ("19.001ms", DELAY)])
def test_half_of_the_shortest_latency_less_ten_median_delays_is_the_servers(below: str, expected: Verdict) -> None:
    assert verdict(delayed(summary(), 400_000), latency(below)) is expected


def test_the_shortest_latency_of_users_may_be_a_wait_for_each_other() -> None:
    assert verdict(delayed(summary(), 400_000), latency("19ms"), load=USERS) is DELAY


def test_a_step_of_which_no_shortest_latency_is_known_may_have_been_short() -> None:
    assert verdict(changed(delayed(summary(), 400_000), Timing.TOTAL, min_us=None), latency("19ms")) is DELAY


@pytest.mark.parametrize(("seen_us", "expected"), [(199_999, PASSED), (200_000, DELAY)])
def test_a_latency_may_be_twice_the_largest_delay_longer_than_was_seen(seen_us: int, expected: Verdict) -> None:
    found = with_percentile(delayed(summary(), 100_000), Timing.TOTAL, 99, seen_us)
    assert verdict(found, latency("400ms")) is expected


@pytest.mark.parametrize(("seen_us", "expected"), [(119_999, PASSED), (120_000, DELAY)])
def test_a_latency_of_a_burst_must_then_be_below_half_of_its_limit(seen_us: int, expected: Verdict) -> None:
    found = with_percentile(delayed(summary(), 240_000), Timing.TOTAL, 99, seen_us)
    assert verdict(found, latency("1200ms"), load=BURST) is expected


@pytest.mark.parametrize(("percentile", "expected"), [(50, PASSED), (49, DELAY)])
def test_percentiles_below_the_median_are_not_judged_where_the_delay_is_not_small(
    percentile: float, expected: Verdict
) -> None:
    found = with_percentile(delayed(summary(), 400_000), Timing.TOTAL, percentile, 45_000)
    assert verdict(found, latency("2s", percentile)) is expected


@pytest.mark.parametrize(("late_us", "expected"), [(200.0, PASSED), (201.0, DELAY)])
def test_a_latency_of_users_is_judged_if_delays_kept_them_from_a_tenth_of_the_load_at_most(
    late_us: float, expected: Verdict
) -> None:
    """Iterations of 50 ms, in each of which the loop is waited for six times, 0.8 ms each: 5 ms with the late start."""
    lagging = changed(delayed(summary(), 150_000), Timing.START_DELAY, mean_us=late_us)
    lagging = retold(lagging, generator=replace(lagging.trial.generator, loop_lag_mean_us=800))
    assert verdict(lagging, latency("1s"), load=USERS) is expected


@pytest.mark.parametrize(
    ("spec", "kept", "unsure", "broken"),
    [
        pytest.param({}, 17.99, (18, 29.99), 30, id="arrivals"),
        pytest.param({"load": BURST}, 7.99, (8, 29.99), 30, id="a burst, half of which is sure"),
        pytest.param({"load": USERS}, 7.66, (7.67, 37.04), 37.05, id="users, each of whom may end one later"),
    ],
)
def test_a_throughput_of_a_lagging_generator_is_judged_by_what_its_delay_can_have_moved(
    spec: dict[str, Any], kept: float, unsure: tuple[float, float], broken: float
) -> None:
    """Pauses of 1.5 s in 30 s at 20/s move 1/s: twice that may be too much, ten times that too little."""
    lagging = delayed(summary(), 1_500_000)
    assert verdict(lagging, above(kept), **spec) is PASSED
    assert {verdict(lagging, above(rate), **spec) for rate in unsure} == {DELAY}
    assert verdict(lagging, above(broken), **spec) is FAILED


def test_users_who_did_nothing_but_wait_for_the_generator_break_no_throughput() -> None:
    lagging = delayed(summary(), 400_000)
    lagging = retold(lagging, generator=replace(lagging.trial.generator, loop_lag_mean_us=20_000))
    assert verdict(lagging, above(99_999), load=USERS) is DELAY


def prompt(**changes: Any) -> RunSummary:
    """Return the summary of a generator without any delay."""
    never = dict.fromkeys((f"loop_lag_{name}_us" for name in ("mean", "p50", "p99", "p999", "max")), 0)
    found = changed(summary(**changes), Timing.START_DELAY, max_us=0, percentiles_us={})
    return retold(found, generator=generator(**never))


@pytest.mark.parametrize(("rate", "expected"), [(19.99, PASSED), (20, FAILED), (20.01, FAILED)])
def test_a_throughput_must_be_above_its_limit(rate: float, expected: Verdict) -> None:
    assert verdict(prompt(), above(rate)) is expected


def test_failures_near_pauses_may_each_have_cost_an_iteration() -> None:
    late = (ErrorCount(Timing.TOTAL, Outcome.STEP_TIMEOUT, Window.MEASURED, 6, "late", 6),)
    found = prompt(succeeded=594, failed=6, errors=late)
    assert verdict(found, above(19.99)) is NOISE
    assert verdict(found, above(20)) is FAILED


def test_a_pause_of_a_sound_generator_may_have_cost_what_was_due_in_it_and_ten_times_that_where_it_dropped() -> None:
    paused = retold(prompt(), generator=replace(prompt().trial.generator, loop_lag_max_us=15_000))
    assert verdict(paused, above(20)) is NOISE
    assert verdict(paused, above(20.009)) is NOISE
    assert verdict(paused, above(20.011)) is FAILED
    dropped = retold(paused, load=replace(paused.trial.load, dropped=1))
    assert "may have cost 0.1/s" in judge_threshold(ThroughputThreshold(20.09), ARRIVALS, dropped.trial).doubt
    assert judge_threshold(ThroughputThreshold(20.11), ARRIVALS, dropped.trial).doubt == ""


def test_a_window_without_length_is_judged_too() -> None:
    assert judge_threshold(ThroughputThreshold(1), ARRIVALS, summary(load=load(600, duration_s=0.0)).trial).doubt == ""


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        (LatencyThreshold("total", 99, 0.090), False),
        (LatencyThreshold("total", 99, 0.091), True),
        (ErrorRateThreshold(0.02), False),
        (ErrorRateThreshold(0.021), True),
        (ThroughputThreshold(20), False),
    ],
)
def test_a_search_takes_what_a_sound_generator_measured_where_it_is_too_near_to_tell(
    threshold: Threshold, *, expected: bool
) -> None:
    found = summary(588, 12, load=load(588, 12, completed_rate=20.0))
    assert judge_threshold(threshold, ARRIVALS, found.trial).doubt
    assert settled(threshold, found) is expected


@pytest.mark.parametrize(("longest_us", "expected"), [(20_000, False), (20_001, None)])
def test_a_search_takes_no_throughput_for_measured_that_a_long_pause_may_have_cost(
    longest_us: int, *, expected: bool | None
) -> None:
    found = summary(generator=generator(loop_lag_max_us=longest_us))
    assert settled(ThroughputThreshold(20), found) is expected


def test_a_search_takes_no_promise_for_kept_or_broken_of_which_a_generator_that_lagged_cannot_tell() -> None:
    lagging = delayed(summary(), 400_000)
    for threshold in (LatencyThreshold("total", 99, 0.1), ThroughputThreshold(20), ErrorRateThreshold(1e-9)):
        assert settled(threshold, lagging) is None


def test_of_nothing_that_ended_no_error_rate_is_judged() -> None:
    nothing, threshold = summary(0, steps=(), load=load(0)), ErrorRateThreshold(0.01)
    found = judge_threshold(threshold, ARRIVALS, nothing.trial)
    assert why_too_few([threshold], [found], nothing.trial) == (
        "error rate below 1 % cannot be judged: no iteration ended",
    )


def test_only_what_has_too_few_samples_is_told_to_have_too_few() -> None:
    thresholds = (ErrorRateThreshold(0.01), LatencyThreshold("total", 99, 0.098))
    found = [judge_threshold(threshold, ARRIVALS, summary().trial) for threshold in thresholds]
    assert found[1].doubt
    assert why_too_few(thresholds, found, summary().trial) == ()


def test_what_was_seen_is_told_in_the_unit_of_its_limit() -> None:
    thresholds = (LatencyThreshold("total", 99, 2.0), ErrorRateThreshold(0.5), ThroughputThreshold(1))
    found = summary(588, 12)
    results = [judge_threshold(one, ARRIVALS, found.trial).result for one in thresholds]
    assert [result.value for result in results] == [90, 2, 19.6]
    assert [(result.low, result.high) for result in results] == [(85.5, 95.4), (None, None), (None, None)]


def users(think_time: ThinkTime) -> Load:
    return UsersLoad((UsersStage(users=10, duration_s=30.0),), spawn_rate=10.0, think_time=think_time)


def of_users(**total: Any) -> RunSummary:
    """Return the summary of 60 us late starts, and iterations of 50 ms with six timings, each of which lags 0.2 ms."""
    return changed(summary(), Timing.TOTAL, **total)


def without(found: RunSummary, name: str) -> RunSummary:
    return retold(found, steps=tuple(step for step in found.trial.steps if step.step != name))


BUSY = users(ThinkTime(0.0, 0.0))


@pytest.mark.parametrize(
    ("found", "model", "share"),
    [
        pytest.param(of_users(), ARRIVALS, 0.0, id="an open model"),
        pytest.param(of_users(), BUSY, 1_260 / 50_000, id="users"),
        pytest.param(of_users(), users(ThinkTime(0.1, 0.3)), 1_260 / 250_000, id="users who think"),
        pytest.param(of_users(mean_us=1_000.0), BUSY, 1.0, id="more than an iteration takes"),
        pytest.param(of_users(mean_us=0.0), BUSY, 1.0, id="iterations that took no time"),
        pytest.param(of_users(mean_us=None), BUSY, 1.0, id="iterations whose mean is not known"),
        pytest.param(without(of_users(), Timing.TOTAL), BUSY, 1.0, id="iterations that were not timed"),
        pytest.param(without(of_users(), Timing.START_DELAY), BUSY, 1_000 / 50_000, id="starts that were not timed"),
        pytest.param(
            changed(of_users(), Timing.START_DELAY, mean_us=None), BUSY, 1_200 / 50_000, id="late starts not known"
        ),
    ],
)
def test_delays_lower_the_load_of_users_by_their_share_of_an_iteration(
    found: RunSummary, model: Load, share: float
) -> None:
    assert shortfall(model, found.trial) == pytest.approx(share, rel=1e-9)


def tail(found: RunSummary) -> StepStats:
    return next(step for step in found.trial.steps if (step.step, step.window) == (Timing.TOTAL, Window.MEASURED))


@pytest.mark.parametrize(
    ("p99_us", "slept_s", "delay_us", "is_spoiled"),
    [
        (90_000, 0.0, 20_000, False),
        (90_000, 0.0, 20_001, True),
        (400_000, 0.0, 40_000, False),
        (400_000, 0.0, 40_001, True),
        (1_400_000, 1.0, 40_000, False),
        (1_400_000, 1.0, 40_001, True),
    ],
)
def test_figures_can_be_compared_if_the_delay_is_20_ms_or_a_tenth_of_their_tail_without_sleeps(
    p99_us: int, slept_s: float, delay_us: int, *, is_spoiled: bool
) -> None:
    found = with_percentile(delayed(summary(), delay_us), Timing.TOTAL, 99, p99_us)
    assert (figures_spoiled(found.trial, slept_s) is not None) is is_spoiled


def test_figures_of_a_used_up_core_cannot_be_compared_and_it_is_told_why() -> None:
    found = figures_spoiled(summary(generator=generator(cpu_share=0.95)).trial)
    assert found is not None
    assert found.message.startswith(
        "latencies may include 9.0 ms of the generator's own delay (limit 20.0 ms at p99, and 90% of a core): A worker"
    )
    assert figures_spoiled(without(summary(), Timing.TOTAL).trial) is None
