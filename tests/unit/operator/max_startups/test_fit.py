"""The service that explains how long logins took is found again from what it does."""

from dataclasses import replace
from math import inf

import pytest
from sshload_operator.decision.max_startups.arrivals import Even, LoginService, Memoryless, Steady, Users
from sshload_operator.decision.max_startups.fit import fitted, service_of
from sshload_operator.decision.max_startups.measured import Logins
from sshload_operator.decision.max_startups.occupancy import occupancy
from sshload_operator.decision.max_startups.setting import DEFAULT, MaxStartups


@pytest.mark.parametrize("arrivals", [Memoryless(45), Even(45), Memoryless(80), Users(20, 0.2)])
@pytest.mark.parametrize("setting", [DEFAULT, MaxStartups(3000, 30, 3000)], ids=str)
def test_a_shared_server_is_found_from_the_mean_time(arrivals: Steady, setting: MaxStartups) -> None:
    truth = LoginService(0.03, 60.0)
    known = occupancy(arrivals, truth, setting)
    assert known is not None
    assert fitted(arrivals, setting, 0.03, known.time_s).most_per_s == pytest.approx(60.0, rel=0.02)


def test_a_server_whose_logins_take_as_long_alone_is_not_shared() -> None:
    assert fitted(Memoryless(40), DEFAULT, 0.1, 0.1) == LoginService(0.1, inf)


def test_a_login_that_met_no_other_and_took_longer_is_explained_by_a_slower_server() -> None:
    slow = fitted(Memoryless(0.001), MaxStartups(1, 30, 1), 0.01, 1.0)
    found = occupancy(Memoryless(0.001), slow, MaxStartups(1, 30, 1))
    assert found is not None
    assert found.time_s == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize("setting", [None, DEFAULT], ids=str)
def test_the_fitted_service_takes_the_measured_time(setting: MaxStartups | None) -> None:
    for time_s in (0.031, 0.05, 0.4):
        service = fitted(Memoryless(40), setting, 0.03, time_s)
        found = occupancy(Memoryless(40), service, setting)
        assert found is not None
        assert found.time_s == pytest.approx(time_s, rel=0.01)


SLOWED = Logins(Memoryless(40), 1_000, 0, 0, 30.0, alone_s=0.03, time_s=0.05, overflowed=False)


def test_logins_that_the_cpu_did_not_slow_down_waited_for_something_else() -> None:
    shared = fitted(Memoryless(40), DEFAULT, 0.03, 0.05)
    waiting = LoginService(0.05, inf)
    for allowed_per_s, found in (
        (None, shared),
        (shared.most_per_s, shared),
        (shared.most_per_s / 0.8, shared),
        (shared.most_per_s / 0.79, waiting),
        (10 * shared.most_per_s, waiting),
    ):
        assert service_of(replace(SLOWED, cpu_allows_per_s=allowed_per_s), Memoryless(40), DEFAULT) == found


@pytest.mark.parametrize(("alone_s", "is_shared"), [(0.0997, True), (0.0998, False), (0.0999, False), (0.2, False)])
def test_a_login_that_takes_nearly_as_long_alone_is_not_slowed_down(alone_s: float, *, is_shared: bool) -> None:
    service = fitted(Memoryless(40), DEFAULT, alone_s, 0.1)
    assert (service.most_per_s < inf) is is_shared
    assert service.alone_s == (alone_s if is_shared else 0.1)


def test_the_fitted_time_is_within_two_in_a_thousand_of_the_measured_one() -> None:
    for alone_s, time_s in ((0.03, 0.031), (0.03, 0.033), (0.03, 0.04), (0.03, 0.07), (0.03, 0.2), (0.001, 0.00101)):
        service = fitted(Memoryless(40), None, alone_s, time_s)
        found = occupancy(Memoryless(40), service, None)
        assert found is not None
        assert abs(found.time_s - time_s) <= 0.0021 * time_s
        assert service.alone_s == alone_s


@pytest.mark.slow
def test_of_logins_that_take_longer_than_any_steady_state_the_rate_is_that_of_their_arrivals() -> None:
    service = fitted(Memoryless(100), None, 0.03, 100.0)
    assert service.most_per_s == pytest.approx(100, rel=0.001)
    assert occupancy(Memoryless(100), service, None) is not None
