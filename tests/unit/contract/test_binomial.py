"""What a count of failures proves, held against the exact sums of binomial chances."""

from fractions import Fraction
from math import comb

import pytest
from sshload_contract.judgement.binomial import _tail_chance, is_below, is_not_below, tries_needed

LIMITS = ("0.0001", "0.01", "0.1", "0.5", "0.99")


def chance(counts: range, tried: int, share: Fraction) -> Fraction:
    """Return the chance of any of these counts of failures."""
    return sum((comb(tried, count) * share**count * (1 - share) ** (tried - count) for count in counts), Fraction(0))


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("tried", [1, 10, 97])
def test_it_is_what_the_exact_sums_say(tried: int, limit: str) -> None:
    share = Fraction(limit)
    for failed in range(tried + 1):
        so_few, so_many = chance(range(failed + 1), tried, share), chance(range(failed, tried + 1), tried, share)
        assert is_below(failed, tried, float(share)) == (so_few <= Fraction("0.05"))
        assert is_not_below(failed, tried, float(share)) == (so_many <= Fraction("0.05"))


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("tried", [1, 2, 10, 97])
def test_a_chance_away_from_the_mean_is_the_exact_sum(tried: int, limit: str) -> None:
    share = Fraction(limit)
    for failed in range(tried + 1):
        if failed <= tried * share:
            exact = chance(range(failed + 1), tried, share)
            assert _tail_chance(failed, tried, float(share), step=-1) == pytest.approx(float(exact), rel=1e-9)
        if failed >= tried * share:
            exact = chance(range(failed, tried + 1), tried, share)
            assert _tail_chance(failed, tried, float(share), step=1) == pytest.approx(float(exact), rel=1e-9)


def test_what_decides_already_needs_no_more_tries() -> None:
    assert tries_needed(60, 600, 0.01) == 600


@pytest.mark.parametrize("limit", [0.0001, 0.01, 0.5])
def test_it_holds_for_a_hundred_million(limit: float) -> None:
    tried = 100_000_000
    deviation = (tried * limit * (1 - limit)) ** 0.5
    mean = tried * limit
    assert is_below(round(mean - 1.7 * deviation), tried, limit)
    assert not is_below(round(mean - 1.6 * deviation), tried, limit)
    assert is_not_below(round(mean + 1.7 * deviation), tried, limit)
    assert not is_not_below(round(mean + 1.6 * deviation), tried, limit)


def test_a_limit_of_all_is_kept_by_one_success() -> None:
    assert [is_below(failed, 10, 1.0) for failed in (9, 10)] == [True, False]
    assert [is_not_below(failed, 10, 1.0) for failed in (9, 10)] == [False, True]


@pytest.mark.parametrize(
    ("failed", "tried", "limit", "needed"), [(0, 10, 0.01, 299), (0, 10, 0.1, 29), (0, 1, 1.0, 1), (6, 600, 0.01, None)]
)
def test_how_many_tries_it_takes(failed: int, tried: int, limit: float, needed: int | None) -> None:
    assert tries_needed(failed, tried, limit) == needed


@pytest.mark.parametrize("failed", [3, 10])
def test_as_many_tries_as_are_needed_decide(failed: int) -> None:
    needed = tries_needed(failed, 600, 0.01)
    assert needed is not None
    share = failed / 600
    assert is_below(round(share * needed), needed, 0.01) or is_not_below(round(share * needed), needed, 0.01)
    fewer = round(needed * 0.97)
    assert not is_below(round(share * fewer), fewer, 0.01)
    assert not is_not_below(round(share * fewer), fewer, 0.01)
