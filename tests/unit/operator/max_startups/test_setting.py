"""MaxStartups is read and obeyed as sshd does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import plan, quickstart
from sshload_operator.api.sshd import Sshd
from sshload_operator.api.targets import ManagedTarget
from sshload_operator.decision.max_startups.setting import DEFAULT, MaxStartups, read, setting_of

_COUNTS = st.integers(min_value=1, max_value=20_000)
SETTINGS = st.builds(
    lambda ends, rate: MaxStartups(min(ends), rate, max(ends)),
    st.tuples(_COUNTS, _COUNTS),
    st.integers(min_value=1, max_value=100),
)


@pytest.mark.parametrize(
    ("unauthenticated", "percent"),
    [(0, 0), (9, 0), (10, 30), (11, 30), (12, 31), (55, 65), (98, 98), (99, 99), (100, 100), (101, 100)],
)
def test_the_default_drops_as_sshd_computes_it_in_integers(unauthenticated: int, percent: int) -> None:
    assert MaxStartups(10, 30, 100).drop_percent(unauthenticated) == percent


def test_a_rate_of_a_hundred_drops_all_from_start_on() -> None:
    setting = MaxStartups(10, 100, 50)
    assert [setting.drop_percent(count) for count in (9, 10, 30, 50)] == [0, 100, 100, 100]


def test_start_and_full_alike_are_a_limit() -> None:
    setting = MaxStartups(3000, 30, 3000)
    assert [setting.drop_percent(count) for count in (2_999, 3_000)] == [0, 100]


@given(SETTINGS, st.integers(min_value=0, max_value=30_000))
def test_nothing_is_dropped_below_start_and_all_at_full(setting: MaxStartups, count: int) -> None:
    percent = setting.drop_percent(count)
    assert (percent == 0) == (count < setting.start)
    assert setting.drop_percent(setting.full + count) == 100
    assert percent <= setting.drop_percent(count + 1)


@given(SETTINGS)
def test_a_setting_is_read_as_it_is_written(setting: MaxStartups) -> None:
    assert read(str(setting)) == setting


def test_a_target_without_the_knob_has_sshds_default() -> None:
    assert setting_of(_sshd()) == DEFAULT
    assert str(DEFAULT) == "10:30:100"


def test_a_targets_knob_is_its_setting() -> None:
    assert setting_of(_sshd(maxStartups="100:30:200")) == MaxStartups(100, 30, 200)


def _sshd(**knobs: object) -> Sshd:
    target = plan(quickstart(target={"managed": {"sshd": knobs}})).spec.target
    assert isinstance(target, ManagedTarget)
    return target.sshd
