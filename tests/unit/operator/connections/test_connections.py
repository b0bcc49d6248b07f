"""most_begun_within: held against the schedule that the workers really follow."""

from collections import deque
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st
from sshload_contract.load import ArrivalProcess, ArrivalsLoad, ArrivalsStage, BurstLoad
from sshload_operator.planning.connections import most_begun_within
from sshload_worker.pacing import load as schedule

SECONDS = st.integers(1, 90).map(float)
STAGES = st.lists(st.builds(ArrivalsStage, st.integers(1, 20).map(float), SECONDS), min_size=1, max_size=4)
WARM_UPS = st.sampled_from([0.0, 3.0, 70.0])


def counted(instants: Iterable[float], stretch_s: float) -> int:
    """Return the most instants within any stretch, by looking at each of them."""
    most, inside = 0, deque[float]()
    for instant in instants:
        inside.append(instant)
        while inside[0] <= instant - stretch_s:
            inside.popleft()
        most = max(most, len(inside))
    return most


@given(STAGES, WARM_UPS, SECONDS)
def test_arrivals_are_as_many_as_the_schedule_begins(
    stages: list[ArrivalsStage], warm_up_s: float, stretch_s: float
) -> None:
    load = ArrivalsLoad(tuple(stages), ArrivalProcess.CONSTANT, max_in_flight=1, seed=1)
    real = counted(schedule.arrivals(load, warm_up_s), stretch_s)
    assert abs(most_begun_within(load, warm_up_s, stretch_s) - real) <= len(stages) + 1


@given(st.builds(BurstLoad, st.integers(1, 20), st.integers(1, 20), SECONDS), WARM_UPS, SECONDS)
def test_bursts_are_as_many_as_the_schedule_begins(load: BurstLoad, warm_up_s: float, stretch_s: float) -> None:
    assert most_begun_within(load, warm_up_s, stretch_s) == counted(schedule.arrivals(load, warm_up_s), stretch_s)
