from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_configs import search_for
from sshload_contract.load import Search
from sshload_contract.vocabulary import SearchEnd
from sshload_worker.search.capacity_search import (
    FINEST_PRECISION,
    TRIALS_LIMIT,
    NextTrial,
    PastTrial,
    SearchResult,
    next_step,
    partial_result,
)
from sshload_worker.search.ladder import ladder

GOAL = search_for(least=10, most=2000, precision=0.05, confirm=2, whole=False)
USERS = search_for(least=1, most=50, precision=0.05, confirm=1, whole=True)


@st.composite
def goals(draw: st.DrawFn) -> Search:
    whole = draw(st.booleans())
    least = draw(st.integers(1, 3000) if whole else st.floats(0.01, 3000))
    most = least * draw(st.integers(1, 5000) if whole else st.floats(1, 5000))
    return search_for(least, most, draw(st.floats(0.005, 2)), draw(st.integers(0, 5)), whole=whole)


verdicts = st.sampled_from([True, False, None])
rates = st.none() | st.floats(0, 1e7)


def run(goal: Search, limit: float, generator_limit: float = float("inf")) -> tuple[SearchResult, list[PastTrial]]:
    """Search a server without any noise; more load than the generator makes is invalid."""
    seen: list[PastTrial] = []
    while isinstance(step := next_step(goal, seen), NextTrial):
        passed = None if step.load > generator_limit else step.load <= limit
        seen.append(PastTrial(step.load, passed, None))
    return step, seen


def loads(seen: list[PastTrial]) -> list[float]:
    return [trial.load for trial in seen]


def failing_most(seen: list[PastTrial]) -> float:
    """Return the lowest load of which most judged trials failed, infinity where there is none."""
    lead = Counter[float]()
    for trial in seen:
        lead[trial.load] += 0 if trial.passed is None else 1 if trial.passed else -1
    return min((load for load, ahead in lead.items() if ahead < 0), default=float("inf"))


@pytest.mark.slow
@given(goals(), st.data())
def test_whatever_the_trials_say_loads_are_in_range_and_the_search_ends_with_no_fail_below_the_capacity(
    goal: Search, data: st.DataObject
) -> None:
    seen: list[PastTrial] = []
    while isinstance(step := next_step(goal, seen), NextTrial):
        assert goal.least.amount <= step.load <= goal.most
        assert not goal.least.is_whole or step.load == int(step.load)
        assert step == next_step(goal, tuple(seen))
        seen.append(PastTrial(step.load, data.draw(verdicts), data.draw(rates)))
    assert len(seen) <= TRIALS_LIMIT
    tried = loads(seen)
    assert all(bound is None or bound in tried for bound in (step.lower, step.upper))
    if step.lower is not None and step.upper is not None:
        assert step.lower < step.upper
    if step.end is SearchEnd.FOUND:
        assert step.lower is not None
        assert step.upper is not None
        assert failing_most(seen) == step.upper
        assert step.upper <= step.lower * (1 + goal.precision) or (goal.least.is_whole and step.upper == step.lower + 1)


@given(goals(), st.lists(st.builds(PastTrial, st.floats(0.001, 1e9), verdicts, rates), max_size=70))
def test_trials_at_any_loads_whatsoever_have_an_answer(goal: Search, seen: list[PastTrial]) -> None:
    step = next_step(goal, seen)
    assert isinstance(step, SearchResult) or goal.least.amount <= step.load <= goal.most


@pytest.mark.slow
@given(goals(), st.floats(0.001, 1e8))
def test_without_noise_the_bounds_are_around_the_limit_and_as_near_as_asked(goal: Search, limit: float) -> None:
    found, _ = run(goal, limit)
    if limit < goal.least.amount:
        assert found == SearchResult(None, goal.least.amount, SearchEnd.LEAST_BROKEN)
    elif limit >= goal.most:
        assert found == SearchResult(goal.most, None, SearchEnd.MOST_HELD)
    else:
        assert found.end is SearchEnd.FOUND
        assert found.lower is not None
        assert found.upper is not None
        assert found.lower <= limit < found.upper
        is_next = goal.least.is_whole and found.upper == found.lower + 1
        assert is_next or found.upper <= found.lower * (1 + goal.precision)


@pytest.mark.slow
@given(goals(), st.floats(0.001, 1e8))
def test_without_noise_each_bound_is_tried_once_and_as_often_again_as_asked_or_more(goal: Search, limit: float) -> None:
    found, seen = run(goal, limit)
    for bound in (found.lower, found.upper):
        assert bound is None or loads(seen).count(bound) > goal.confirm


