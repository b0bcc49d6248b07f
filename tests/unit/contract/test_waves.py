"""A wave: when its iterations begin, held against the area below a cosine, and what it says of itself."""

from dataclasses import replace
from math import cos, pi, sin, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshload_contract.load import ArrivalProcess
from sshload_contract.load.waves import WaveLoad

WAVE = WaveLoad(2.0, 20.0, 60.0, 3, ArrivalProcess.CONSTANT, max_in_flight=50, seed=7)
RANDOM = replace(WAVE, process=ArrivalProcess.POISSON)
WAVES = st.builds(
    WaveLoad,
    rate=st.sampled_from([0.0, 0.1, 3.0]),
    to_rate=st.sampled_from([3.1, 10.0, 41.7]),
    period_s=st.integers(10, 90).map(float),
    repeat=st.integers(1, 3),
    process=st.just(ArrivalProcess.CONSTANT),
    max_in_flight=st.just(10),
    seed=st.just(1),
)


def begun_by(load: WaveLoad, at_s: float) -> float:
    """Return the area below the cosine until then."""
    mean, swing = (load.rate + load.to_rate) / 2, (load.to_rate - load.rate) / 2
    return mean * at_s - swing * load.period_s / (2 * pi) * sin(2 * pi * at_s / load.period_s)


@given(WAVES, st.sampled_from([0.0, 2.0, 70.0]), st.floats(0, 1))
def test_a_wave_has_begun_as_many_at_each_moment_as_the_area_below_its_cosine(
    load: WaveLoad, warm_up_s: float, share: float
) -> None:
    at_s = share * load.lasts_s
    begun = sum(offset < warm_up_s + at_s for offset in load.due(warm_up_s))
    off_by_ramps = (load.to_rate - load.rate) / 2 * load.period_s * 0.0013
    assert begun == pytest.approx(load.rate * warm_up_s + begun_by(load, at_s), abs=1 + off_by_ramps)


def test_its_rate_is_lowest_at_the_ends_and_highest_in_the_middle() -> None:
    offsets = list(replace(WAVE, rate=10.0, to_rate=100.0).due(0.0))
    at_s = {4: 10.0, 30: 100.0, 56: 10.0, 15: 55.0, 45: 55.0}
    assert offsets == sorted(offsets)
    assert max(offsets) < WAVE.lasts_s
    for middle_s, rate in at_s.items():
        about = 55 - 45 * cos(2 * pi * middle_s / 60)
        counted = sum(middle_s - 1 <= offset < middle_s + 1 for offset in offsets) / 2
        assert counted == pytest.approx(about, abs=1)
        assert about == pytest.approx(rate, abs=8)


def test_random_waves_have_their_mean_number_and_the_same_for_the_same_seed() -> None:
    played = list(RANDOM.due(0.0))
    assert played == list(RANDOM.due(0.0)) != list(replace(RANDOM, seed=8).due(0.0))
    assert RANDOM.iterations == 1_980
    assert len(played) == pytest.approx(RANDOM.iterations, abs=5 * sqrt(RANDOM.iterations))  # of one seed: no chance
    assert len(played) <= RANDOM.most_due


@pytest.mark.slow
@given(WAVES, st.sampled_from([0.0, 45.0]), st.integers(1, 300).map(float))
def test_no_stretch_begins_more_than_it_says(load: WaveLoad, warm_up_s: float, stretch_s: float) -> None:
    offsets = list(load.due(warm_up_s))
    real = max((sum(first <= other < first + stretch_s for other in offsets) for first in offsets[::7]), default=0)
    assert real <= load.most_begun_within(warm_up_s, stretch_s) + 1
    assert load.most_begun_within(0.0, load.lasts_s) == pytest.approx(load.iterations, abs=1)


def test_a_stretch_longer_than_all_waves_has_as_much_of_the_warm_up_as_fits() -> None:
    assert [WAVE.most_begun_within(60.0, stretch_s) for stretch_s in (180.0, 200.0, 240.0, 900.0)] == [
        1_980,
        2_020,
        2_100,
        2_100,
    ]


@pytest.mark.parametrize(
    ("stretch_s", "begun"),
    [
        pytest.param(30, 330 + 9 * 60 / pi, id="the upper half of a wave"),
        pytest.param(60, 660, id="a wave"),
        pytest.param(90, 990 + 9 * 60 / pi, id="a wave and the upper half of another"),
        pytest.param(500, 1_980, id="more than there is"),
    ],
)
def test_a_stretch_around_the_middle_has_the_average_and_what_is_above_it(stretch_s: float, begun: float) -> None:
    """Each half of 30 s is above or below the average of 11 per second by the area of half a sine of height 9."""
    assert WAVE.most_begun_within(0.0, stretch_s) == pytest.approx(begun, abs=1)


def test_it_says_what_it_is() -> None:
    assert WAVE.words == "2 to 20 arrivals/s and back in 3 waves of 60 s, constant"
    assert replace(WAVE, repeat=1).words == "2 to 20 arrivals/s and back in 1 wave of 60 s, constant"
    assert (WAVE.lasts_s, WAVE.amount, WAVE.offered_rate, WAVE.most_rate, WAVE.warm_up_iterations(5.0)) == (
        180,
        11,
        11,
        20,
        10,
    )
    assert (WAVE.drops_arrivals, WAVE.most_connections, WAVE.is_steady, WAVE.is_even) == (True, 50, False, True)
    assert WAVE.stage_durations_s == ()
