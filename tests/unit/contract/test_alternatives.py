"""Alternatives of a scenario: the steps of each, and how often each is chosen."""

from collections import Counter
from dataclasses import replace
from itertools import islice, pairwise
from math import log, sqrt

import pytest
from run_configs import EXEC_TRUE, scenario
from sshload_contract.steps import Alternative, ScenarioStep, SleepStep

LOOK, LIST, COPY, LAST = (replace(EXEC_TRUE, name=name) for name in ("look", "list", "copy", "last"))
PAUSE = SleepStep(0.1)
MIXED = replace(
    scenario(LOOK, PAUSE, LIST, COPY, LAST),
    alternatives=(Alternative(3, ("look",)), Alternative(1, ("copy", "list")), Alternative(6, ())),
)
DRAWS = 20_000


def drawn(worker: int, draws: int = DRAWS) -> list[tuple[ScenarioStep, ...]]:
    return list(islice(MIXED.choices(worker), draws))


def test_an_alternative_has_its_steps_in_their_order_and_those_that_are_in_none() -> None:
    assert MIXED.mixes == ((LOOK, PAUSE, LAST), (PAUSE, LIST, COPY, LAST), (PAUSE, LAST))


def test_without_alternatives_each_iteration_does_all_steps() -> None:
    plain = scenario(LOOK, PAUSE, LIST)
    assert plain.mixes == ((LOOK, PAUSE, LIST),)
    assert list(islice(plain.choices(0), 3)) == [(LOOK, PAUSE, LIST)] * 3


@pytest.mark.parametrize("worker", range(3))
def test_each_is_chosen_as_often_as_its_weight_says(worker: int) -> None:
    # Hoeffding: a share of independent choices is further off than this with a probability of 1e-6 at most.
    off = sqrt(log(2 / 1e-6) / (2 * DRAWS))
    counts = Counter(drawn(worker))
    shares = [counts[steps] / DRAWS for steps in MIXED.mixes]
    assert shares == pytest.approx([0.3, 0.1, 0.6], abs=off)
    assert sum(counts.values()) == DRAWS


def test_a_worker_makes_the_same_choices_in_each_run_and_no_other_worker_makes_them() -> None:
    assert drawn(1, 200) == drawn(1, 200) != drawn(2, 200)


def test_a_choice_does_not_depend_on_the_one_before() -> None:
    chosen = drawn(0)
    seldom = MIXED.mixes[1]
    after = [later for earlier, later in pairwise(chosen) if earlier == seldom]
    off = sqrt(log(2 / 1e-6) / (2 * len(after)))
    assert sum(later == seldom for later in after) / len(after) == pytest.approx(0.1, abs=off)
