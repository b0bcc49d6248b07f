from collections.abc import Sequence
from dataclasses import replace
from math import exp, sqrt
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import QUICKSTART, plan, quickstart
from runs import MEASURED_S, load, retold, summary
from searches import search_plan
from sshload_contract.percentiles import failures_width, spread
from sshload_contract.wire.run_summary import RunSummary, SeriesPoint
from sshload_operator.decision.load_test.noise import RateBounds, completed_rate_interval
from sshload_operator.planning.plan import Plan

WARM_UP_S = 5.0
OPEN = plan(quickstart(warmUp="5s"))
POISSON = {"load": {"arrivals": {"stages": [{"rate": 20, "duration": "30s"}], "process": "poisson"}}}
CLOSED = plan(quickstart(load={"users": {"stages": [{"users": 20, "duration": "30s"}]}}, warmUp="5s"))


def run(counts: Sequence[int]) -> RunSummary:
    """Return a run of twenty users that completed so many in each second, the warm-up's first."""
    points = tuple(
        SeriesPoint(at_s=at, users=20, held=0, in_flight=20, started=count, succeeded=count, failed=0, p99_us=None)
        for at, count in enumerate(counts, start=1)
    )
    measured = sum(counts[int(WARM_UP_S) :])
    return summary(measured, load=load(measured), series_interval_s=1.0, series=points)


def half_width(found: RunSummary) -> float:
    bounds = rate_bounds(CLOSED, found)
    return sqrt(bounds.high / bounds.low) - 1


def rate_bounds(asked: Plan, found: RunSummary) -> RateBounds:
    bounds = completed_rate_interval(asked, found)
    assert bounds is not None
    return bounds


def test_the_rate_of_independent_iterations_has_the_noise_of_their_count() -> None:
    assert half_width(run([20] * 35)) == pytest.approx(1.96 / sqrt(20 * MEASURED_S), rel=0.05)
    assert half_width(run([80] * 35)) == pytest.approx(1.96 / sqrt(80 * MEASURED_S), rel=0.05)


def test_a_rate_is_as_certain_as_the_number_that_ended_in_the_window_however_many_were_due_in_it() -> None:
    points = run([0] * 5 + [3, 3, 4] * 10).series
    overloaded = summary(1_000, load=load(1_000, completed_rate=100 / MEASURED_S), series=points)
    assert half_width(overloaded) == pytest.approx(exp(1.96 / sqrt(100)) - 1, rel=0.01)


def test_of_a_search_those_may_be_in_step_who_were_in_its_reported_trial() -> None:
    trial = retold(summary(100, load=load(100)), amount=15)
    bounds = rate_bounds(search_plan("users"), trial)
    assert bounds.low == pytest.approx((100 / exp(1.96 / sqrt(100)) - 15) / MEASURED_S, abs=0.001)


def test_of_a_search_the_ramp_is_that_of_its_reported_trial() -> None:
    assert rate_bounds(search_plan("hold"), retold(summary(100, load=load(100)), amount=15)) == rate_bounds(
        plan(quickstart(load={"hold": {"sessions": 15, "rampUp": "15s", "duration": "30s"}})),
        retold(summary(100, load=load(100))),
    )


def test_without_a_time_series_users_may_all_be_in_step() -> None:
    bounds = rate_bounds(CLOSED, summary(100, load=load(100)))
    width = exp(1.96 / sqrt(100))
    assert bounds.low == pytest.approx((100 / width - 20) / MEASURED_S, abs=0.001)
    assert bounds.high == pytest.approx((100 * width + 20) / MEASURED_S, abs=0.001)


def test_users_in_step_end_no_more_than_the_shortest_iteration_leaves_time_for() -> None:
    found = run([0] * 5 + [20, 0, 0, 0, 0] * 6)
    long = tuple(replace(step, min_us=4_900_000, mean_us=5_000_000.0, max_us=5_100_000) for step in found.trial.steps)
    assert rate_bounds(CLOSED, retold(found, steps=long)).high == pytest.approx(20 * (30 / 4.9 + 1) / 30, abs=0.001)


def test_a_change_of_the_rate_of_arrivals_is_no_noise_however_long_iterations_take() -> None:
    rates = [10] * 15 + [40] * 10 + [10] * 10
    ends = [0] * 5 + rates[:30]
    points = tuple(
        SeriesPoint(at_s=at, users=0, held=0, in_flight=1, started=begun, succeeded=ended, failed=0, p99_us=None)
        for at, (begun, ended) in enumerate(zip(rates, ends, strict=True), start=1)
    )
    found = summary(600, load=load(600), series=points)
    late = tuple(replace(step, mean_us=5_000_000.0) for step in found.trial.steps)
    bounds = rate_bounds(OPEN, retold(found, steps=late))
    assert (bounds.low, bounds.high) == rate_pair(rate_bounds(OPEN, even()))