def test_loads_grow_by_growing_factors_until_one_fails_and_then_are_halved_between() -> None:
    _, seen = run(GOAL, limit=200)
    assert loads(seen)[:2] == [10, pytest.approx(80, rel=0.03)]
    assert loads(seen)[2] == 2000
    assert loads(seen)[3] == pytest.approx((80 * 2000) ** 0.5, rel=0.03)


def test_a_rate_that_an_overloaded_server_completed_is_looked_at_next() -> None:
    seen = [PastTrial(10, passed=True, completed=10), PastTrial(80, passed=True, completed=80)]
    seen.append(PastTrial(2000, passed=False, completed=300))
    assert next_step(GOAL, seen) == NextTrial(pytest.approx(300, rel=0.025))


def test_a_rate_that_is_as_high_as_the_load_says_nothing_of_the_limit() -> None:
    known = [PastTrial(10, passed=True, completed=None), PastTrial(80, passed=True, completed=None)]
    assert next_step(GOAL, [*known, PastTrial(2000, passed=False, completed=1990)]) == next_step(
        GOAL, [*known, PastTrial(2000, passed=False, completed=None)]
    )


def test_a_load_with_as_many_passes_as_fails_is_tried_again() -> None:
    goal = search_for(100, 104, 0.1, 2, whole=True)
    seen = [PastTrial(100, passed=True, completed=None), PastTrial(104, passed=False, completed=None)]
    assert next_step(goal, [*seen, PastTrial(104, passed=True, completed=None)]) == NextTrial(104)


def test_a_fail_far_below_a_pass_is_tried_again() -> None:
    seen = [PastTrial(10, passed=False, completed=None), PastTrial(2000, passed=True, completed=None)]
    assert next_step(GOAL, seen) == NextTrial(10)


def test_what_passes_above_a_load_that_fails_again_and_again_is_no_capacity() -> None:
    seen: list[PastTrial] = []
    while isinstance(step := next_step(GOAL, seen), NextTrial):
        seen.append(PastTrial(step.load, not 60 <= step.load < 1500, None))
    assert step.end is SearchEnd.FOUND
    assert step.lower == pytest.approx(60, rel=0.03)


def test_whole_loads_are_found_where_neighbours_are_farther_apart_than_the_precision() -> None:
    assert run(USERS, limit=3.5)[0] == SearchResult(3, 4, SearchEnd.FOUND)


@pytest.mark.parametrize(("limit", "found"), [
    (30, SearchResult(20, None, SearchEnd.MOST_HELD)),
    (10, SearchResult(None, 20, SearchEnd.LEAST_BROKEN)),
])  # fmt: skip
def test_a_single_load_is_confirmed_or_refuted(limit: float, found: SearchResult) -> None:
    """That it fails by chance, again and again, takes a trial more to rule out."""
    end, seen = run(search_for(20, 20, 0.05, 2, whole=True), limit)
    assert (end, loads(seen)) == (found, [20] * (3 if found.lower else 4))


def test_an_invalid_trial_is_repeated_at_once() -> None:
    seen = [PastTrial(10, passed=True, completed=None), PastTrial(80, passed=None, completed=None)]
    again = next_step(GOAL, seen)
    assert isinstance(again, NextTrial)
    assert again.load == pytest.approx(80, rel=0.03)


def test_a_limit_below_what_the_generator_makes_is_found_though_the_growth_went_beyond() -> None:
    found, seen = run(GOAL, limit=200, generator_limit=500)
    assert found.end is SearchEnd.FOUND
    assert found.lower == pytest.approx(200, rel=0.03)
    assert sum(trial.passed is None for trial in seen) <= 4


def test_a_generator_that_gives_out_below_the_limit_ends_the_search_at_what_it_can_make() -> None:
    found, seen = run(GOAL, limit=1000, generator_limit=300)
    assert (found.upper, found.end) == (None, SearchEnd.GENERATOR_LIMIT)
    assert found.lower == pytest.approx(300, rel=0.03)
    assert loads(seen).count(found.lower) == GOAL.confirm + 1
    unmade = min(trial.load for trial in seen if trial.passed is None)
    assert (unmade <= found.lower * 1.05, loads(seen).count(unmade)) == (True, 3)


def test_a_generator_that_cannot_even_make_the_least_ends_the_search_after_three_trials() -> None:
    found, seen = run(GOAL, limit=1000, generator_limit=5)
    assert (found, loads(seen)) == (SearchResult(None, None, SearchEnd.GENERATOR_LIMIT), [10, 10, 10])


