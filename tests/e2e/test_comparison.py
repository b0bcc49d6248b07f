"""A comparison with its statistics: what differs, by how much, and how sure that is.

The logins of a test come at one instant: sshd's default of MaxStartups drops some however fast or busy the machine is.
"""

from itertools import pairwise
from typing import Any

import pytest
from circles import draws
from live_cluster import Comparison, LiveCluster, compared
from short_examples import short_example
from statuses import steps_of

pytestmark = pytest.mark.xdist_group("a comparison")

ROUNDS = draws(1, 3)
"""One round makes no interval: tests/simulation/test_comparisons.py has what many conclude."""

ENDING = ("Conclusive", "Compared") if ROUNDS == 3 else ("Inconclusive", "TooFewRounds")

LOGINS = 60
LESS = 0.999  # figures are rounded


@pytest.fixture(scope="module")
def comparison(module_cluster: LiveCluster) -> Comparison:
    """The example that compares two settings of MaxStartups."""
    objects = short_example("15-max-startups")
    objects[0]["spec"]["base"]["load"] = {"burst": {"connections": LOGINS, "repeat": 1}}
    objects[0]["spec"]["repeats"] = ROUNDS
    return compared(module_cluster, objects)


def test_every_round_has_every_variant_each_time_another_one_first(comparison: Comparison) -> None:
    first, second = comparison.variants
    order = [(run["round"], run["variant"]) for run in comparison.status["tests"]]
    alternating = [(1, first), (1, second), (2, second), (2, first), (3, first), (3, second)]
    assert order == alternating[: 2 * ROUNDS]


def test_never_two_tests_ran_at_once(comparison: Comparison) -> None:
    times = [(test["startTime"], test["completionTime"]) for test in comparison.tests.values()]
    assert all(ended <= begun for (_, ended), (begun, _) in pairwise(times)), times


def test_it_is_conclusive_if_every_test_was_measured_in_three_rounds(comparison: Comparison) -> None:
    status = comparison.status
    assert (status["verdict"], status["reason"]) == ENDING, status["message"]
    assert (comparison.exit_code == 0) == (status["verdict"] == "Conclusive")
    assert status["progress"] == f"{2 * ROUNDS}/{2 * ROUNDS}"
    assert [variant["measured"] for variant in status["results"]["variants"]] == [ROUNDS, ROUNDS]


@pytest.mark.full
def test_each_step_of_each_variant_has_its_median_with_a_ratio_and_an_interval(comparison: Comparison) -> None:
    first, second = comparison.variants
    for variant in (first, second):
        figures = comparison.figures(variant)
        tests = [steps_of(test) for test in comparison.of(variant)]
        steps = set().union(*tests)
        assert {"connect", "login", "total"} <= steps
        for step in steps:
            figure = figures[f"{step}.p50Ms"]
            found = [test[step].p50_ms or 0.0 for test in tests if step in test]
            assert min(found) * LESS <= figure["value"] <= max(found) / LESS
            is_compared = variant == second and f"{step}.p50Ms" in comparison.figures(first)
            assert ("low" in figure) == is_compared
            assert not is_compared or figure["low"] <= figure["ratio"] <= figure["high"]


def test_the_verdict_stands_first_and_the_table_shows_both_variants(comparison: Comparison) -> None:
    lines = comparison.printed.splitlines()
    assert lines[0].startswith(f"{ENDING[0]} ({ENDING[1]})")
    (head,) = (line for line in lines if line.startswith("figure "))
    assert head.split()[:4] == ["figure", *comparison.variants, "ratio"]


@pytest.mark.full
def test_the_table_shows_the_ratio_of_each_figure(comparison: Comparison) -> None:
    ratios, _milliseconds = (line for line in comparison.printed.splitlines() if line.startswith("total p50 ms"))
    assert f"{comparison.figures(comparison.variants[1])['total.p50Ms']['ratio']:.3f}" in ratios


@pytest.mark.full
def test_what_a_tuned_max_startups_changes_is_told_as_far_as_three_rounds_are_sure_of_it(
    comparison: Comparison,
) -> None:
    errors = comparison.figures("tuned")["errorPercent"]
    # How many the default drops differs from round to round, so three do not always tell: the interval decides.
    assert errors["difference"] == ("lower" if errors["high"] < 0 else "none"), errors
    assert (errors["difference"] == "lower") == ("errorPercent" in comparison.status["message"])


def test_a_tuned_max_startups_drops_none_where_the_default_drops_many(comparison: Comparison) -> None:
    for test in comparison.of("default"):
        errors = test["results"]["errors"]
        assert {error["outcome"] for error in errors} == {"throttled"}, errors
        assert sum(error["count"] for error in errors) == test["results"]["failures"]
        burst = test["results"]["burst"]
        assert burst["attempted"] == LOGINS
        assert burst["established"] == steps_of(test)["login"].count < LOGINS
        assert test["results"]["target"]["dropped"]["maxStartups"] > 0
    for test in comparison.of("tuned"):
        assert "errors" not in test["results"], test["results"]["errors"]
        assert "dropped" not in test["results"]["target"]
    assert [test["results"]["iterations"] for test in comparison.tests.values()] == [LOGINS] * 2 * ROUNDS


def owned(comparison: Comparison) -> list[dict[str, Any]]:
    return comparison.cluster.labelled("slt", f"sshload.dev/comparison={comparison.name}")


def test_a_deleted_comparison_takes_its_tests_with_it(comparison: Comparison) -> None:
    assert len(owned(comparison)) == 2 * ROUNDS
    comparison.cluster.kubectl("delete", "sltc", comparison.name)
    comparison.cluster.gone(lambda: owned(comparison), "tests")
