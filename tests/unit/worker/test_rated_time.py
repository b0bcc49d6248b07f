"""In which part of a load, and in which stage, something counts for a rate."""

from dataclasses import replace

import pytest
from run_configs import arrivals
from sshload_contract.load import ArrivalsStage, BurstLoad, HoldLoad
from sshload_contract.vocabulary import Window
from sshload_worker.recording.rated_time import RatedTime, window_of

NS_PER_S = 1_000_000_000
STAGES = replace(arrivals(1, 1), stages=(ArrivalsStage(1, 2), ArrivalsStage(1, 3)))
HOLD = HoldLoad(sessions=1, ramp_up_s=2, duration_s=3, keep_alive_s=0, probe_rate=1)


def at(load: RatedTime, second: float) -> tuple[int, int]:
    instant_ns = int((100 + second) * NS_PER_S)
    return load.part_at(instant_ns), load.stage_at(instant_ns)


def test_each_part_and_stage_contains_its_beginning_and_not_its_end() -> None:
    rated = RatedTime.of(STAGES, 1.0, 100 * NS_PER_S)
    assert [at(rated, second)[0] for second in (-0.1, 0, 0.9, 1.0, 5.9, 6.0)] == [0, 1, 1, 3, 3, 4]
    assert [at(rated, second)[1] for second in (1.0, 2.9, 3.0, 5.9, 6.0, 9.0)] == [1, 1, 2, 2, 2, 2]
    assert rated.end_ns == 106 * NS_PER_S


def test_a_ramp_of_held_sessions_is_between_warm_up_and_the_rest() -> None:
    rated = RatedTime.of(HOLD, 1.0, 100 * NS_PER_S)
    assert [at(rated, second) for second in (0, 1, 2.9, 3, 5.9, 6)] == [(1, 0), (2, 0), (2, 0), (3, 0), (3, 0), (4, 0)]


def test_iterations_of_a_burst_without_an_interval_count_whenever_they_end() -> None:
    rated = RatedTime.of(BurstLoad(connections=1, repeat=1, interval_s=0.0), 0.0, 100 * NS_PER_S)
    assert at(rated, 1_000) == (3, 0)


def test_an_end_ends_all_that_would_come_after_it_and_a_later_one_changes_nothing() -> None:
    rated = RatedTime.of(HOLD, 1.0, 100 * NS_PER_S)
    rated.end_at(102 * NS_PER_S)
    rated.end_at(104 * NS_PER_S)
    assert [at(rated, second)[0] for second in (0, 1.9, 2, 5)] == [1, 2, 4, 4]


@pytest.mark.parametrize(
    ("begin_s", "end_s", "shares"),
    [
        pytest.param(101, 102, [(2, 100)], id="within the ramp"),
        pytest.param(101, 101, [(2, 100)], id="at an instant"),
        pytest.param(100, 110, [(1, 10), (2, 20), (3, 30), (4, 40)], id="through all"),
        pytest.param(101, 103, [(2, 100), (3, 0)], id="to the beginning of a part"),
        pytest.param(99, 102, [(0, 33), (1, 33), (2, 34)], id="what does not divide adds up"),
    ],
)
def test_bytes_count_where_they_moved(begin_s: int, end_s: int, shares: list[tuple[int, int]]) -> None:
    rated = RatedTime.of(HOLD, 1.0, 100 * NS_PER_S)
    assert list(rated.shares(begin_s * NS_PER_S, end_s * NS_PER_S, 100)) == shares


@pytest.mark.parametrize(
    ("step", "windows"),
    [
        ("total", [None, Window.WARM_UP, None, Window.MEASURED, None]),
        ("held.hold", [None, Window.WARM_UP, Window.MEASURED, Window.MEASURED, None]),
        ("held.other", [None, Window.WARM_UP, None, Window.MEASURED, None]),
        ("via1.login", [None, Window.WARM_UP, Window.MEASURED, Window.MEASURED, None]),
    ],
)
def test_in_the_ramp_only_held_sessions_and_jump_hosts_count(step: str, windows: list[Window | None]) -> None:
    assert [window_of(step, part) for part in range(5)] == windows
