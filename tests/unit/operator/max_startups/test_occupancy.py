"""The formulas of the count of unauthenticated connections, held against sshd's rule played event by event."""

from collections.abc import Iterator
from itertools import pairwise, repeat
from math import exp, factorial, inf, sqrt
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshd_queue import Played, SshdQueue, Works, even_works, exponential_works, play, play_users, seeded, uneven_works
from sshload_operator.decision.max_startups.arrivals import Even, LoginService, Memoryless, Steady, Users
from sshload_operator.decision.max_startups.occupancy import Occupancy, most_found, occupancy
from sshload_operator.decision.max_startups.setting import DEFAULT, MaxStartups

CONNECTIONS = 20_000
DEVIATIONS = 5.0
UNSHARED = LoginService(0.1, inf)
ALIKE = 1e-9

RATES = st.floats(min_value=0.1, max_value=300)
SERVICES = st.builds(LoginService, st.floats(0.01, 0.5), st.one_of(st.just(inf), st.floats(5, 500)))
STEADY: st.SearchStrategy[Steady] = st.one_of(
    st.builds(Memoryless, RATES), st.builds(Users, st.integers(1, 200), st.floats(0.01, 5))
)
ENDS = st.tuples(st.integers(1, 150), st.integers(1, 150))
PERCENTS = st.integers(1, 100)


def found(arrivals: Steady, service: LoginService, setting: MaxStartups | None = DEFAULT) -> Occupancy:
    """Return the occupancy where there is one."""
    result = occupancy(arrivals, service, setting)
    assert result is not None
    return result


def memoryless(per_s: float, random: Random) -> Iterator[float]:
    """Yield the gaps of a Poisson process."""
    return (random.expovariate(per_s) for _ in range(CONNECTIONS))


def agrees(foreseen: Occupancy, played: Played, per_s: float) -> bool:
    """Tell whether the share of drops is the foreseen one, within its noise.

    That is of each decision, and of the count, which stays what it is for about as long as a login takes.
    """
    lasted_s = played.attempted / per_s
    variance = foreseen.dropped * (1 - foreseen.dropped) / played.attempted
    variance += foreseen.dropped_variance * 2 * foreseen.time_s / lasted_s
    return abs(played.drop_share - foreseen.dropped) <= DEVIATIONS * sqrt(variance) + ALIKE


@pytest.mark.parametrize("per_s", [60, 120, 400])
@pytest.mark.parametrize("works", [even_works, exponential_works, uneven_works])
@pytest.mark.parametrize("most_per_s", [inf, 90], ids=["unshared", "shared"])
def test_memoryless_arrivals_are_dropped_as_foreseen_however_long_single_logins_take(
    per_s: float, works: Works, most_per_s: float
) -> None:
    random, service = seeded(f"{per_s}/{works.__name__}"), LoginService(0.1, most_per_s)
    foreseen = found(Memoryless(per_s), service)
    played = play(memoryless(per_s, random), SshdQueue(service, DEFAULT, works, random))
    assert agrees(foreseen, played, per_s), (played.drop_share, foreseen.dropped)
    assert played.took_s / played.logged_in == pytest.approx(foreseen.time_s, rel=0.15)


@pytest.mark.parametrize("per_s", [60, 120, 400])
@pytest.mark.parametrize("most_per_s", [inf, 90], ids=["unshared", "shared"])
def test_even_arrivals_are_dropped_as_foreseen(per_s: float, most_per_s: float) -> None:
    random, service = seeded(f"{per_s}/{most_per_s}"), LoginService(0.1, most_per_s)
    foreseen = found(Even(per_s), service)
    gaps = repeat(1 / per_s, CONNECTIONS)
    played = play(gaps, SshdQueue(service, DEFAULT, exponential_works, random))
    assert agrees(foreseen, played, per_s), (played.drop_share, foreseen.dropped)


@pytest.mark.parametrize("users", [15, 60])
@pytest.mark.parametrize("works", [even_works, exponential_works, uneven_works])
@pytest.mark.parametrize("most_per_s", [inf, 90], ids=["unshared", "shared"])
def test_users_are_dropped_as_foreseen_however_long_they_are_away(users: int, works: Works, most_per_s: float) -> None:
    random, service, away_s = seeded(f"{users}/{works.__name__}"), LoginService(0.1, most_per_s), 0.15
    foreseen = found(Users(users, away_s), service)
    queue = SshdQueue(service, DEFAULT, works, random)
    played = play_users(users, lambda: random.uniform(0, 2 * away_s), CONNECTIONS, queue)
    assert agrees(foreseen, played, CONNECTIONS / queue.now_s), (played.drop_share, foreseen.dropped)


def test_without_drops_an_unshared_server_has_the_poisson_distribution() -> None:
    mean = 4.0
    seen = found(Memoryless(40), UNSHARED, None).seen
    assert seen[:12] == pytest.approx([exp(-mean) * mean**n / factorial(n) for n in range(12)])


def test_a_limit_alone_is_erlangs_loss_formula() -> None:
    limit, mean = 10, 12.0
    terms = [mean**n / factorial(n) for n in range(limit + 1)]
    dropped = found(Memoryless(120), UNSHARED, MaxStartups(limit, 30, limit)).dropped
    assert dropped == pytest.approx(terms[limit] / sum(terms))


def test_even_arrivals_before_a_limit_of_one_are_dropped_as_often_as_a_login_outlasts_a_gap() -> None:
    dropped = found(Even(100), UNSHARED, MaxStartups(1, 30, 1)).dropped
    assert dropped == pytest.approx(exp(-0.01 / 0.1))


