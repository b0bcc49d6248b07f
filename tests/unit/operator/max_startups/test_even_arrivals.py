"""What evenly spaced connections find, held against the chain from one of them to the next, played out in full."""

from math import comb, exp, inf

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sshload_operator.decision.max_startups.arrivals import Even, LoginService, Memoryless
from sshload_operator.decision.max_startups.even_arrivals import seen_by_even_arrivals, unauthenticated_between
from sshload_operator.decision.max_startups.occupancy import Occupancy, most_found, occupancy
from sshload_operator.decision.max_startups.setting import MaxStartups

SERVICES = st.builds(LoginService, st.floats(0.05, 0.5), st.one_of(st.just(inf), st.floats(5, 100)))
GAPS = st.floats(0.005, 0.2)
DROPS = st.lists(st.sampled_from([0.0, 0.3, 0.65, 1.0]), min_size=1, max_size=7).map(lambda some: [*some, 1.0])


def following(found: int, drops: list[float], gap_s: float, service: LoginService) -> list[float]:
    """Return the chances of what the next connection finds: who is there ends independently, all alike."""
    chances = [0.0] * len(drops)
    for there, share in ((found, drops[found]), (found + 1, 1 - drops[found])):
        if not share:
            continue
        ends = 1 - exp(-gap_s * service.logins_per_s(there) / there) if there else 0.0
        for ended in range(there + 1):
            chances[there - ended] += share * comb(there, ended) * ends**ended * (1 - ends) ** (there - ended)
    return chances


@given(DROPS, GAPS, SERVICES)
@example([0.0] * 10 + [1.0], 10.0, LoginService(0.01, inf))  # each login is over long before the next connection
@example([0.0] * 100 + [1.0], 0.06, LoginService(0.1, inf))  # that none of so many ends is too unlikely for a float
@example([0.0, 1.0, 0.0, 1.0], 0.1, LoginService(0.1, inf))  # nothing comes up from 1, and 2 and 3 are never found
def test_what_connections_find_is_found_again_by_the_next_ones(
    drops: list[float], gap_s: float, service: LoginService
) -> None:
    seen = seen_by_even_arrivals(drops, gap_s, service)
    after = [0.0] * len(drops)
    for found, share in enumerate(seen):
        for there, chance in enumerate(following(found, drops, gap_s, service)):
            after[there] += share * chance
    assert sum(seen) == pytest.approx(1)
    assert seen == pytest.approx(after, abs=1e-9)


@given(st.integers(0, 20), GAPS, SERVICES)
def test_between_two_of_them_fewer_and_fewer_are_left(count: int, gap_s: float, service: LoginService) -> None:
    ends_per_s = service.logins_per_s(count) / count if count else 0.0
    steps = 200
    left = (count * exp(-ends_per_s * gap_s * (step + 0.5) / steps) for step in range(steps))
    assert unauthenticated_between(count, gap_s, service) == pytest.approx(sum(left) / steps, rel=1e-4)


@given(GAPS, SERVICES)
def test_those_who_are_there_on_average_are_those_of_each_gap(gap_s: float, service: LoginService) -> None:
    setting = MaxStartups(2, 30, 6)
    found = occupancy(Even(1 / gap_s), service, setting)
    assert found is not None
    mean = 0.0
    for count, share in enumerate(found.seen):
        drop = setting.drop_share(count)
        let_in, dropped = (unauthenticated_between(there, gap_s, service) for there in (count + 1, count))
        mean += share * ((1 - drop) * let_in + drop * dropped)
    assert found.mean == pytest.approx(mean)


@pytest.mark.slow
def test_near_what_a_server_can_log_in_the_many_fall_off_as_where_one_login_follows_another() -> None:
    """The share of the queue D/M/1 that is left from each number to the next solves x = exp(-(1 - x) / use)."""
    found = occupancy(Even(100), LoginService(0.03, 101), None)
    assert found is not None
    left = 0.5
    for _ in range(10_000):
        left = exp(-(1 - left) * 1.01)
    assert len(found.seen) > 2_000
    assert found.seen[2_000] / found.seen[1_900] == pytest.approx(left**100, rel=0.1)


def test_where_a_connection_is_dropped_or_let_in_for_sure_the_drops_vary_as_one_coin() -> None:
    found = occupancy(Memoryless(120), LoginService(0.1, inf), MaxStartups(10, 30, 10))
    assert found is not None
    assert 0.1 < found.dropped < 0.9
    assert found.dropped_variance == pytest.approx(found.dropped * (1 - found.dropped))


def test_where_each_is_dropped_with_the_same_chance_nothing_varies_but_the_coin() -> None:
    found = occupancy(Memoryless(200), LoginService(1.0, inf), MaxStartups(1, 50, 10**6))
    assert found is not None
    assert found.dropped == pytest.approx(0.5)
    assert found.dropped_variance == pytest.approx(0)


def test_all_but_a_share_find_fewer_than_what_drops_may_start_at() -> None:
    found = Occupancy((0.5, 0.25, 0.1875, 0.0625), 0.0, 0.0, 1.0, 0.1)
    assert [most_found(found, share) for share in (0.0, 0.06, 0.0625, 0.25, 0.3, 0.5)] == [4, 4, 3, 2, 2, 1]
