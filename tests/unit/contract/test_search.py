"""The search for the capacity as a load: how many trials it is likely to take, by hand, and what it says of itself."""

from dataclasses import replace

import pytest
from sshload_contract.load import (
    ArrivalProcess,
    ArrivalsLoad,
    ArrivalsStage,
    HoldLoad,
    ReplayLoad,
    Search,
    ThinkTime,
    TraceRef,
    UsersLoad,
    UsersStage,
)

ARRIVALS = ArrivalsLoad((ArrivalsStage(rate=1.0, duration_s=30.0),), ArrivalProcess.CONSTANT, max_in_flight=50, seed=7)
USERS = UsersLoad((UsersStage(users=1, duration_s=30.0),), spawn_rate=2.0, think_time=ThinkTime(0.0, 0.0))
HOLD = HoldLoad(sessions=100, ramp_up_s=4.0, duration_s=30.0, keep_alive_s=5.0, probe_rate=1.0)
TWICE_A_STEP = 3.0
"""The precision by which one of two steps is a doubling: (1 + 3) ** (1 / 2)."""
BY_A_HUNDREDTH = 0.0201


def search(most: float, precision: float = TWICE_A_STEP, confirm: int = 0) -> Search:
    return Search(ARRIVALS, most, precision, confirm, budget_s=600.0)


@pytest.mark.parametrize(
    ("most", "trials"),
    [
        pytest.param(1, 1, id="a single load"),
        pytest.param(2, 2, id="neighbours"),
        pytest.param(8, 2 + 2, id="1 and 8, three doublings apart"),
        pytest.param(9, 3 + 2, id="1, 8 and 9"),
        pytest.param(512, 3 + 3, id="1, 8 and 512, the last two six doublings apart"),
        pytest.param(513, 4 + 3, id="1, 8, 512 and 513"),
    ],
)
def test_loads_grow_eightfold_64_fold_and_so_on_and_the_widest_gap_is_halved(most: float, trials: int) -> None:
    assert search(most).likely_trials == trials


def test_each_bound_is_confirmed_and_a_single_load_is_one() -> None:
    assert search(8, confirm=3).likely_trials == search(8).likely_trials + 2 * 3
    assert search(1, confirm=3).likely_trials == 1 + 3


def test_whole_amounts_are_at_least_one_apart() -> None:
    """From 1 to 8 there are 7 whole steps, and 209 of a hundredth."""
    assert search(8, BY_A_HUNDREDTH).likely_trials == 2 + 8
    assert replace(search(8, BY_A_HUNDREDTH), least=USERS).likely_trials == 2 + 3


def test_whole_amounts_are_as_far_apart_as_others_where_a_step_is_more_than_one() -> None:
    """A tenth of 10 is 1. So there are 9 steps from 1 to 10 and, beyond, one of each tenth."""
    whole = replace(search(8, precision=0.21), least=USERS)
    assert [whole._steps(low, high) for low, high in ((1, 8), (1, 10), (10, 11), (10, 12.1), (5, 11), (20, 22))] == (
        pytest.approx([7, 9, 1, 2, 6, 1])
    )


def test_a_likely_trial_is_half_way_up_on_a_scale_of_ratios() -> None:
    searched = replace(search(10_000), least=HOLD)
    assert searched.likely_trial_s == HOLD.at(1_000).lasts_s != HOLD.at(5_050).lasts_s


def test_it_says_what_it_is() -> None:
    searched = search(500.5)
    assert (searched.field, searched.unit, searched.recorded) == ("load.capacity.arrivals", "arrivals/s", None)
    assert searched.running_words(5.0) == "the capacity is searched from 1 to 500.5 arrivals/s"
    assert searched.longest_s(5.0, 1_800.0) == 1_800
    assert searched.largest == ARRIVALS.at(500.5)
    assert (searched.is_search, searched.can_end_early) == (True, False)


def test_a_search_by_a_trace_plays_it_in_each_trial() -> None:
    trace = TraceRef("monday", "trace.txt")
    played = replace(search(9), least=ReplayLoad(trace, 30.0, 1.0, 1.0, 100.0, 50, 7, ""))
    assert played.recorded == trace
    mounted = played.reading("/trace/trace.txt")
    assert mounted == replace(played, least=played.least.reading("/trace/trace.txt")) != played


def test_searches_that_differ_only_in_their_range_have_one_identity() -> None:
    assert search(9).identity == replace(search(500), least=ARRIVALS.at(5)).identity
    assert search(9).identity == f"a search by trials such as {ARRIVALS.words}"
    assert search(9).identity != replace(search(9), least=USERS).identity