def test_a_burst_has_no_interval() -> None:
    burst = plan(quickstart(load={"burst": {"connections": 20}}, warmUp="5s"))
    assert completed_rate_interval(burst, even()) is None


def test_a_rate_that_drifts_is_less_certain_than_its_count_says() -> None:
    drifting = [20] * 5 + [10] * 15 + [30] * 15
    assert half_width(run(drifting)) > 5 * half_width(run([20] * 35))


def test_the_last_second_of_the_window_has_a_say() -> None:
    assert half_width(run([20] * 34 + [200])) > half_width(run([20] * 35))


def test_the_probes_of_a_hold_are_as_certain_as_their_number() -> None:
    hold = plan(quickstart(load={"hold": {"sessions": 4, "rampUp": "15s", "duration": "15s", "probeRate": 20}}))
    bounds = rate_bounds(hold, summary(100, load=load(100, completed_rate=100 / 15)))
    assert bounds.high == pytest.approx(100 / 15 * exp(1.96 / sqrt(100)), rel=0.001)


def test_the_warm_up_has_no_say() -> None:
    assert half_width(run([500] * 5 + [20] * 30)) == half_width(run([20] * 35))


def test_an_interval_in_which_the_window_begins_or_ends_has_no_say() -> None:
    late = plan(quickstart(load={"users": {"stages": [{"users": 20, "duration": "30s"}]}}, warmUp="5500ms"))
    uneven, even = (
        summary(600, load=load(600), series=run([*[20] * 5, first, *[20] * 29, last]).series)
        for first, last in ((900, 900), (20, 20))
    )
    assert rate_bounds(late, uneven) == rate_bounds(late, even)


def test_a_ramp_of_users_is_no_noise() -> None:
    found = run([1 + second for second in range(35)])
    ramp = replace(found, series=tuple(replace(point, users=point.succeeded) for point in found.series))
    assert half_width(ramp) < 0.4 * half_width(found)


def test_the_rate_of_a_closed_load_holds_the_truth_in_95_of_100_runs() -> None:
    random = Random(1)  # noqa: S311 - samples, no secrets
    held = 0
    for _ in range(200):
        counts = [sum(random.random() < 0.5 for _ in range(40)) for _ in range(35)]
        bounds = rate_bounds(CLOSED, run(counts))
        held += bounds.low <= 20 <= bounds.high
    assert held >= 190


def rate_pair(bounds: RateBounds) -> tuple[float, float]:
    return bounds.low, bounds.high


def even(failed: int = 0, **changes: Any) -> RunSummary:
    """Return a run of 20 arrivals each second, evenly spaced, each of which is over within a second."""
    points = tuple(
        SeriesPoint(at_s=at, users=0, held=0, in_flight=1, started=20, succeeded=20, failed=0, p99_us=None)
        for at in range(1, 36)
    )
    counts = load(600 - failed, failed, **changes)
    return summary(600 - failed, failed, load=counts, series_interval_s=1.0, series=points)


def test_evenly_spaced_arrivals_that_all_complete_leave_their_rate_little_to_chance() -> None:
    assert rate_bounds(OPEN, even()) == RateBounds(19.856, 20.067)


def test_failures_leave_the_rate_of_evenly_spaced_arrivals_the_chance_of_their_own_number() -> None:
    assert rate_bounds(OPEN, even(failed=60)) == RateBounds(17.422, 18.451)


def test_failures_that_end_as_evenly_as_they_begin_are_no_change_of_the_number_in_flight() -> None:
    found = even(failed=60)
    failures = [1, 2, 3] * 11 + [1, 2]
    points = (replace(one, succeeded=20 - bad, failed=bad) for one, bad in zip(found.series, failures, strict=True))
    assert rate_bounds(OPEN, replace(found, series=tuple(points))) == rate_bounds(OPEN, found)


def test_what_ends_after_the_window_has_no_say() -> None:
    found = run([20] * 35)
    late = run([20] * 35 + [500] * 5)
    assert half_width(replace(found, series=late.series)) == half_width(found)
    after = replace(even(), series=(*even().series, replace(even().series[-1], at_s=36, started=0, failed=500)))
    assert rate_bounds(OPEN, after) == rate_bounds(OPEN, even())


