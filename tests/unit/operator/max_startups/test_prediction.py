"""The share of drops that sshd's rule foresees, and how far a run may be from it."""

from dataclasses import replace
from math import inf, sqrt

import pytest
from sshload_operator.decision.max_startups.arrivals import Arrivals, Burst, LoginService, Memoryless
from sshload_operator.decision.max_startups.measured import Logins
from sshload_operator.decision.max_startups.occupancy import occupancy
from sshload_operator.decision.max_startups.prediction import Prediction, predicted
from sshload_operator.decision.max_startups.setting import DEFAULT, burst_drops

WIDE = Logins(
    arrivals=Memoryless(100.0),
    attempted=3_000,
    dropped=0,
    unexplained=0,
    lasted_s=30.0,
    alone_s=0.15,
    time_s=0.15,
    overflowed=False,
)


def of(*logins: Logins) -> Prediction:
    found = predicted(logins, DEFAULT)
    assert found is not None
    return found


def coming(arrivals: Arrivals, **changes: float) -> Logins:
    return replace(WIDE, arrivals=arrivals, **changes)  # type: ignore[arg-type]


def test_a_share_at_its_bounds_is_explained() -> None:
    prediction = Prediction(0.2, 0.1, 0.3)
    assert [prediction.explains(share) for share in (0.099, 0.1, 0.2, 0.3, 0.301)] == [False, True, True, True, False]


def test_bursts_differ_by_four_deviations_of_their_mean_and_a_percent() -> None:
    drops = burst_drops(60, DEFAULT)
    reach = 4 * sqrt(drops.variance / 5) + 0.01
    found = of(coming(Burst(60, 5)))
    assert found.dropped == pytest.approx(drops.dropped)
    assert (found.lowest, found.highest) == pytest.approx((drops.dropped - reach, drops.dropped + reach))


def test_logins_of_several_kinds_count_by_their_number() -> None:
    few, many = coming(Burst(60, 5), attempted=300), coming(Burst(20, 5), attempted=900)
    for name in ("dropped", "lowest", "highest"):
        parts = [getattr(of(one), name) for one in (few, many)]
        assert getattr(of(few, many), name) == pytest.approx(parts[0] / 4 + parts[1] * 3 / 4)


def reach(time_s: float) -> tuple[float, float]:
    """Return between which shares a run is whose logins each take sshd so long: four deviations and a percent."""
    found = occupancy(Memoryless(100.0), LoginService(time_s, inf), DEFAULT)
    assert found is not None
    of_drops = found.dropped * (1 - found.dropped) / 3_000
    of_numbers = found.dropped_variance * 2 * time_s / 30.0
    deviations = 4 * sqrt(of_drops + of_numbers) + 0.01
    return found.dropped - deviations, found.dropped + deviations


def test_what_sshd_counts_may_be_two_thirds_to_five_quarters_of_what_clients_measure() -> None:
    found, known = of(WIDE), occupancy(Memoryless(100.0), LoginService(0.15, inf), DEFAULT)
    assert known is not None
    assert found.dropped == pytest.approx(known.dropped)
    assert (found.lowest, found.highest) == pytest.approx((reach(0.15 / 1.5)[0], reach(0.15 * 1.25)[1]))


def test_logins_that_slow_each_other_down_are_foreseen_so() -> None:
    """That makes crowds, in which more are dropped than of logins that always take as long as these on average."""
    truth, arrivals = LoginService(0.03, 60.0), Memoryless(80.0)
    known = occupancy(arrivals, truth, DEFAULT)
    assert known is not None
    unshared = occupancy(arrivals, LoginService(known.time_s, inf), DEFAULT)
    assert unshared is not None
    found = of(coming(arrivals, alone_s=0.03, time_s=known.time_s))
    assert abs(found.dropped - known.dropped) < 0.2 * abs(unshared.dropped - known.dropped)


def test_a_short_run_of_few_connections_may_differ_more() -> None:
    whole, few, brief = of(WIDE), of(replace(WIDE, attempted=300)), of(replace(WIDE, lasted_s=3.0))
    for other in (few, brief):
        assert other.lowest < whole.lowest
        assert other.highest > whole.highest


def test_a_load_without_a_long_run_has_no_prediction_and_neither_have_others_with_it() -> None:
    """At 10,000 in a second, each of ten seconds, far more are let in than are ever counted."""
    boundless = replace(DEFAULT, start=10**6, full=10**6)
    hopeless = coming(Memoryless(10_000.0), time_s=10.0, alone_s=10.0)
    assert predicted((hopeless,), boundless) is None
    assert predicted((WIDE, hopeless), boundless) is None


def test_the_count_of_connections_varies_no_more_in_a_run_that_is_shorter_than_logins_are() -> None:
    assert of(replace(WIDE, lasted_s=0.2)) == of(replace(WIDE, lasted_s=0.1))
