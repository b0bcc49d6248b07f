"""What each load model says of itself: how long, how many, how fast, how even."""

from dataclasses import replace
from math import inf
from random import Random
from typing import Any, get_args

import pytest
from runs import load as load_stats
from sshload_contract.bounds import ContractError
from sshload_contract.load import (
    ArrivalProcess,
    ArrivalsLoad,
    ArrivalsStage,
    BurstLoad,
    HoldLoad,
    Load,
    ReplayLoad,
    ThinkTime,
    TraceRef,
    UsersLoad,
    UsersStage,
)
from sshload_contract.load.model import LoadModel
from sshload_contract.load.replay import Trace, read_trace, write_trace

CONSTANT, POISSON = ArrivalProcess.CONSTANT, ArrivalProcess.POISSON
FIVE = ArrivalsStage(5.0, 10.0)
RAMP = ArrivalsStage(2.0, 20.0, 8.0)
ARRIVALS = ArrivalsLoad((FIVE,), CONSTANT, max_in_flight=50, seed=7)
RAMPED = ArrivalsLoad((FIVE, RAMP), POISSON, max_in_flight=50, seed=7)
THINKS = ThinkTime(0.5, 1.5)
USERS = UsersLoad((UsersStage(5, 10.0),), spawn_rate=0.0, think_time=THINKS)
MORE_USERS = UsersLoad((UsersStage(5, 10.0), UsersStage(2, 20.0, 8)), spawn_rate=2.0, think_time=THINKS)
BURST = BurstLoad(connections=20, repeat=3, interval_s=10.0)
HOLD = HoldLoad(sessions=100, ramp_up_s=4.0, duration_s=30.0, keep_alive_s=5.0, probe_rate=2.0)
REPLAY = ReplayLoad(TraceRef("monday", "trace.txt"), 10.0, 2.0, 2.5, 300.0, 40, 1, "")

SAYS: dict[str, tuple[Load, dict[str, Any]]] = {
    "arrivals": (
        ARRIVALS,
        {
            "words": "5 arrivals/s, constant",
            "lasts_s": 10,
            "stage_durations_s": (),
            "amount": 5,
            "most_connections": 50,
            "most_at_once": 50,
            "most_users": 0,
            "held_sessions": 0,
            "before_iterations_s": 0,
            "iterations": 50,
            "most_due": 51,
            "offered_rate": 5,
            "most_rate": 5,
            "is_steady": True,
            "is_even": True,
            "is_memoryless": False,
            "begins_together": False,
            "drops_arrivals": True,
            "is_whole": False,
        },
    ),
    "arrivals of two stages": (
        RAMPED,
        {
            "words": "5 arrivals/s for 10 s, 2 to 8 arrivals/s for 20 s, poisson",
            "lasts_s": 30,
            "stage_durations_s": (10, 20),
            "amount": 5,
            "iterations": 150,
            "most_due": pytest.approx(151 + 6 * (151**0.5 + 1)),
            "offered_rate": 5,
            "most_rate": 8,
            "is_steady": False,
            "is_even": False,
            "is_memoryless": True,
        },
    ),
    "a ramp of arrivals": (
        replace(RAMPED, stages=(RAMP,)),
        {"words": "2 to 8 arrivals/s for 20 s, poisson", "is_steady": False, "stage_durations_s": ()},
    ),
    "stages of one rate": (replace(ARRIVALS, stages=(FIVE, FIVE)), {"is_steady": True}),
    "users": (
        USERS,
        {
            "words": "5 users, 0.5 to 1.5 s of thought",
            "lasts_s": 10,
            "stage_durations_s": (),
            "amount": 5,
            "most_connections": 5,
            "most_at_once": 5,
            "most_users": 5,
            "held_sessions": 0,
            "before_iterations_s": 0,
            "iterations": None,
            "most_due": inf,
            "offered_rate": None,
            "most_rate": 0,
            "is_steady": True,
            "is_even": False,
            "is_memoryless": False,
            "begins_together": True,
            "drops_arrivals": False,
            "is_whole": True,
        },
    ),
    "users of two stages": (
        MORE_USERS,
        {
            "words": "5 users for 10 s, 2 to 8 users for 20 s, 2 more per second, 0.5 to 1.5 s of thought",
            "lasts_s": 30,
            "stage_durations_s": (10, 20),
            "amount": 5,
            "most_users": 8,
            "is_steady": False,
        },
    ),
    "a ramp of users": (
        replace(USERS, stages=(UsersStage(2, 20.0, 8),)),
        {"words": "2 to 8 users for 20 s, all at once, 0.5 to 1.5 s of thought", "is_steady": False},
    ),
    "stages of as many users": (replace(USERS, stages=(UsersStage(5, 10.0), UsersStage(5, 1.0))), {"is_steady": True}),
    "a burst": (
        BURST,
        {
            "words": "20 connections each 10 s",
            "lasts_s": 30,
            "stage_durations_s": (),
            "amount": 20,
            "most_connections": 20,
            "most_at_once": 20,
            "most_users": 0,
            "iterations": 60,
            "most_due": 60,
            "offered_rate": 2,
            "most_rate": 0,
            "is_steady": True,
            "is_even": False,
            "begins_together": True,
            "drops_arrivals": False,
            "is_whole": True,
        },
    ),
    "a hold": (
        HOLD,
        {
            "words": "100 sessions within 4 s, kept alive each 5 s, 2 probes/s",
            "lasts_s": 34,
            "amount": 100,
            "most_connections": 100,
            "most_at_once": None,
            "most_users": 0,
            "held_sessions": 100,
            "before_iterations_s": 4,
            "iterations": 60,
            "offered_rate": 2,
            "most_rate": 25,
            "is_steady": True,
            "begins_together": False,
            "is_whole": True,
        },
    ),
    "a hold at once": (replace(HOLD, ramp_up_s=0.0), {"lasts_s": 30, "most_rate": 100, "before_iterations_s": 0}),
    "a hold of many probes": (replace(HOLD, probe_rate=26.0), {"most_rate": 26}),
    "a replay": (
        REPLAY,
        {
            "words": "10 s of trace.txt of the ConfigMap monday at 2 times its speed with 2.5 times its arrivals",
            "lasts_s": 10,
            "amount": 2.5,
            "most_connections": 40,
            "most_at_once": 40,
            "iterations": None,
            "most_due": 300 * 11 * 3 / 2.5,
            "offered_rate": None,
            "most_rate": 300,
            "is_steady": False,
            "drops_arrivals": True,
            "is_whole": False,
        },
    ),
}


