"""The loads that a search may try, and what the trials at them say together."""

import pytest
from sshload_worker.search.ladder import Ladder, VotesByRung, ladder

THREE = Ladder((10.0, 20.0, 40.0))


@pytest.mark.parametrize(
    ("load", "at_or_below", "nearest"),
    [(1, 0, 0), (10, 0, 0), (14.9, 0, 0), (15, 0, 1), (19.9, 0, 1), (20, 1, 1), (25, 1, 1), (31, 1, 2), (99, 2, 2)],
)
def test_a_load_has_a_rung_below_it_and_a_nearest_one(load: float, at_or_below: int, nearest: int) -> None:
    assert (THREE.at_or_below(load), THREE.nearest(load)) == (at_or_below, nearest)


def test_loads_grow_by_half_the_precision_and_have_the_digits_that_tell_them_apart() -> None:
    assert ladder(10, 11, 0.05, whole=False).loads == (10, 10.24, 10.49, 10.74, 11)
    assert ladder(1_000, 1_100, 0.05, whole=False).loads == (1_000, 1_024.0, 1_049.0, 1_074.0, 1_100)
    assert ladder(7, 7, 0.05, whole=False).loads == (7,)


def test_whole_loads_are_those_between_and_at_least_one_apart() -> None:
    assert ladder(1.5, 4.7, 0.05, whole=True).loads == (2, 3, 4)
    assert ladder(100, 105, 0.03, whole=True).loads == (100, 101, 102, 103, 104, 105)
    assert ladder(100, 110.9, 0.05, whole=True).loads == (100, 102, 104, 106, 108, 110)
    assert ladder(3, 3, 0.05, whole=True).loads == (3,)


def votes(*cast: tuple[int, str], completed: float | None = None) -> VotesByRung:
    """Return the votes of trials at rungs: "p"assed, "f"ailed, "i"nvalid, "s"tolen, any number of them at each."""
    ballot = VotesByRung()
    for rung, each in cast:
        for one in each:
            passed = {"p": True, "f": False}.get(one)
            ballot.count(rung, passed=passed, stolen=one == "s", completed=completed)
    return ballot


def test_the_majority_of_trials_leads_and_what_was_never_tried_leads_nowhere() -> None:
    ballot = votes((0, "ppf"), (1, "pf"), (2, "ffp"), (3, "i"))
    assert [ballot.lead(rung) for rung in range(5)] == [1, 0, -1, 0, 0]
    assert [ballot.judged(rung) for rung in range(5)] == [3, 2, 3, 0, 0]


def test_a_trial_that_was_judged_counts_although_time_was_stolen() -> None:
    ballot = VotesByRung()
    ballot.count(0, passed=True, stolen=True, completed=None)
    ballot.count(0, passed=False, stolen=True, completed=None)
    assert (ballot.judged(0), ballot.passes_at_or_above(0), ballot.fails_at_or_below(0)) == (2, 1, 1)
    assert ballot.first_given_up() is None


def test_the_least_rate_that_a_failed_trial_completed_is_kept_and_none_of_a_passed_one() -> None:
    ballot = VotesByRung()
    for passed, completed in ((False, 30.0), (False, 20.0), (False, None), (True, 5.0), (False, 25.0)):
        ballot.count(0, passed=passed, stolen=False, completed=completed)
    assert ballot.by_rung[0].completed == 20.0


def test_a_load_is_given_up_once_two_more_trials_were_invalid_than_judged_and_stolen_ones_count_a_quarter() -> None:
    assert votes((3, "i"), (5, "ii"), (7, "iiii")).first_given_up() == 5
    assert votes((3, "i"), (5, "iip")).first_given_up() is None
    assert votes((3, "sssssss")).first_given_up() is None
    assert votes((3, "ssssssss")).first_given_up() == 3
    assert [votes((0, cast)).is_given_up(0) for cast in ("ii", "iii", "iiip")] == [False, True, False]


def test_bounds_are_looked_for_below_and_above_others_and_not_at_them() -> None:
    ballot = votes((1, "p"), (2, "f"), (3, "pf"), (4, "p"), (5, "f"), (6, "f"))
    assert ballot.lowest_failing(above=-1, below=9) == 2
    assert ballot.lowest_failing(above=2, below=9) == 5
    assert ballot.lowest_failing(above=2, below=5) is None
    assert ballot.highest_passing(9) == 4
    assert ballot.highest_passing(4) == 1
    assert ballot.highest_passing(1) is None


def test_what_is_undecided_is_tried_again_from_below_unless_it_was_given_up() -> None:
    ballot = votes((1, "p"), (2, "ii"), (3, "i"), (4, "pf"), (5, "f"))
    assert [ballot.undecided(below) for below in (3, 4, 9)] == [None, 3, 3]
    assert votes((2, "ii"), (4, "pf")).undecided(9) == 4


def test_more_load_is_never_easier_so_passes_count_below_and_fails_above() -> None:
    ballot = votes((1, "pp"), (2, "pf"), (3, "ff"))
    assert [ballot.passes_at_or_above(rung) for rung in range(5)] == [3, 3, 1, 0, 0]
    assert [ballot.fails_at_or_below(rung) for rung in range(5)] == [0, 0, 1, 3, 3]
