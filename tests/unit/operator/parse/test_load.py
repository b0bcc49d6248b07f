"""parse: the defaults of a hold, and what a search for the capacity asks of its load."""

from specs.search import SEARCH_ARRIVALS, SEARCH_BURST, SEARCH_HOLD, SEARCH_USERS
from specs.small import SMALL
from specs.spec import changed
from sshload_contract.load import (
    ArrivalProcess,
    ArrivalsLoad,
    ArrivalsStage,
    BurstLoad,
    HoldLoad,
    Search,
    ThinkTime,
    UsersLoad,
    UsersStage,
)
from sshload_operator.api.load_test import parse
from sshload_operator.planning.plan import spec_hash


def test_a_hold_asks_for_signs_of_life_and_probes_by_default() -> None:
    spec = parse(changed(SMALL, "load", {"hold": {"sessions": 1, "rampUp": "0s", "duration": "1s"}}))
    assert spec.load == HoldLoad(sessions=1, ramp_up_s=0, duration_s=1, keep_alive_s=30, probe_rate=1)


def test_a_search_begins_with_the_least_load() -> None:
    spec = parse(SEARCH_ARRIVALS)
    least = ArrivalsLoad((ArrivalsStage(10, 30),), ArrivalProcess.POISSON, max_in_flight=900, seed=7)
    assert spec.load == Search(least, most=500.5, precision=0.025, confirm=1, budget_s=1800 - 120 - 90)
    assert spec.warm_up_s == 2


def test_a_search_for_users_sessions_or_a_burst_has_the_rest_of_its_load() -> None:
    assert parse(SEARCH_USERS).load.least == UsersLoad((UsersStage(1, 20),), 50, ThinkTime(1, 2))
    assert parse(SEARCH_BURST).load.least == BurstLoad(connections=50, repeat=3, interval_s=10)
    assert parse(SEARCH_HOLD).load.least == HoldLoad(
        sessions=100, ramp_up_s=5, duration_s=60, keep_alive_s=15, probe_rate=2.5
    )


def test_held_sessions_log_in_at_the_rate_that_is_asked_for_however_many_they_are() -> None:
    most = parse(SEARCH_HOLD).load.trial_at(5000)
    assert isinstance(most, HoldLoad)
    assert most.sessions / most.ramp_up_s == 20


def test_a_search_is_to_five_percent_and_confirmed_twice_by_default() -> None:
    search = parse(SEARCH_USERS).load
    assert search.is_search
    assert (search.precision, search.confirm) == (0.05, 2)


def test_arrivals_at_one_rate_are_a_single_stage_in_short() -> None:
    short, long = ({"rate": 20, "duration": "30s"}, {"stages": [{"rate": 20, "duration": "30s"}]})
    one, other = (parse({**SMALL, "load": {"arrivals": arrivals}}) for arrivals in (short, long))
    assert (one, spec_hash(one)) == (other, spec_hash(other))
