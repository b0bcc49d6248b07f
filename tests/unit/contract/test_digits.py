"""A figure in a sentence has few digits, and an exponent only where it would have more than anybody reads."""

from math import inf

import pytest
from sshload_contract.digits import to_digits


@pytest.mark.parametrize(
    ("figure", "digits", "text"),
    [
        (0.012345, 3, "0.0123"),
        (12.345, 3, "12.3"),
        (99.6, 2, "100"),
        (1_234.5, 3, "1230"),
        (17_179.869, 4, "17180"),
        (99_999.9, 4, "100000"),
        (-1_234.5, 3, "-1230"),
        (0.0, 3, "0"),
        (inf, 3, "inf"),
        (1.79e308, 3, "1.79e+308"),
    ],
)
def test_a_figure_is_told_to_so_many_digits(figure: float, digits: int, text: str) -> None:
    assert to_digits(figure, digits) == text
