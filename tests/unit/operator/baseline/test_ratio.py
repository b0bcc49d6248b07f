from math import inf, isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshload_operator.decision.baseline.measured import Bounds, Value, capacity_ratio, ratio

values = st.floats(min_value=1e-3, max_value=1e6)
widths = st.floats(min_value=1.0, max_value=10.0)


@st.composite
def figures(draw: st.DrawFn) -> Value:
    value = draw(values)
    return Value(value, value / draw(widths), value * draw(widths))


@given(figures(), figures())
def test_the_interval_holds_the_ratio_and_is_wider_than_either_alone(new: Value, base: Value) -> None:
    found = ratio(new, base)
    assert found is not None
    slack = 1e-9 * found.value
    assert found.low <= found.value + slack
    assert found.value <= found.high + slack
    assert found.high / found.value >= max((new.high or inf) / new.value, base.value / (base.low or inf)) - 1e-9
    assert found.low >= (new.low or 0) / (base.high or inf) - slack
    assert found.high <= (new.high or inf) / (base.low or 1) + slack * found.high


@given(figures(), figures())
def test_the_other_way_round_it_is_the_reciprocal(new: Value, base: Value) -> None:
    one, other = ratio(new, base), ratio(base, new)
    assert one is not None
    assert other is not None
    assert isclose(one.low, 1 / other.high, rel_tol=1e-9)
    assert isclose(one.high, 1 / other.low, rel_tol=1e-9)


@given(figures(), figures(), st.floats(min_value=0.01, max_value=100))
def test_the_unit_does_not_matter(new: Value, base: Value, times: float) -> None:
    def scaled(found: Value) -> Value:
        return Value(found.value * times, (found.low or 0) * times, (found.high or 0) * times)

    once, again = ratio(new, base), ratio(scaled(new), scaled(base))
    assert once is not None
    assert again is not None
    assert isclose(once.low, again.low, rel_tol=1e-6)
    assert isclose(once.high, again.high, rel_tol=1e-6)


def test_equal_noise_adds_up_as_independent_noise_does() -> None:
    found = ratio(Value(100, 100 / 1.1, 110), Value(100, 100 / 1.1, 110))
    assert found is not None
    assert found.high == pytest.approx(1.1 ** (2**0.5))


def test_a_side_that_the_samples_do_not_bound_is_open() -> None:
    found = ratio(Value(100, 90, None), Value(100, 90, None))
    assert found is not None
    assert (found.low, found.high) == (0, inf)


def test_a_bound_that_no_float_holds_is_open() -> None:
    found = ratio(Value(1.0, 0.5, 1.7e308), Value(1.0, 2.8e-12, 2.0))
    assert found is not None
    assert found.high == inf


def test_there_is_no_ratio_to_nothing() -> None:
    assert ratio(Value(0, None, None), Value(1, 1, 1)) is None
    assert ratio(Value(1, 1, 1), Value(0, None, None)) is None


bounds = st.builds(lambda low, width: Bounds(low, low * width), values, st.floats(min_value=1.0001, max_value=2))


@given(bounds, bounds, st.floats(min_value=0, max_value=0.999), st.floats(min_value=0, max_value=0.999))
def test_whatever_the_capacities_are_within_their_bounds_so_is_their_ratio(
    new: Bounds, base: Bounds, ours: float, theirs: float
) -> None:
    def inside(found: Bounds, share: float) -> float:
        assert found.lower is not None
        assert found.upper is not None
        return found.lower + share * (found.upper - found.lower)

    found = capacity_ratio(new, base)
    assert found is not None
    true = inside(new, ours) / inside(base, theirs)
    assert found.low * (1 - 1e-9) <= true <= found.high * (1 + 1e-9)


@pytest.mark.parametrize(
    ("new", "base", "low", "high"),
    [
        (Bounds(100, 105), Bounds(100, 105), 100 / 105, 1.05),
        (Bounds(500, None), Bounds(100, 105), 500 / 105, inf),
        (Bounds(None, 10), Bounds(100, 105), 0, 0.1),
        (Bounds(100, 105), Bounds(500, None), 0, 0.21),
    ],
)
def test_an_open_bound_leaves_its_side_open(new: Bounds, base: Bounds, low: float, high: float) -> None:
    found = capacity_ratio(new, base)
    assert found is not None
    assert (found.low, found.high) == (low, high)


def test_two_capacities_of_which_nothing_is_known_have_no_ratio() -> None:
    assert capacity_ratio(Bounds(None, None), Bounds(None, None)) is None
