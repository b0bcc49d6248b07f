from dataclasses import replace

import pytest
from run_configs import NOWHERE, arrivals, run_config
from sshload_contract.load import HoldLoad
from sshload_worker.summary.progress import NOTHING_YET
from sshload_worker.summary.trial_course import HeldRange

HOLD = HoldLoad(sessions=100, ramp_up_s=5.0, duration_s=10.0, keep_alive_s=1.0, probe_rate=2.0)
CONFIG = replace(run_config(NOWHERE, HOLD), warm_up_s=3.0)


def held_range(*marks: tuple[float, int], workers: int = 1) -> HeldRange:
    held = HeldRange(replace(CONFIG, workers=workers))
    for at_s, count in marks:
        held.observe(replace(NOTHING_YET, at_s=at_s, held=count))
    return held


@pytest.mark.parametrize(
    ("marks", "most", "least"),
    [
        pytest.param([(7.5, 80), (9.5, 99), (10.5, 100), (17.5, 97), (18.5, 0)], 100, 97, id="ramp and end left out"),
        pytest.param([(8.5, 90)], None, None, id="a worker's word may still be of the ramp"),
        pytest.param([], None, None, id="no marks"),
    ],
)
def test_the_range_is_of_the_time_in_which_all_are_to_be_held(
    marks: list[tuple[float, int]], most: int | None, least: int | None
) -> None:
    held = held_range(*marks)
    assert (held.most, held.least) == (most, least)


def test_other_loads_hold_nothing() -> None:
    held = HeldRange(run_config(NOWHERE, arrivals(1, 10)))
    held.observe(replace(NOTHING_YET, at_s=5.0, held=0))
    assert (held.most, held.least) == (None, None)


def test_the_range_begins_later_where_many_workers_report_less_often() -> None:
    held = held_range((9.5, 80), (12.9, 90), (13.1, 100), workers=500)
    assert (held.most, held.least) == (100, 100)
