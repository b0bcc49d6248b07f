"""likely_trials: held against the search that the master really runs."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from run_configs import search_for
from specs.search import SEARCH_ARRIVALS, SEARCH_BURST, SEARCH_HOLD, SEARCH_USERS
from specs.spec import changed
from sshload_contract.load import ArrivalsLoad, BurstLoad, HoldLoad, Search, UsersLoad
from sshload_operator.api.load_test import parse
from sshload_worker.search.capacity_search import NextTrial, PastTrial, next_step

SEARCHES = 200


def trials_taken(goal: Search, limit: float) -> int:
    """Return how many trials the search takes with a server that holds up to the limit, and nothing else is known."""
    seen: list[PastTrial] = []
    while isinstance(step := next_step(goal, seen), NextTrial):
        seen.append(PastTrial(step.load, step.load <= limit, None))
    return len(seen)


def test_19_of_20_searches_without_contradictions_take_no_more_trials_than_are_likely_or_two_more() -> None:
    """The others are of limits that are next to the most, or of a single load."""
    chance, more = Random(1), 0  # noqa: S311 - no secrets
    for _ in range(SEARCHES):
        least, most = sorted((chance.randint(1, 20_000), chance.randint(1, 20_000)))
        precision, confirm, whole = chance.choice([0.05, 0.1, 0.5]), chance.randint(0, 5), chance.random() < 0.5
        search = search_for(least, most, precision, confirm, whole=whole)
        more += trials_taken(search, limit=chance.uniform(0.5, 30_000)) > search.likely_trials + 2
    assert more <= SEARCHES / 20


@given(precision=st.sampled_from([0.02, 0.05, 0.1]), confirm=st.integers(0, 3))
@settings(max_examples=20)
def test_some_search_takes_about_as_many_as_are_likely(precision: float, confirm: int) -> None:
    search = search_for(10, 2000, precision, confirm, whole=False)
    about = search.likely_trials - 1
    assert any(trials_taken(search, limit) >= about for limit in range(11, 2000, 37))


def test_the_largest_load_of_a_search_is_its_most() -> None:
    loads = [parse(spec).load.largest for spec in (SEARCH_ARRIVALS, SEARCH_USERS, SEARCH_BURST, SEARCH_HOLD)]
    arrivals, users, burst, hold = loads
    assert isinstance(arrivals, ArrivalsLoad)
    assert isinstance(users, UsersLoad)
    assert isinstance(burst, BurstLoad)
    assert isinstance(hold, HoldLoad)
    assert (arrivals.stages[0].rate, users.stages[0].users, burst.connections, hold.sessions) == (
        500.5,
        1000,
        2000,
        5000,
    )


def test_a_likely_trial_of_held_sessions_has_the_ramp_of_half_way_up() -> None:
    search = parse(changed(SEARCH_HOLD, "load.capacity.hold.max", 10_000)).load
    assert search.is_search
    assert search.likely_trial_s == 1000 / 20 + 60
