"""A variant's figures beside the first variant's, and the sentence that tells of them."""

from collections.abc import Mapping
from math import inf, prod

import pytest
from sshload_contract.vocabulary import Verdict
from sshload_operator.api.status.comparison import Difference, TestRun
from sshload_operator.decision.comparison.compare import Compared, compare
from sshload_operator.decision.comparison.endings import sentence


def ended(test: str, number: int, variant: str, figures: Mapping[str, float]) -> TestRun:
    return TestRun(test=test, round=number, variant=variant, verdict=Verdict.PASSED, figures=figures)


def runs(variant: str, key: str, *values: float | None) -> list[TestRun]:
    """Return a variant's tests, one for each round; of None the test does not state the figure."""
    return [
        ended(f"{variant}{number}", number, variant, {} if value is None else {key: value})
        for number, value in enumerate(values, start=1)
    ]


def beside(key: str, first: tuple[float | None, ...], other: tuple[float | None, ...]) -> Compared:
    """Return the figure of `other`."""
    (found,) = compare([*runs("a", key, *first), *runs("b", key, *other)], "a", "b", 1)
    return found


def test_the_value_is_the_median_and_the_ratio_the_geometric_mean_of_the_rounds() -> None:
    found = beside("total.p50Ms", (10, 20, 40), (11, 24, 40))
    assert found.value == 24
    assert found.mean == pytest.approx(prod((1.1, 1.2, 1.0)) ** (1 / 3))
    assert found.rounds == 3


def test_rounds_are_pairs_so_that_what_drifts_alike_is_no_noise() -> None:
    found = beside("total.p50Ms", (10, 30, 90), (12, 36.1, 107.9))
    assert found.difference is Difference.SLOWER
    assert found.high - found.low < 0.02


def test_without_a_difference_the_interval_contains_one() -> None:
    found = beside("total.p50Ms", (10, 11, 10.5), (10.4, 10.6, 10.7))
    assert found.low < 1 < found.high
    assert found.difference is Difference.NONE


@pytest.mark.parametrize(
    ("key", "more", "less"),
    [
        ("login.p99Ms", Difference.SLOWER, Difference.FASTER),
        ("completedRate", Difference.HIGHER, Difference.LOWER),
        ("cpuPerLoginMs", Difference.HIGHER, Difference.LOWER),
        ("generatorCpuPerIterationMs", Difference.HIGHER, Difference.LOWER),
        ("capacity", Difference.HIGHER, Difference.LOWER),
        ("errorPercent", Difference.HIGHER, Difference.LOWER),
    ],
)
def test_the_direction_is_told_in_the_figures_own_word(key: str, more: Difference, less: Difference) -> None:
    low, high = (10.0, 10.1, 9.9, 10.05), (20.0, 20.3, 19.9, 20.2)
    assert beside(key, low, high).difference is more
    assert beside(key, high, low).difference is less


def test_errors_are_compared_in_points_so_that_none_at_all_can_be_compared() -> None:
    found = beside("errorPercent", (61.0, 63.5, 60.0), (0.0, 0.0, 0.0))
    assert found.in_points
    assert found.mean == pytest.approx(-61.5)
    assert found.low < found.mean < found.high < 0
    assert found.difference is Difference.LOWER