def test_users_who_think_have_less_time_for_iterations() -> None:
    users = {"stages": [{"users": 20, "duration": "30s"}], "thinkTime": {"min": "1s", "max": "2s"}}
    found = run([0] * 5 + [20, 0, 0, 0, 0] * 6)
    long = tuple(replace(step, min_us=4_900_000, mean_us=5_000_000.0) for step in found.trial.steps)
    bounds = rate_bounds(plan(quickstart(load={"users": users}, warmUp="5s")), retold(found, steps=long))
    assert bounds.high == pytest.approx(20 * (30 / 5.9 + 1) / 30, abs=0.001)


@pytest.mark.parametrize("unknown", [{"min_us": None}, {"min_us": 0}], ids=str)
def test_iterations_whose_shortest_is_not_known_bound_nothing(unknown: dict[str, Any]) -> None:
    found = run([0] * 5 + [100, 0, 0, 0, 0] * 6)
    bounded, free = (
        retold(found, steps=tuple(replace(step, **changes) for step in found.trial.steps))
        for changes in ({"min_us": 4_900_000}, unknown)
    )
    assert rate_bounds(CLOSED, free).high > rate_bounds(CLOSED, bounded).high
    untimed = retold(found, steps=())
    assert rate_bounds(CLOSED, untimed) == rate_bounds(CLOSED, free)


def test_seconds_without_users_are_no_noise() -> None:
    found = run([20] * 5 + [30, 30, 0] * 10)
    pauses = tuple(replace(point, users=20 if point.succeeded else 0) for point in found.series)
    assert half_width(replace(found, series=pauses)) == pytest.approx(1.96 / sqrt(20 * MEASURED_S), rel=0.05)


def of_chance(failures: Sequence[int]) -> RateBounds:
    """Return the bounds of 20 random arrivals each second, of which so many fail in each second of the window."""
    found = even(failed=sum(failures))
    points = (replace(one, succeeded=20 - bad, failed=bad) for one, bad in zip(found.series[5:], failures, strict=True))
    asked = plan(quickstart(**POISSON, warmUp="5s"))
    return rate_bounds(asked, replace(found, series=(*found.series[:5], *points)))


def test_failures_of_random_arrivals_add_to_their_noise_where_they_come_in_bursts() -> None:
    evenly = of_chance([2] * 30)
    assert (evenly.low, evenly.high) == pytest.approx(
        (18 / exp(1.96 / sqrt(540)), 18 * exp(1.96 / sqrt(540))), abs=0.001
    )
    in_a_burst = of_chance([0] * 27 + [20] * 3)
    assert in_a_burst.low < evenly.low - 0.3
    assert in_a_burst.high > evenly.high + 0.3


def test_failures_in_bursts_leave_the_rate_of_even_arrivals_less_certain() -> None:
    found = even(failed=60)
    points = tuple(replace(one, succeeded=0, failed=20) if one.at_s > 32 else one for one in found.series)
    bursts, evenly = rate_bounds(OPEN, replace(found, series=points)), rate_bounds(OPEN, found)
    assert bursts.low < evenly.low - 0.3
    assert bursts.high > evenly.high + 0.3


def test_iterations_that_pile_up_and_drain_leave_the_rate_less_certain() -> None:
    """Arrivals that are held up for half of the window, and all end in the other half."""
    ends = [20] * 5 + [10] * 15 + [30] * 15
    held_up = tuple(replace(one, succeeded=end) for one, end in zip(even().series, ends, strict=True))
    uneven, smooth = rate_bounds(OPEN, replace(even(), series=held_up)), rate_bounds(OPEN, even())
    assert uneven.low < smooth.low - 1
    assert uneven.high > smooth.high + 1


