"""Durations, percentages, sizes and resources as people write them."""

from fractions import Fraction
from typing import Any

import pytest
from sshload_contract.quantities import duration_s, percent_share, resource_amount, size_bytes


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("250ms", 0.25), ("30s", 30), ("1m30s", 90), ("1h", 3600), ("1.5h", 5400), ("0s", 0), ("0.1s", 0.1), ("1s1s", 2)],
)
def test_a_duration(text: str, seconds: float) -> None:
    assert duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "1", "s", "-1s", "1 s", "1d", "1us", ".5s", "1.s", "1s\n", "1e3s", "\uff11s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        duration_s(text)


@pytest.mark.parametrize("text", ["1500ms", "1.5m"])
def test_what_is_no_duration_in_whole_seconds(text: str) -> None:
    with pytest.raises(ValueError, match="whole seconds"):
        duration_s(text, whole_seconds=True)


@pytest.mark.parametrize(("text", "share"), [("1%", 0.01), ("0.5%", 0.005), ("100%", 1), ("0%", 0), ("0.0001%", 1e-6)])
def test_a_percentage(text: str, share: float) -> None:
    assert percent_share(text) == share


@pytest.mark.parametrize("text", ["", "1", "%", "-1%", "1 %", "1.%", "0.12345%", "1%\n"])
def test_what_is_no_percentage(text: str) -> None:
    with pytest.raises(ValueError, match="is not a percentage"):
        percent_share(text)


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("26Ki", 26_624), ("11M", 11_000_000), ("1k", 1000), ("2Gi", 2**31)]
)
def test_a_size(text: str, size: int) -> None:
    assert size_bytes(text) == size


@pytest.mark.parametrize("text", ["", "Ki", "-1", "26KB", "1.5Gi", "1e3", "1Ti", "1Ki\n"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        size_bytes(text)


@pytest.mark.parametrize(
    ("amount", "whole"),
    [
        pytest.param("1500m", Fraction(3, 2), id="thousandths"),
        pytest.param("0.5", Fraction(1, 2), id="a half"),
        pytest.param(3, Fraction(3), id="a number"),
        pytest.param(1.5, Fraction(3, 2), id="a number with a point"),
        pytest.param("1k", Fraction(1000), id="thousands"),
        pytest.param("1Ki", Fraction(1024), id="1024"),
        pytest.param("4Gi", Fraction(2**32), id="gibibytes"),
    ],
)
def test_an_amount_of_a_resource_is_read_as_kubernetes_writes_it(amount: Any, whole: Fraction) -> None:
    assert resource_amount(amount) == whole


@pytest.mark.parametrize("amount", ["many", "1x", "m", ""])
def test_what_is_no_amount_of_a_resource(amount: str) -> None:
    with pytest.raises(ValueError, match="is not an amount of a resource"):
        resource_amount(amount)
