from dataclasses import replace

import pytest
from run_configs import NOWHERE, arrivals, run_config
from sshload_contract.load import HoldLoad
from sshload_worker.summary.progress import NOTHING_YET
from sshload_worker.summary.trial_course import HeldRange

HOLD = HoldLoad(sessions=100, ramp_up_s=5.0, duration_s=10.0, keep_alive_s=1.0, probe_rate=2.0)
CONFIG = replace(run_config(NOWHERE, HOLD), warm_up_s=3.0)


def held_range(*marks: tuple[float, int], age_s: float = 0.0) -> HeldRange:
    held = HeldRange(CONFIG)
    for at_s, count in marks:
        held.observe(replace(NOTHING_YET, at_s=at_s, oldest_report_at_s=at_s - age_s, held=count))
    return held


@pytest.mark.parametrize(
    ("marks", "most", "least"),
    [
        pytest.param([(7.5, 80), (9.5, 99), (10.5, 100), (17.5, 97), (18.5, 0)], 100, 97, id="ramp and end left out"),
        pytest.param([(7.9, 90)], None, None, id="the ramp only"),
        pytest.param([], None, None, id="no marks"),
    ],
)
def test_the_range_is_of_the_time_in_which_all_are_to_be_held(
    marks: list[tuple[float, int]], most: int | None, least: int | None
) -> None:
    held = held_range(*marks)
    assert (held.most, held.least) == (most, least)


def test_one_session_is_held_too() -> None:
    held = HeldRange(replace(CONFIG, load=replace(HOLD, sessions=1)))
    held.observe(replace(NOTHING_YET, at_s=9.0, oldest_report_at_s=9.0, held=1))
    assert (held.most, held.least) == (1, 1)


def test_other_loads_hold_nothing() -> None:
    held = HeldRange(run_config(NOWHERE, arrivals(1, 10)))
    held.observe(replace(NOTHING_YET, at_s=5.0, held=0))
    assert (held.most, held.least) == (None, None)


@pytest.mark.parametrize("age_s", [1.5, 5.0])
def test_a_report_of_the_ramp_does_not_count_however_late_its_worker_is(age_s: float) -> None:
    held = held_range((8.5, 80), (8 + age_s - 0.1, 90), (8 + age_s, 100), age_s=age_s)
    assert (held.most, held.least) == (100, 100)