def test_arrivals_that_end_when_they_are_due_to_leave_their_number_in_flight_alone() -> None:
    """Iterations of half a second: of each second's arrivals one half ends in it, the other in the next one."""
    begun = [10, 30] * 17 + [10]
    ends = [(before + now) // 2 for before, now in zip([0, *begun], begun, strict=False)]
    points = tuple(
        replace(one, started=started, succeeded=end)
        for one, started, end in zip(even().series, begun, ends, strict=True)
    )
    found = replace(even(), series=points)
    timed = tuple(replace(step, mean_us=500_000.0) for step in found.trial.steps)
    assert rate_bounds(OPEN, retold(found, steps=timed)) == rate_bounds(OPEN, even())


def in_halves(begun: Sequence[int]) -> list[int]:
    """Return how many end in each second if iterations take half a second."""
    return [(before + now) // 2 for before, now in zip([0, *begun], begun, strict=False)]


def in_turn(begun: Sequence[int], ended: Sequence[int]) -> tuple[SeriesPoint, ...]:
    rows = zip(even().series, begun, ended, strict=False)
    return tuple(replace(one, started=started, succeeded=end) for one, started, end in rows)


def test_where_it_is_not_known_how_long_iterations_take_they_are_taken_to_end_at_once() -> None:
    begun = [10, 30] * 17 + [10]
    found = replace(even(), series=in_turn(begun, begun))
    untold = tuple(replace(step, mean_us=None) for step in found.trial.steps)
    for steps in ((), untold):
        assert rate_bounds(OPEN, retold(found, steps=steps)) == rate_bounds(OPEN, even())


def test_a_window_without_a_warm_up_begins_with_nothing_in_flight() -> None:
    begun, asked = [10, 30] * 15, plan(quickstart(warmUp="0s"))
    timed = tuple(replace(step, mean_us=500_000.0) for step in even().trial.steps)
    uneven = retold(even(), series=in_turn(begun, in_halves(begun)), steps=timed)
    smooth = retold(even(), series=in_turn([20] * 30, in_halves([20] * 30)), steps=timed)
    assert rate_bounds(asked, uneven) == rate_bounds(asked, smooth)


def test_one_iteration_that_ended_well_has_bounds() -> None:
    assert rate_bounds(CLOSED, summary(1)).low < 1 / 30 < rate_bounds(CLOSED, summary(1)).high


def test_eight_intervals_tell_how_even_the_arrivals_were() -> None:
    bounds = rate_bounds(OPEN, replace(even(), series=even().series[:13]))
    assert bounds.high < 20 * exp(1.96 / sqrt(600)) - 1


def test_random_arrivals_that_pile_up_and_drain_have_both_noises() -> None:
    held_up = in_turn([20] * 35, [20] * 5 + [10] * 15 + [30] * 15)
    bounds = rate_bounds(plan(quickstart(**POISSON, warmUp="5s")), replace(even(), series=held_up))
    assert bounds.high > 20 * exp(1.96 / sqrt(600)) + 0.5


def test_failures_in_bursts_vary_as_the_square_of_their_spread() -> None:
    failures = [0] * 27 + [20] * 3
    times = failures_width(60, spread([1.0] * 30, failures, 60))
    width = exp(1.96 * sqrt(540 + (times**2 - 1) * 60) / 540)
    assert of_chance(failures).high == pytest.approx(18 * width, abs=0.001)


def test_where_nearly_all_fail_the_rate_may_be_nothing() -> None:
    assert rate_bounds(OPEN, even(failed=598)).low == 0


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        pytest.param(QUICKSTART, even(dropped=6), id="some were dropped"),
        pytest.param(QUICKSTART, replace(even(), series=even().series[:12]), id="the time series is short"),
        pytest.param(POISSON, even(), id="they are spaced by chance"),
    ],
)
def test_else_their_completed_count_is_that_of_independent_events(spec: Any, found: RunSummary) -> None:
    bounds = rate_bounds(plan(quickstart(**{**spec, "warmUp": "5s"})), found)
    assert bounds.high == pytest.approx(20 * exp(1.96 / sqrt(600)), rel=0.001)


def test_without_an_iteration_that_ended_well_there_is_nothing_to_bound() -> None:
    assert completed_rate_interval(CLOSED, summary(0, 600)) is None


@st.composite
def strange_runs(draw: st.DrawFn) -> RunSummary:
    """Draw what a master may say that is not ours."""
    counts = st.integers(0, 10**6)
    rows = draw(st.lists(st.tuples(st.floats(0, 40), counts, counts, counts), max_size=40))
    points = tuple(
        SeriesPoint(at_s=at_s, users=20, held=0, in_flight=0, started=begun, succeeded=ok, failed=lost, p99_us=None)
        for at_s, begun, ok, lost in (sorted(rows) if draw(st.booleans()) else rows)
    )
    failed, rate, mean_us = draw(counts), draw(st.floats(0, 1e6)), draw(st.none() | st.floats(0, 1e12))
    told = load(600, failed, dropped=draw(st.integers(0, 1)), completed_rate=rate)
    found = summary(600, failed, load=told, series=points)
    return retold(found, steps=tuple(replace(step, mean_us=mean_us) for step in found.trial.steps))


@given(asked=st.sampled_from([OPEN, CLOSED, plan(quickstart(**POISSON, warmUp="5s"))]), found=strange_runs())
def test_whatever_a_summary_says_its_bounds_are_finite_and_around_the_rate(asked: Plan, found: RunSummary) -> None:
    bounds, rate = completed_rate_interval(asked, found), found.trial.load.completed_rate
    assert (bounds is None) == (rate * MEASURED_S == 0)
    if bounds is not None:
        assert 0 <= bounds.low <= rate + 0.001
        assert rate - 0.001 <= bounds.high < 1e16