def test_steal_that_comes_and_goes_does_not_end_a_search_but_steal_that_stays_does() -> None:
    """Seven of eight trials of each load are invalid because of steal, then all of them."""
    seen: list[PastTrial] = []
    while isinstance(step := next_step(USERS, seen), NextTrial):
        stolen = loads(seen).count(step.load) % 8 < 7
        seen.append(PastTrial(step.load, None if stolen else step.load <= 1, None, stolen=stolen))
    assert step == SearchResult(1, 2, SearchEnd.FOUND)
    seen = []
    while isinstance(step := next_step(GOAL, seen), NextTrial):
        seen.append(PastTrial(step.load, None, None, stolen=True))
    assert (step, loads(seen)) == (SearchResult(None, None, SearchEnd.GENERATOR_LIMIT), [10] * 12)


def test_a_load_that_was_given_up_but_then_judged_is_searched_like_any_other() -> None:
    seen: list[PastTrial] = []
    lagging = 2
    while isinstance(step := next_step(GOAL, seen), NextTrial):
        lags = step.load > 50 and lagging > 0
        lagging -= lags
        seen.append(PastTrial(step.load, None if lags else step.load <= 700, None))
    assert step.end is SearchEnd.FOUND
    assert step.lower == pytest.approx(700, rel=0.03)


def test_a_search_that_never_settles_is_ended_with_what_most_trials_say() -> None:
    """Each load fails at first, then passes, then fails again."""
    seen: list[PastTrial] = []
    while isinstance(step := next_step(GOAL, seen), NextTrial):
        seen.append(PastTrial(step.load, loads(seen).count(step.load) % 2 == 1, None))
    assert (step.end, len(seen)) == (SearchEnd.TOO_MANY_TRIALS, TRIALS_LIMIT)
    assert partial_result(GOAL, seen, SearchEnd.TOO_MANY_TRIALS) == step


def test_what_is_cut_short_tells_the_bounds_so_far() -> None:
    seen = [PastTrial(10, passed=True, completed=None), PastTrial(2000, passed=False, completed=None)]
    assert partial_result(GOAL, seen, SearchEnd.OUT_OF_TIME) == SearchResult(10, 2000, SearchEnd.OUT_OF_TIME)
    assert partial_result(GOAL, [], SearchEnd.RUN_ENDED) == SearchResult(None, None, SearchEnd.RUN_ENDED)


@pytest.mark.parametrize(("least", "most", "precision", "confirm", "whole"), [
    pytest.param(0, 10, 0.05, 2, False, id="nothing to grow from"),
    pytest.param(10, 9, 0.05, 2, False, id="min above max"),
    pytest.param(1, 10, 0.0, 2, False, id="precision 0"),
    pytest.param(1, 10, 0.05, -1, False, id="confirm below 0"),
])  # fmt: skip
def test_a_goal_that_makes_no_sense_is_refused(
    least: float, most: float, precision: float, confirm: int, *, whole: bool
) -> None:
    with pytest.raises(ValueError, match=r"."):
        next_step(search_for(least, most, precision, confirm, whole=whole), [])


def test_the_finest_precision_is_searched() -> None:
    assert next_step(search_for(1, 10, FINEST_PRECISION, 0, whole=False), []) == NextTrial(1)


@given(goals())
def test_the_ladder_climbs_from_the_least_to_the_most_by_less_than_the_precision_or_by_one(goal: Search) -> None:
    rungs = ladder(goal.least.amount, goal.most, goal.precision, whole=goal.least.is_whole).loads
    assert (rungs[0], rungs[-1]) == (goal.least.amount, goal.most)
    for lower, upper in pairwise(rungs):
        assert lower < upper
        assert upper <= lower * (1 + goal.precision) or (goal.least.is_whole and upper == lower + 1)