def test_where_as_good_as_none_is_let_in_a_login_takes_for_ever() -> None:
    result = found(Memoryless(1e18), LoginService(1.0, inf), MaxStartups(1, 30, 1))
    assert (result.dropped, result.time_s) == (1, inf)


def test_users_before_a_limit_alone_are_engsets_formula() -> None:
    limit, users, offered = 3, 8, 0.1 / 0.4
    terms = [offered**n * factorial(users - 1) / (factorial(n) * factorial(users - 1 - n)) for n in range(limit + 1)]
    dropped = found(Users(users, 0.4), UNSHARED, MaxStartups(limit, 30, limit)).dropped
    assert dropped == pytest.approx(terms[limit] / sum(terms))


def test_a_shared_server_at_its_limit_has_the_geometric_distribution() -> None:
    seen = found(Memoryless(30), LoginService(0.01, 100 / 2), None).seen
    assert [later / earlier for earlier, later in pairwise(seen[2:20])] == pytest.approx([0.6] * 17)


def test_more_than_the_server_can_log_in_has_no_long_run_without_drops() -> None:
    assert occupancy(Memoryless(51), LoginService(0.1, 50), None) is None
    assert occupancy(Even(51), LoginService(0.1, 50), None) is None
    assert occupancy(Memoryless(51), LoginService(0.1, 50), DEFAULT) is not None


def test_users_always_have_a_long_run() -> None:
    assert found(Users(200, 0.01), LoginService(0.1, 50), None).dropped == 0


@given(STEADY, SERVICES, ENDS, PERCENTS)
def test_what_comes_is_dropped_or_logged_in(
    arrivals: Steady, service: LoginService, ends: tuple[int, int], rate: int
) -> None:
    result = found(arrivals, service, MaxStartups(min(ends), rate, max(ends)))
    assert sum(result.seen) == pytest.approx(1)
    assert 0 <= result.dropped <= 1
    logins_per_s = result.mean / result.time_s
    assert logins_per_s <= service.most_per_s * (1 + ALIKE)


@given(STEADY, SERVICES, ENDS, st.tuples(PERCENTS, PERCENTS))
def test_a_higher_rate_drops_no_less(
    arrivals: Steady, service: LoginService, ends: tuple[int, int], rates: tuple[int, int]
) -> None:
    low, high = (found(arrivals, service, MaxStartups(min(ends), rate, max(ends))) for rate in sorted(rates))
    assert low.dropped <= high.dropped + ALIKE


@given(STEADY, SERVICES, ENDS, PERCENTS, st.integers(1, 200))
def test_a_higher_full_drops_no_more(
    arrivals: Steady, service: LoginService, ends: tuple[int, int], rate: int, more: int
) -> None:
    low = found(arrivals, service, MaxStartups(min(ends), rate, max(ends)))
    high = found(arrivals, service, MaxStartups(min(ends), rate, max(ends) + more))
    assert high.dropped <= low.dropped + ALIKE


@given(STEADY, st.floats(0.01, 0.5), ENDS, PERCENTS, st.floats(1, 10))
def test_slower_logins_are_dropped_no_less(
    arrivals: Steady, alone_s: float, ends: tuple[int, int], rate: int, factor: float
) -> None:
    setting = MaxStartups(min(ends), rate, max(ends))
    quick, slow = (found(arrivals, LoginService(time_s, inf), setting) for time_s in (alone_s, alone_s * factor))
    assert quick.dropped <= slow.dropped + ALIKE


@given(st.floats(0.1, 300), st.floats(0.01, 0.2), PERCENTS)
def test_even_arrivals_are_dropped_less_than_memoryless_ones_where_only_full_drops(
    per_s: float, alone_s: float, limit: int
) -> None:
    setting, service = MaxStartups(limit, 30, limit), LoginService(alone_s, inf)
    assert found(Even(per_s), service, setting).dropped <= found(Memoryless(per_s), service, setting).dropped + ALIKE


@given(st.floats(0.1, 200), SERVICES)
def test_even_arrivals_obey_littles_law(per_s: float, service: LoginService) -> None:
    result = found(Even(per_s), service)
    assert result.mean == pytest.approx(per_s * (1 - result.dropped) * result.time_s)
    assert result.time_s >= service.alone_s * 0.5


@given(st.integers(1, 60), st.floats(0.01, 5), st.floats(0.01, 0.5))
def test_no_more_users_than_start_lose_nothing(users: int, away_s: float, alone_s: float) -> None:
    result = found(Users(users, away_s), LoginService(alone_s, inf), MaxStartups(users, 30, 100))
    assert result.dropped == 0


@pytest.mark.parametrize("arrivals", [Memoryless(40), Even(40), Users(30, 0.5)])
def test_one_in_a_million_finds_as_many_as_are_needed(arrivals: Steady) -> None:
    result = found(arrivals, LoginService(0.05, 60), None)
    needed = most_found(result, 1e-6)
    assert sum(result.seen[needed:]) <= 1e-6 < sum(result.seen[needed - 1 :])


@pytest.mark.parametrize("arrivals", [Memoryless(9_000), Memoryless(90_000)])
def test_a_full_of_ten_thousand_and_more_is_no_trouble(arrivals: Memoryless) -> None:
    result = found(arrivals, LoginService(1.0, inf), MaxStartups(10_000, 30, 20_000))
    assert 0 <= result.dropped < 1
    assert result.mean == pytest.approx(arrivals.per_s * (1 - result.dropped))
