"""most_begun_within: held against the schedule that the workers really follow."""

from collections import deque
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st
from sshload_contract.load import ArrivalProcess, ArrivalsLoad, ArrivalsStage, BurstLoad

SECONDS = st.integers(1, 90).map(float)
RATES = st.integers(1, 20).map(float)
STAGES = st.lists(st.builds(ArrivalsStage, RATES, SECONDS, st.none() | RATES), min_size=1, max_size=4)
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
    real = counted(load.due(warm_up_s), stretch_s)
    assert abs(load.most_begun_within(warm_up_s, stretch_s) - real) <= 1


@given(st.builds(BurstLoad, st.integers(1, 20), st.integers(1, 20), SECONDS), WARM_UPS, SECONDS)
def test_bursts_are_as_many_as_the_schedule_begins(load: BurstLoad, warm_up_s: float, stretch_s: float) -> None:
    assert load.most_begun_within(warm_up_s, stretch_s) == counted(load.due(warm_up_s), stretch_s)