@pytest.mark.parametrize(("load", "says"), SAYS.values(), ids=SAYS)
def test_a_load_says_how_long_it_lasts_how_much_it_is_and_of_what_kind(load: Load, says: dict[str, Any]) -> None:
    assert {name: getattr(load, name) for name in says} == says


@pytest.mark.parametrize("model", get_args(Load), ids=lambda model: model.kind)
def test_each_load_answers_what_every_run_asks(model: type[LoadModel]) -> None:
    asked = ("amount", "lasts_s", "most_connections", "words")
    assert [name for name in asked if getattr(model, name) is getattr(LoadModel, name)] == []


@pytest.mark.parametrize(
    ("load", "warm_up_s", "iterations"),
    [(ARRIVALS, 3, 15), (RAMPED, 3, 15), (USERS, 3, 0), (BURST, 3, 20), (BURST, 0.5, 20), (BURST, 0, 0)],
    ids=["arrivals", "a ramp", "users", "a burst", "a short warm-up", "no warm-up"],
)
def test_a_warm_up_adds_iterations(load: Load, warm_up_s: float, iterations: float) -> None:
    assert load.warm_up_iterations(warm_up_s) == iterations


@pytest.mark.parametrize("load", [ARRIVALS, USERS, BURST, HOLD], ids=lambda load: str(load.kind))
def test_a_load_that_is_no_search_and_no_recording_is_all_of_itself(load: Load) -> None:
    assert load.largest is load.least is load.trial_at(7) is load.reading("trace") is load
    assert (load.likely_trials, load.budget_s, load.can_end_early) == (1, 0.0, load is not HOLD)


def test_a_load_answers_for_its_users_its_logins_and_its_time_as_far_as_it_has_any() -> None:
    assert ARRIVALS.users_of(0) == (None, None)
    random = Random(1)  # noqa: S311 - no secret
    assert (ARRIVALS.pause_s(random), list(BURST.logins(5.0))) == (0.0, [])
    assert list(ARRIVALS.replayed(None, 2.0)) == list(ARRIVALS.due(2.0))
    assert (list(USERS.due(2.0)), list(ARRIVALS.changes(2.0)), list(BURST.keep_alives(2.0))) == ([], [], [])
    assert ARRIVALS.running_words(5.0) == "the load runs for 15 s"
    assert ARRIVALS.longest_s(5.0, 600.0) == 15


@pytest.mark.parametrize(
    ("load", "pause_s", "most"),
    [
        (ARRIVALS, 2.0, 50),
        (USERS, 2.0, 5 * 5),
        (USERS, 0.0, 5 * 21),
        (MORE_USERS, 2.0, 5 * 5 + 8 * 9),
        (replace(USERS, think_time=ThinkTime(0.0, 1.0)), 0.0, None),
        (replace(USERS, think_time=ThinkTime(0.0, 1.0)), 4.0, 5 * 3),
    ],
)
def test_users_have_time_for_no_more_iterations_than_their_pauses_leave(
    load: Load, pause_s: float, most: float | None
) -> None:
    assert load.most_iterations(pause_s) == most


@pytest.mark.parametrize(
    ("load", "amount"), [(ARRIVALS, 19.5), (USERS, None), (BURST, 200), (HOLD, 98), (REPLAY, None)]
)
def test_a_trial_tells_what_was_completed_in_the_unit_of_its_load(load: Load, amount: float | None) -> None:
    stats = load_stats(600, completed_rate=19.5, held_most=100, held_least=98)
    assert load.completed_amount(stats) == amount