@pytest.mark.parametrize(
    ("goal", "limit", "generator_limit", "tried"),
    [
        pytest.param(
            search_for(1, 50, 0.05, 0, whole=True), 3.5, 1e9, [1, 8, 4, 3, 4], id="one trial confirms a bound of users"
        ),
        pytest.param(
            search_for(1, 50, 0.05, 1, whole=True),
            3.5,
            1e9,
            [1, 8, 4, 3, 4, 3, 4],
            id="two trials confirm a bound",
        ),
        pytest.param(
            search_for(10, 2000, 0.1, 0, whole=False),
            333,
            1e9,
            [10, 76.5, 2000, 400, 187.8, 288, 364, 316, 331, 347],
            id="one trial confirms a bound of a rate",
        ),
        pytest.param(
            GOAL,
            200,
            1e9,
            [10, 78.9, 2000, 402.1, 189.3, 293.2, 241.4, 219, 203.6, 198.7, 203.6, 198.7, 203.6, 198.7],
            id="three trials confirm a bound of a rate",
        ),
        pytest.param(
            search_for(10, 100, 0.1, 1, whole=False),
            1e9,
            60,
            [10, 79.1, 79.1, 28.1, 47.1, 59.6, 68.7, 68.7, 62.5, 62.5, 59.6, 62.5],
            id="the generator gives out",
        ),
        pytest.param(
            search_for(10, 12, 0.1, 1, whole=True),
            9,
            1e9,
            [10, 11, 11, 10, 10, 10, 10],
            id="the least is too much",
        ),
    ],
)
def test_without_noise_a_search_tries_these_loads_in_this_order(
    goal: Search, limit: float, generator_limit: float, tried: list[float]
) -> None:
    assert loads(run(goal, limit, generator_limit)[1]) == tried


def test_a_generator_that_cannot_make_the_greatest_load_has_not_held_it() -> None:
    goal = search_for(10, 12, 0.1, 1, whole=True)
    assert run(goal, limit=99, generator_limit=11)[0] == SearchResult(11, None, SearchEnd.GENERATOR_LIMIT)
    assert run(goal, limit=99, generator_limit=12)[0] == SearchResult(12, None, SearchEnd.MOST_HELD)


def test_what_was_found_is_told_however_many_trials_it_took() -> None:
    goal = search_for(10, 11, 0.1, 1, whole=True)
    trials = [PastTrial(load, passed=load == 10, completed=None) for load in (10, 11)] * TRIALS_LIMIT
    assert next_step(goal, trials) == SearchResult(10, 11, SearchEnd.FOUND)


def test_the_finest_precision_is_one_to_ask_for() -> None:
    assert search_for(1, 2, 0.001, 0, whole=False).precision == 0.001


RUNGS = ladder(GOAL.least.amount, GOAL.most, GOAL.precision, whole=False).loads


def hinted(lower: int, upper: int, at: int, hint: float) -> int:
    """Return the rung to try next after a pass and a fail, and a fail at a rung whose server completed `hint`."""
    seen = [PastTrial(RUNGS[lower], passed=True, completed=None), PastTrial(RUNGS[upper], passed=False, completed=None)]
    step = next_step(GOAL, [*seen, PastTrial(RUNGS[at], passed=False, completed=hint)])
    assert isinstance(step, NextTrial)
    return RUNGS.index(step.load)


@pytest.mark.parametrize(
    ("upper", "hint", "tried"),
    [
        pytest.param(140, 120, 120, id="between the bounds"),
        pytest.param(140, 100, 103, id="at the lower bound: a few rungs above it"),
        pytest.param(140, 90, 108, id="below it: half as far above it"),
        pytest.param(140, 50, 120, id="far below it: at most halfway"),
        pytest.param(140, 140, 137, id="at the upper bound: a few rungs below it"),
        pytest.param(140, 149, 133, id="above it: half as far below it"),
        pytest.param(109, 104, 104, id="bounds that are far apart"),
    ],
)
def test_a_rate_that_an_overloaded_server_completed_says_where_to_look(upper: int, hint: int, tried: int) -> None:
    assert hinted(100, upper, 160, RUNGS[hint]) == tried


def test_beyond_the_bounds_a_rate_says_no_more_than_that_they_are_to_be_halved() -> None:
    assert hinted(100, 140, 215, RUNGS[200]) == 120


def without_hint(lower: int, upper: int, at: int) -> int:
    return hinted(lower, upper, at, RUNGS[at])


def test_bounds_that_are_near_and_servers_that_are_hardly_overloaded_give_no_rate_to_look_at() -> None:
    assert hinted(100, 108, 160, RUNGS[102]) == without_hint(100, 108, 160)
    assert hinted(100, 140, 140, RUNGS[140] * 0.95) == without_hint(100, 140, 140)
    assert hinted(100, 140, 140, RUNGS[110]) == 110


def test_a_rate_that_was_completed_at_a_load_below_the_upper_bound_is_not_looked_at() -> None:
    lost = PastTrial(RUNGS[100], passed=False, completed=RUNGS[60])
    kept = [PastTrial(RUNGS[100], passed=True, completed=None)] * 3
    fail = PastTrial(RUNGS[140], passed=False, completed=None)
    plain = PastTrial(RUNGS[100], passed=False, completed=None)
    assert next_step(GOAL, [*kept, lost, fail]) == next_step(GOAL, [*kept, plain, fail])