def test_no_errors_on_either_side_are_no_difference() -> None:
    found = beside("errorPercent", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    assert (found.mean, found.low, found.high, found.difference) == (0, 0, 0, Difference.NONE)


def test_a_figure_of_nought_has_no_ratio() -> None:
    found = beside("completedRate", (20.0, 20.0, 20.0), (0.0, 0.0, 0.0))
    assert (found.value, found.mean, found.low, found.difference) == (0, None, None, Difference.UNKNOWN)


def test_less_than_the_resolution_of_the_figures_is_no_difference() -> None:
    assert beside("total.p50Ms", (10.0, 10.0, 10.0), (10.005, 10.005, 10.005)).difference is Difference.NONE
    assert beside("total.p50Ms", (10.0, 10.0, 10.0), (10.05, 10.05, 10.05)).difference is Difference.SLOWER


def test_nor_is_as_little_in_the_other_direction() -> None:
    assert beside("total.p50Ms", (10.005, 10.005, 10.005), (10.0, 10.0, 10.0)).difference is Difference.NONE
    assert beside("total.p50Ms", (10.05, 10.05, 10.05), (10.0, 10.0, 10.0)).difference is Difference.FASTER


def test_latencies_of_less_than_a_millisecond_have_a_ratio() -> None:
    found = beside("total.p50Ms", (0.5, 0.5, 0.5), (1.0, 1.0, 1.0))
    assert (found.mean, found.difference) == (pytest.approx(2), Difference.SLOWER)


def test_a_ratio_beyond_all_numbers_is_stated_as_a_large_one() -> None:
    found = beside("total.p50Ms", (1e-300, 1e-300, 1e-300), (1e300, 1e300, 1e300))
    assert found.low == found.mean == found.high
    assert 1e300 < found.mean < inf


def test_figures_stand_as_the_steps_happen() -> None:
    figures = {"total.p50Ms": 1.0, "auth.p50Ms": 1.0, "connect.p50Ms": 1.0, "errorPercent": 1.0}
    both = [ended(variant, 1, variant, figures) for variant in ("a", "b")]
    told = [found.key for found in compare(both, "a", "b", 1)]
    assert told == ["errorPercent", "connect.p50Ms", "auth.p50Ms", "total.p50Ms"]


def test_with_two_rounds_there_is_a_ratio_but_no_interval() -> None:
    found = beside("total.p50Ms", (10, 10), (20, 20))
    assert found.mean == pytest.approx(2)
    assert (found.low, found.high, found.difference) == (None, None, Difference.UNKNOWN)


def test_only_rounds_in_which_both_state_the_figure_are_paired() -> None:
    found = beside("total.p99Ms", (10, None, 12, 10, 11), (20, 30, None, 20, 22))
    assert found.rounds == 3
    assert found.mean == pytest.approx(2)


def test_the_first_variant_is_beside_nothing() -> None:
    (found,) = compare(runs("a", "total.p50Ms", 1, 2, 3), "a", "a", 1)
    assert (found.value, found.mean, found.difference) == (2, None, Difference.UNKNOWN)


def test_figures_of_whole_tests_come_first() -> None:
    both = [ended(variant, 1, variant, {"login.p50Ms": 1.0, "completedRate": 2.0}) for variant in ("a", "b")]
    assert [found.key for found in compare(both, "a", "b", 1)] == ["completedRate", "login.p50Ms"]


def told(**keys: tuple[tuple[float, ...], tuple[float, ...]]) -> str:
    names = {key: key.replace("_", ".") for key in keys}
    found = [beside(names[key], *sides) for key, sides in keys.items()]
    return sentence("tuned", "default", found)


SAME = ((10.0, 10.2, 9.9), (10.1, 10.0, 9.8))
DOUBLE = ((10.0, 10.2, 9.9), (20.1, 20.0, 20.4))


def test_no_difference_is_said_in_so_many_words() -> None:
    assert told(total_p50Ms=SAME, login_p50Ms=SAME) == "tuned shows no difference from default in 2 figures"


def test_a_difference_is_told_with_its_interval() -> None:
    text = told(login_p50Ms=SAME, total_p50Ms=DOUBLE)
    assert text.startswith(
        "tuned differs from default in 1 of 2 figures: total p50 2.01 times (1.88 to 2.15), +10.1 ms ("
    )
    assert text.endswith(", no difference in the other 1")


def test_whole_tests_differences_are_told_before_those_of_steps() -> None:
    text = told(auth_p50Ms=DOUBLE, total_p50Ms=DOUBLE, completedRate=DOUBLE, kex_p50Ms=DOUBLE, exec_p50Ms=DOUBLE)
    assert text.index("completedRate") < text.index("total p50") < text.index("auth p50")
    assert text.endswith("and in 2 more")


def test_latencies_of_unequal_survivors_are_cautioned() -> None:
    text = told(errorPercent=((60.0, 62.0, 61.0), (0.0, 0.0, 0.0)), total_p50Ms=DOUBLE)
    assert "errorPercent -61 points (" in text
    assert text.endswith("Latencies are those of successes only, and the share of successes differs")


def test_nothing_that_can_be_compared_is_said() -> None:
    assert told(total_p50Ms=((1.0,), (2.0,))) == "tuned cannot be compared with default"