@pytest.mark.parametrize(
    ("load", "warm_up_s", "stretch_s", "most"),
    [
        (USERS, 0.0, 5.0, 5),
        (HOLD, 0.0, 5.0, 110),
        (HOLD, 0.0, 5.1, 111),
        (REPLAY, 0.0, 5.0, 1),
        (BURST, 0.0, 10.0, 20),
        (BURST, 0.0, 10.1, 40),
        (BURST, 3.0, 13.1, 60),
    ],
)
def test_of_other_loads_it_is_known_how_many_they_begin_together(
    load: Load, warm_up_s: float, stretch_s: float, most: int
) -> None:
    assert load.most_begun_within(warm_up_s, stretch_s) == most


def test_a_short_warm_up_begins_with_a_burst_too() -> None:
    assert list(BURST.due(0.5)) == [0.0] * 20 + [0.5] * 20 + [10.5] * 20 + [20.5] * 20
    assert list(BURST.due(0.0)) == [0.0] * 20 + [10.0] * 20 + [20.0] * 20


def test_a_search_for_users_or_connections_tries_whole_numbers_of_them() -> None:
    assert [load.at(12.6).amount for load in (USERS, BURST, HOLD)] == [13, 13, 13]
    assert REPLAY.at(12.6).amount == 12.6
    assert RAMPED.at(12.6).stages == (replace(FIVE, rate=12.6),)
    assert MORE_USERS.at(12.6).stages == (UsersStage(13, 10.0),)


@pytest.mark.parametrize(
    ("after_s", "begun"), [(-1.0, 0.0), (0.0, 0.0), (1.0, 2.15), (10.0, 35.0), (20.0, 100.0), (21.0, 100.0)]
)
def test_a_ramp_has_begun_what_its_rates_come_to(after_s: float, begun: float) -> None:
    assert RAMP.begun(after_s) == pytest.approx(begun)
    if 0 <= after_s <= 20:
        assert RAMP.due(begun) == pytest.approx(after_s)


def test_a_stage_that_begins_nothing_has_nothing_due() -> None:
    assert ArrivalsStage(0.0, 10.0).due(0.0) == 0
    assert ArrivalsStage(8.0, 20.0, 0.0).due(80.0) == 20
    assert ArrivalsStage(8.0, 0.0, 4.0).slope == 0


@pytest.mark.parametrize(
    ("offsets", "stretch_s", "busiest"),
    [
        ([0.0, 1.0, 2.0, 2.5, 2.9, 9.0], 1.0, (3, 2.0)),
        ([0.0, 1.0, 2.0], 1.0, (1, 0.0)),
        ([0.0, 0.5, 5.0, 5.5], 1.0, (2, 0.0)),
        ([], 1.0, (0, 0.0)),
    ],
)
def test_a_trace_knows_when_most_arrivals_come(
    offsets: list[float], stretch_s: float, busiest: tuple[int, float]
) -> None:
    assert Trace(offsets, 10.0).busiest(stretch_s) == busiest


def test_a_trace_ends_with_its_last_arrival_unless_it_says_otherwise() -> None:
    assert read_trace(["1", "", "  # a comment", "3.5"]).lasts_s == 3.5
    assert read_trace(["# lasts: 9", "1"]).lasts_s == 9
    assert read_trace(["# lasts: 1", "1"]).lasts_s == 1
    assert list(read_trace(["1", "1"]).offsets) == [1, 1]


def test_a_trace_may_last_eight_days_and_its_lines_have_200_characters() -> None:
    assert read_trace(["691200"]).lasts_s == 691_200
    assert read_trace(["0" * 200]).lasts_s == 0
    for line in ("691200.1", "0" * 201):
        with pytest.raises(ContractError):
            read_trace([line])


def test_a_trace_is_written_to_the_microsecond() -> None:
    assert write_trace(Trace([0.0, 1.5, 2.0000004], 10.0), ["of Monday"]) == (
        "# sshload trace\n# of Monday\n# lasts: 10\n0\n1.5\n2\n"
    )


def test_a_trace_as_long_as_warm_up_and_load_is_long_enough() -> None:
    assert REPLAY.problem(Trace([0.0], 30.0), 5.0) == ""
    assert REPLAY.problem(Trace([0.0], 29.9), 5.0)


def test_a_fraction_of_an_arrival_is_kept_at_random_and_its_copies_before_the_next_or_the_end() -> None:
    trace = Trace([0.0, 4.0, 16.0], 100.0)
    half = list(replace(REPLAY, amplification=0.5, seed=3).replayed(trace, 0.0))
    assert set(half) < {0.0, 2.0, 8.0}
    played = list(replace(REPLAY, amplification=3.0).replayed(trace, 0.0))
    assert [sum(first <= at < last for at in played) for first, last in ((0, 2), (2, 8), (8, 10))] == [3, 3, 3]
    assert len(played) == 9
