"""Percentiles: written so that they are told apart, and shown only with samples enough."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshload_contract.percentiles import percentile_key, samples_needed

MISSED_SHARE = 0.05


@pytest.mark.parametrize(
    ("percentile", "key"), [(50.0, "50"), (99.0, "99"), (99.9, "99.9"), (99.99999, "99.99999"), (0.1, "0.1")], ids=str
)
def test_a_percentile_is_written_without_what_it_does_not_need(percentile: float, key: str) -> None:
    assert percentile_key(percentile) == key


@given(st.integers(min_value=1, max_value=99_999).map(lambda thousandths: thousandths / 1_000))
def test_the_samples_needed_are_the_fewest_whose_largest_bounds_the_percentile(percentile: float) -> None:
    """The chance that all samples lie below the percentile is its share to the power of their number."""
    needed, share = samples_needed(percentile), percentile / 100
    assert share**needed <= MISSED_SHARE * (1 + 1e-9)
    assert needed == 1 or share ** (needed - 1) > MISSED_SHARE * (1 - 1e-9)
