"""What a burst loses, held against sshd's rule played connection by connection."""

from math import inf, sqrt
from random import Random
from statistics import mean, pvariance

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshd_queue import SshdQueue, even_works, seeded
from sshload_operator.decision.max_startups.arrivals import LoginService
from sshload_operator.decision.max_startups.setting import DEFAULT, MaxStartups, burst_drops

REPEATS = 1_000
DEVIATIONS = 5.0


def played(connections: int, setting: MaxStartups, random: Random) -> float:
    """Return the share of drops of one burst."""
    queue = SshdQueue(LoginService(1.0, inf), setting, even_works, random)
    for _ in range(connections):
        queue.connect()
    return queue.played.drop_share


@pytest.mark.parametrize("connections", [11, 60, 300])
@pytest.mark.parametrize("setting", [DEFAULT, MaxStartups(5, 80, 50), MaxStartups(20, 30, 20)], ids=str)
def test_a_burst_is_dropped_as_foreseen(connections: int, setting: MaxStartups) -> None:
    random = seeded(f"{connections}/{setting}")
    foreseen = burst_drops(connections, setting)
    shares = [played(connections, setting, random) for _ in range(REPEATS)]
    assert abs(mean(shares) - foreseen.dropped) <= DEVIATIONS * sqrt(foreseen.variance / REPEATS) + 1e-9
    assert pvariance(shares) == pytest.approx(foreseen.variance, rel=0.3, abs=1e-9)


@given(st.integers(1, 100), st.integers(1, 100), st.integers(1, 100))
def test_no_more_than_start_lose_nothing_and_never_more_than_full_come_in(start: int, more: int, rate: int) -> None:
    setting = MaxStartups(start, rate, start + more)
    assert burst_drops(start, setting).dropped == 0
    connections = start + 2 * more
    assert connections * (1 - burst_drops(connections, setting).dropped) <= setting.full + 1e-6


@pytest.mark.slow
@given(st.integers(1, 300), st.integers(1, 99), st.integers(1, 100))
def test_a_higher_rate_drops_no_less(connections: int, rate: int, start: int) -> None:
    low, high = (burst_drops(connections, MaxStartups(start, one, start + 100)).dropped for one in (rate, rate + 1))
    assert low <= high + 1e-9


@pytest.mark.slow
def test_a_burst_of_thousands_is_no_trouble() -> None:
    assert burst_drops(5_000, MaxStartups(10, 30, 10_000)).dropped == pytest.approx(0.4, abs=0.1)


def test_a_small_burst_is_dropped_as_counted_by_hand() -> None:
    """Of three connections the first is let in, the second dropped with 30 %, the third with 30 or 65 %."""
    found = burst_drops(3, MaxStartups(1, 30, 3))
    let_in = {1: 0.3 * 0.3, 2: 0.3 * 0.7 + 0.7 * 0.65, 3: 0.7 * 0.35}
    average = sum(count * share for count, share in let_in.items())
    assert found.dropped == pytest.approx(1 - average / 3)
    assert found.variance == pytest.approx(sum(share * (count - average) ** 2 for count, share in let_in.items()) / 9)
