"""Turns of users are shared out over the workers: each is one worker's, whatever the pace of the others."""

from collections import Counter
from itertools import count, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshload_worker.pacing.share import Share

SIZES = st.integers(1, 60)
WORKERS = st.integers(1, 12)


@given(users=SIZES, workers=WORKERS, laps=st.integers(1, 40))
def test_each_turn_is_one_workers(users: int, workers: int, laps: int) -> None:
    turns = [turn for index in range(workers) for turn in islice(Share(index, workers).turns(users), laps)]
    assert sorted(turns) == list(range(workers * laps))


@given(users=SIZES, workers=WORKERS, index=st.integers(0, 11))
def test_a_worker_that_is_faster_than_others_favours_no_user(users: int, workers: int, index: int) -> None:
    own = islice(Share(index % workers, workers).turns(users), users * workers)
    assert set(Counter(turn % users for turn in own).values()) == {workers}


@pytest.mark.parametrize(("users", "workers"), [(5_000, 2), (7, 3), (12, 8)])
def test_a_worker_does_not_have_the_same_few_users_for_long(users: int, workers: int) -> None:
    """Else one that is a round ahead has given a second turn to its users alone."""
    for index in range(workers):
        own = list(islice(Share(index, workers).turns(users), 2 * users))
        counts = Counter(turn % users for turn in own)
        assert max(counts.values()) - min(counts[user] for user in range(users)) <= 2


def test_arrivals_have_the_turns_of_their_order() -> None:
    assert list(islice(Share(1, 3).take(count()), 4)) == [1, 4, 7, 10]
