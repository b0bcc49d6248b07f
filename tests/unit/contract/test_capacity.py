"""The amount of load that a search for the capacity changes, and nothing else."""

from dataclasses import replace

import pytest
from sshload_contract.load import (
    ArrivalProcess,
    ArrivalsLoad,
    ArrivalsStage,
    BurstLoad,
    HoldLoad,
    Load,
    ThinkTime,
    UsersLoad,
    UsersStage,
)

ARRIVALS = ArrivalsLoad((ArrivalsStage(rate=10.0, duration_s=30.0),), ArrivalProcess.POISSON, max_in_flight=50, seed=7)
USERS = UsersLoad((UsersStage(users=5, duration_s=30.0),), spawn_rate=2.0, think_time=ThinkTime(0.1, 0.3))
BURST = BurstLoad(connections=20, repeat=3, interval_s=10.0)
HOLD = HoldLoad(sessions=100, ramp_up_s=4.0, duration_s=30.0, keep_alive_s=5.0, probe_rate=1.0)


@pytest.mark.parametrize("load", [ARRIVALS, USERS, BURST, HOLD], ids=lambda load: load.kind)
def test_a_load_of_its_own_amount_is_itself(load: Load) -> None:
    assert load.at(load.amount) == load


@pytest.mark.parametrize("load", [ARRIVALS, USERS, BURST, HOLD], ids=lambda load: load.kind)
def test_another_amount_is_there_when_asked_for(load: Load) -> None:
    assert load.at(40).amount == 40


def test_a_rate_need_not_be_whole() -> None:
    assert ARRIVALS.at(12.5).amount == 12.5


def test_held_sessions_log_in_at_the_same_rate_whatever_their_number() -> None:
    assert HOLD.at(250) == replace(HOLD, sessions=250, ramp_up_s=10.0)
